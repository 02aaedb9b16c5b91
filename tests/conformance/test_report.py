"""What a report says in every form: a verdict, and what is new with its shortest sequence."""

import html
import json
import re
import shlex
from io import StringIO
from typing import Any, cast

import attrs
import pytest
from rich.console import Console

from conformance.campaign import Campaign, Fault, Replayed
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from conformance.deviation import StepText
from conformance.goals import Coverage, goals
from conformance.junit import as_junit
from conformance.known import KnownDeviation, read_sequence
from conformance.plain import as_json
from conformance.report import (
    KitVerdict,
    Report,
    document,
    known_section,
    numbered_steps,
    skipped_text,
    totals_text,
    vectors_text,
)
from conformance.vectors.play import Played
from conformance.wire.target import WireCapabilities, WireHello
from report.html import html_text
from report.markdown import markdown_text
from report.terminal import section_text, show_document

NONE = Coverage()


@pytest.fixture
def report(uncounted: Campaign[Any], fault: Fault[Any]) -> Report:
    one = KnownDeviation("name", "A | title", fault.deviation.signature, "r", fault.sequence)
    known = attrs.evolve(one, consequence="It hurts.", cause="A slip.")
    return Report(CORES, uncounted, (Replayed(known, fault),), (fault,))


def text(report: Report, width: int = 160) -> str:
    out = StringIO()
    show_document(document(report), Console(file=out, width=width, highlight=False))
    return out.getvalue()


def as_markdown(report: Report) -> str:
    return markdown_text(document(report))


def as_html(report: Report) -> str:
    return html_text(document(report))


def test_the_verdict_follows_from_the_results(report: Report) -> None:
    assert report.verdict is KitVerdict.DEVIATES
    known = attrs.evolve(report, new=())
    assert known.verdict is KitVerdict.KNOWN
    assert totals_text(known).startswith("1 known deviation, nothing new; ")
    assert attrs.evolve(known, replayed=()).verdict is KitVerdict.CONFORMS
    gone = attrs.evolve(report.replayed[0], fault=None)
    assert attrs.evolve(report, new=(), replayed=(gone,)).verdict is KitVerdict.DEVIATES
    idle = attrs.evolve(report.campaign, steps=0)
    assert Report(CORES, idle, (), ()).verdict is KitVerdict.UNKNOWN
    ended = attrs.evolve(report.campaign, interrupted=True)
    assert Report(CORES, ended, (), ()).verdict is KitVerdict.UNKNOWN
    assert attrs.evolve(report, campaign=ended).verdict is KitVerdict.DEVIATES


def test_a_person_sees_the_rule_the_steps_and_both_answers(report: Report) -> None:
    said = text(report)
    fault = report.new[0]
    assert "new: 1. a record is acquired: the delivery count is less" in said
    assert f"  rule           {fault.deviation.name}: {fault.deviation.sentence}" in said
    assert "observed" in said
    assert "expected" in said
    assert "known          name: A | title" in said
    assert "deviates: 1 new, 1 known, 0 gone" in said
    assert said.count("acquire by") >= 2


def test_a_gone_deviation_is_reported(report: Report) -> None:
    gone = attrs.evolve(report.replayed[0], fault=None)
    found = attrs.evolve(report, replayed=(gone,))
    for said in (text(found), as_markdown(found), as_html(found)):
        assert "does not show any more" in said
    assert "It does not show any more." in section_text(known_section(gone.known, None)).plain


def test_json_has_a_line_for_each_deviation_and_a_summary(report: Report) -> None:
    lines = [json.loads(line) for line in as_json(report)]
    assert [line["kind"] for line in lines] == ["new", "known", "exercised", "summary"]
    assert lines[0]["sequence"][0]["ask"] == "TakeOver"
    assert lines[0]["rests_on"]["source"].startswith("KIP-")
    assert lines[0]["group"] == lines[-1]["causes"] == 1
    assert lines[0]["cause"] == "a record is acquired: the delivery count is less"
    words = r"profile kip: initialize, delivery limit \d+, window limit \d+, lock 100 ms, "
    assert all(re.search(words, said) for said in ("".join(as_json(report)), as_junit(report)))
    assert lines[0]["steps"][0].keys() == {"asked", "answered", "after", "time_ms"}
    assert lines[2]["met"]["acquire is answered NONE"] > 0
    assert lines[2]["skipped"]["DEAD_LETTER_IS_ARCHIVING"] == "it cannot: dead_letter_queue"
    assert lines[3]["verdict"] == "deviates"


def test_a_file_has_a_section_for_each_deviation_new_ones_first(report: Report) -> None:
    said = as_markdown(report)
    head, said = said.split("## New: 1. a record is acquired: the delivery count is less\n")
    assert "deviates: 1 new, 1 known, 0 gone" in head
    assert "- known: name: A \\| title\n" in head
    new, known = said.split("## Known: name: A \\| title\n")
    for section in (new, known):
        assert "profile kip: initialize, delivery limit " in section
        assert "- Rests on: KIP-" in section
        assert "| observed: start " in section
    assert "- Means: It hurts." in known
    assert "- Cause: A slip." in known
    assert "### Not covered" in known
    page = as_html(report)
    assert page.count('class="picture"') == page.count('class="steps"') == 2
    assert "differs" in page


COMMAND = "sharespec verify --exec 'node driver.js'"


def test_every_report_has_a_command_that_shows_a_deviation_again(report: Report) -> None:
    fault = report.new[0]
    named = attrs.evolve(fault.deviation, vector="a-vector")
    vector = attrs.evolve(fault, deviation=named)
    vectors = Played(1, (vector,), {}, ("a-vector",))
    found = attrs.evolve(
        report,
        new=(fault, vector),
        vectors=vectors,
        command=COMMAND,
        known_option=" --known 'a b.toml'",
    )
    short = CORES.plain(cast("Any", fault.sequence), short=True)
    sequence = shlex.quote(json.dumps(short, separators=(",", ":")))
    lines = [json.loads(line) for line in as_json(found)]
    assert [line["again"] for line in lines[:3]] == [
        f"{COMMAND} --vector a-vector",
        f"{COMMAND} --play {sequence}",
        f"{COMMAND} --known 'a b.toml' --only name",
    ]
    page = html.unescape(as_html(found))
    junit = html.unescape(as_junit(found))
    shown = text(found, width=5000)
    for line in lines[:3]:
        assert all(line["again"] in said for said in (page, junit, as_markdown(found)))
    assert f"  again          {COMMAND} --vector a-vector\n" in shown
    assert f"  again          {COMMAND} --known 'a b.toml' --only name\n" in shown
    assert read_sequence(shlex.split(sequence)[0], CORES.read) == fault.sequence


def test_beyond_the_first_causes_it_says_where_the_steps_are(report: Report) -> None:
    fault = report.new[0]
    many = tuple(
        attrs.evolve(fault, deviation=attrs.evolve(fault.deviation, cause=("a", f"{number:02}")))
        for number in range(23)
    )
    said = text(attrs.evolve(report, new=many))
    assert (said.count("  observed "), said.count("new: ")) == (20, 23)
    assert "--json and every report to a file" in said
    assert "every report" not in text(report)


def test_what_was_skipped_is_one_line_by_capability(report: Report) -> None:
    reasons = {"needs renew": 4, "needs alter_config": 2, "is odd": 1}
    vectors = Played(3, (), reasons)
    found = attrs.evolve(report, vectors=vectors)
    assert "; alter_config 1 goal, 2 vectors; " in skipped_text(found)
    assert skipped_text(found).endswith("; renew 4 vectors; validates_requests 1 goal")
    words = "3 vectors, 0 deviate; 6 need a capability that it lacks; 1 not played: is odd"
    assert vectors_text(vectors) == words
    assert skipped_text(Report(CORES, attrs.evolve(report.campaign, coverage=NONE), (), ())) == ""
    assert skipped_text(found) in as_markdown(found).replace("\\", "")


@pytest.mark.parametrize("passes", [True, False])
def test_the_clock_is_shown_where_time_passes(report: Report, *, passes: bool) -> None:
    fault = report.new[0]
    steps = [attrs.evolve(step, time_ms=0) for step in fault.steps]
    steps[-1] = attrs.evolve(steps[-1], time_ms=70 * passes)
    timed = attrs.evolve(fault, steps=tuple(steps))
    found = Report(CORES, report.campaign, (), (timed,))
    assert ("| Clock (ms) |" in as_markdown(found)) is passes
    assert f"| {len(steps)} | 70 | " in as_markdown(found) or not passes
    assert (f"{len(steps)}. at 70 ms: " in as_junit(found)) is passes


def test_equal_steps_in_a_row_are_one_with_all_their_numbers() -> None:
    first, again = StepText("produce", "NONE", "end 1"), StepText("acquire", "NONE", "end 1")
    rows = [*numbered_steps((first, again, again, again, first))]
    assert rows == [("1", first), ("2–4", again), ("5", first)]


def test_goals_that_were_not_covered_are_listed_with_the_reason(report: Report) -> None:
    said = text(report)
    missed = report.coverage.missed
    assert f"Not covered: {len(missed)}" in said
    assert said.count("skipped for want of: ") == 1
    assert "; dead_letter_queue 41 goals; " in said
    assert "  rests on       KIP-" in said
    page = html.unescape(as_html(report))
    assert "it cannot: dead_letter_queue" in page
    plain = "".join(as_json(report))
    for goal in (*missed, *(goal for goal, _why in report.coverage.skipped)):
        assert goal.name in page
        assert json.dumps(goal.name) in plain


def test_where_every_goal_was_covered_nothing_is_left(report: Report) -> None:
    hello = EngineTarget("spec").hello()
    counts = {goal.name: 1 for goal in goals("core")}
    whole = attrs.evolve(report.campaign, hello=hello, coverage=CORES.coverage(counts, hello))
    assert "Nothing is left." in as_markdown(Report(CORES, whole, (), ()))
    assert "Not covered: 0\n  Nothing is left." in text(Report(CORES, whole, (), ()))


def test_missing_capabilities_are_in_every_report(report: Report) -> None:
    broker = WireHello("broker", "1", "kip", WireCapabilities(), skipped=("lag: it tells none",))
    asked = attrs.evolve(report.campaign, hello=broker, coverage=NONE, unjudged=3)
    found = Report(CORES, asked, (), ())
    for said in ("".join(as_json(found)), as_markdown(found), as_junit(found)):
        assert "lag: it tells none" in said
    assert "40 sequences, 3 not judged to their end" in text(found)
    assert "covered" not in text(found)


def test_too_little_judged_is_unknown_in_every_report(report: Report) -> None:
    """A deviation is one all the same."""
    light = attrs.evolve(report.campaign, unjudged=11)
    found = Report(CORES, light, (), ())
    assert found.verdict is KitVerdict.UNKNOWN
    reason = "29 of 40 sequences were judged, at least 75% must be"
    assert reason in found.unknown
    for said in ("".join(as_json(found)), as_markdown(found), as_junit(found)):
        assert reason in said
    assert "unknown: 0 new" in text(found)
    assert Report(CORES, light, (), report.new).verdict is KitVerdict.DEVIATES
    assert not Report(CORES, attrs.evolve(report.campaign, unjudged=10), (), ()).unknown
