"""What is printed: a verdict, and what is new with its shortest sequence."""

import json
from io import StringIO

import attrs
import pytest
from rich.console import Console

from conformance.campaign import Limits, campaign
from conformance.known import Known, Replayed
from conformance.miniature import FaultKind, Miniature
from conformance.report import Report, Verdict, as_json, as_markdown, show


@pytest.fixture(scope="module")
def report() -> Report:
    found = campaign(Miniature(FaultKind.COUNT_STAYS), Limits(sequences=40, examples=1))
    fault = found.faults[0]
    one = Known("name", "A | title", fault.deviation.signature, "r", fault.sequence)
    known = attrs.evolve(one, consequence="It hurts.", cause="A slip.")
    return Report(found, (Replayed(known, fault),), (fault,))


def text(report: Report) -> str:
    out = StringIO()
    show(report, Console(file=out, width=160))
    return out.getvalue()


def test_the_verdict_follows_from_what_was_found(report: Report) -> None:
    assert report.verdict is Verdict.DEVIATES
    assert attrs.evolve(report, new=()).verdict is Verdict.CONFORMS
    gone = attrs.evolve(report.replayed[0], fault=None)
    assert attrs.evolve(report, new=(), replayed=(gone,)).verdict is Verdict.DEVIATES
    idle = attrs.evolve(report.campaign, steps=0)
    assert Report(idle, (), ()).verdict is Verdict.UNKNOWN


def test_a_person_sees_the_rule_the_steps_and_both_answers(report: Report) -> None:
    said = text(report)
    fault = report.new[0]
    assert f"1. {fault.deviation.name} in {fault.deviation.operation}" in said
    assert "observed" in said
    assert "expected" in said
    assert "known: name: A | title" in said
    assert "deviates: 1 new, 1 known, 0 gone" in said
    assert said.count("acquire by") >= 2


def test_what_is_gone_is_said(report: Report) -> None:
    gone = attrs.evolve(report.replayed[0], fault=None)
    assert "does not show any more" in text(attrs.evolve(report, replayed=(gone,)))


def test_json_has_a_line_for_each_and_one_for_the_whole(report: Report) -> None:
    lines = [json.loads(line) for line in as_json(report)]
    assert [line["kind"] for line in lines] == ["new", "known", "summary"]
    assert lines[0]["sequence"][0]["ask"] == "TakeOver"
    assert lines[2]["verdict"] == "deviates"


def test_markdown_is_a_section_for_each_known_deviation(report: Report) -> None:
    said = as_markdown(report.replayed, "Thing 1.0")
    assert said.startswith("## A | title\n")
    assert "It hurts." in said
    assert "Cause: A slip." in said
    assert "| 1 | initialize" in said
    assert as_markdown([attrs.evolve(report.replayed[0], fault=None)], "Thing 1.0") == ""
