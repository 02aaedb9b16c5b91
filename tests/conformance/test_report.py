"""What is printed: a verdict, and what is new with its shortest sequence."""

import json
from io import StringIO
from typing import Any, cast

import attrs
import pytest
from rich.console import Console

from conformance.campaign import Limits, campaign
from conformance.cores.goals import goals
from conformance.cores.kit import CORES
from conformance.cores.target import Capabilities
from conformance.goals import Coverage
from conformance.junit import as_junit
from conformance.known import Known, Replayed
from conformance.page import as_html
from conformance.report import KitVerdict, Report, as_json, as_markdown, show
from conformance.wire.target import WireHello
from model.errors import ErrorCode
from tests.doubles.miniature import FaultKind, Miniature

NONE = Coverage()


@pytest.fixture(scope="module")
def report() -> Report:
    found = campaign(Miniature(FaultKind.COUNT_STAYS), Limits(sequences=40, examples=1), CORES)
    fault = found.faults[0]
    one = Known("name", "A | title", fault.deviation.signature, "r", fault.sequence)
    known = attrs.evolve(one, consequence="It hurts.", cause="A slip.")
    return Report(found, (Replayed(known, fault),), (fault,))


def text(report: Report) -> str:
    out = StringIO()
    show(report, Console(file=out, width=160))
    return out.getvalue()


def test_the_verdict_follows_from_the_results(report: Report) -> None:
    assert report.verdict is KitVerdict.DEVIATES
    assert attrs.evolve(report, new=()).verdict is KitVerdict.CONFORMS
    gone = attrs.evolve(report.replayed[0], fault=None)
    assert attrs.evolve(report, new=(), replayed=(gone,)).verdict is KitVerdict.DEVIATES
    idle = attrs.evolve(report.campaign, steps=0)
    assert Report(idle, (), ()).verdict is KitVerdict.UNKNOWN


def test_a_person_sees_the_rule_the_steps_and_both_answers(report: Report) -> None:
    said = text(report)
    fault = report.new[0]
    assert f"1. {fault.deviation.name} in {fault.deviation.operation}" in said
    assert "observed" in said
    assert "expected" in said
    assert "known: name: A | title" in said
    assert "deviates: 1 new, 1 known, 0 gone" in said
    assert said.count("acquire by") >= 2


def test_a_gone_deviation_is_reported(report: Report) -> None:
    gone = attrs.evolve(report.replayed[0], fault=None)
    assert "does not show any more" in text(attrs.evolve(report, replayed=(gone,)))


def test_json_has_a_line_for_each_deviation_and_a_summary(report: Report) -> None:
    lines = [json.loads(line) for line in as_json(report)]
    assert [line["kind"] for line in lines] == ["new", "known", "exercised", "summary"]
    assert lines[0]["sequence"][0]["ask"] == "TakeOver"
    assert lines[0]["rests_on"]["source"].startswith("KIP-")
    assert lines[0]["steps"][0].keys() == {"asked", "answered", "after"}
    assert lines[2]["met"]["acquire is answered NONE"] > 0
    assert lines[2]["skipped"]["DEAD_LETTER_IS_ARCHIVING"] == "it cannot: dead_letter_queue"
    assert lines[3]["verdict"] == "deviates"


def test_markdown_is_a_section_for_each_deviation_new_ones_first(report: Report) -> None:
    said = as_markdown(report)
    assert said.startswith("## New: ")
    new, known = said.split("## A | title\n")
    for section in (new, known):
        assert "| 1 | initialize" in section
        assert "- Rests on: KIP-" in section
    assert "It hurts." in known
    assert "Cause: A slip." in known
    assert "### Not covered" in known
    gone = attrs.evolve(report.replayed[0], fault=None)
    assert "## Gone: A | title" in as_markdown(attrs.evolve(report, new=(), replayed=(gone,)))


def test_goals_that_were_not_covered_are_listed(report: Report) -> None:
    said = text(report)
    assert "covered: " in said
    assert "not covered: " in said
    assert "skipped: " in said
    assert ": it cannot: dead_letter_queue" in said
    assert "rests on  KIP-" in said


def test_where_every_goal_was_covered_nothing_is_left(report: Report) -> None:
    can = Capabilities(
        pending_writes=True,
        write_errors=(ErrorCode.COORDINATOR_NOT_AVAILABLE,),
        validates_requests=True,
        alter_config=True,
        dead_letter_queue=True,
        aborted_transactions=True,
    )
    hello = attrs.evolve(cast("Any", report.campaign.hello), capabilities=can)
    counts = {goal.name: 1 for goal in goals(can)}
    whole = attrs.evolve(report.campaign, hello=hello, coverage=CORES.coverage(counts, hello))
    assert "Nothing is left." in as_markdown(Report(whole, (), ()))
    assert "not covered" not in text(Report(whole, (), ()))


def test_missing_capabilities_are_in_every_report(report: Report) -> None:
    broker = WireHello("broker", "1", "kip", skipped=("lag: it tells none",))
    asked = attrs.evolve(report.campaign, hello=broker, coverage=NONE, unjudged=3)
    found = Report(asked, (), ())
    reports = (text(found), "".join(as_json(found)), as_markdown(found))
    for said in (*reports, as_html(found), as_junit(found)):
        assert "lag: it tells none" in said
    assert "40 sequences, 3 not judged to their end" in text(found)
    assert "covered: " not in text(found)
