"""JUnit XML as systems for continuous integration read it."""

from typing import Any
from xml.etree import ElementTree as ET

import attrs
import pytest

from conformance.campaign import Campaign, Fault, Replayed
from conformance.cores.kit import CORES
from conformance.goals import Coverage
from conformance.junit import as_junit
from conformance.known import KnownDeviation
from conformance.report import Report
from conformance.vectors.play import Played
from tests.doubles.small_core import SmallCore
from tests.report.test_junit import suite_of

NONE = Coverage()


@pytest.fixture
def report(uncounted: Campaign[Any], fault: Fault[Any]) -> Report:
    known = KnownDeviation(
        "name", "A <title>", fault.deviation.signature, "It is so.", fault.sequence
    )
    gone = attrs.evolve(known, name="other")
    return Report(CORES, uncounted, (Replayed(known, fault), Replayed(gone, None)), (fault,))


def suite(report: Report) -> ET.Element:
    return suite_of(as_junit(report))


def case(found: ET.Element, kind: str, name: str) -> ET.Element:
    return next(
        one
        for one in found.iter("testcase")
        if (one.attrib["classname"], one.attrib["name"]) == (f"sharespec.{kind}", name)
    )


def test_a_new_fault_fails_the_case_of_its_rule_with_its_steps(report: Report) -> None:
    found = suite(report)
    deviation = report.new[0].deviation
    (failure,) = case(found, "rule", deviation.name)
    assert failure.tag == "failure"
    assert deviation.recorded in failure.attrib["message"]
    said = failure.text or ""
    assert f"observed: {deviation.recorded}" in said
    assert "rests on: KIP-" in said
    assert "profile kip: initialize" in said
    assert len(case(found, "rule", "LOCK_ENDS_ON_TIME")) == 0


def test_a_rule_broken_in_two_ways_has_two_cases(report: Report) -> None:
    found = suite(attrs.evolve(report, new=(*report.new, *report.new)))
    name = report.new[0].deviation.name
    assert case(found, "rule", f"{name} (2)")[0].tag == "failure"


def test_a_known_deviation_is_skipped_and_fails_when_gone(report: Report) -> None:
    found = suite(report)
    (known,) = case(found, "known", "name")
    assert (known.tag, known.attrib["message"]) == ("skipped", "known: A <title>: It is so.")
    (gone,) = case(found, "known", "other")
    assert gone.tag == "failure"
    assert "does not show any more" in gone.attrib["message"]


def test_a_rule_not_at_stake_is_skipped_with_the_reason(report: Report) -> None:
    (lacks,) = case(suite(report), "rule", "DEAD_LETTER_IS_ARCHIVING")
    assert lacks.attrib["message"] == "skipped: it cannot: dead_letter_queue"
    little = attrs.evolve(
        report.campaign,
        coverage=CORES.coverage({"acquire is answered NONE": 1}, SmallCore().hello()),
    )
    (missed,) = case(suite(Report(CORES, little, (), ())), "rule", "CAN_ACQUIRE")
    assert missed.attrib["message"] == "not covered: no sequence put it at stake"


def test_each_vector_has_a_case(report: Report) -> None:
    fault = report.new[0]
    named = attrs.evolve(fault.deviation, vector="broken")
    broken = attrs.evolve(fault, deviation=named)
    listed = attrs.evolve(broken, deviation=attrs.evolve(named, vector="listed"))
    vectors = Played(3, (broken, listed), {}, ("broken", "listed", "right"))
    found = suite(attrs.evolve(report, new=(broken,), vectors=vectors))
    assert "rests on: KIP-" in (case(found, "vector", "broken")[0].text or "")
    assert case(found, "vector", "listed")[0].attrib["message"].startswith("known: ")
    assert len(case(found, "vector", "right")) == 0
    assert len(case(found, "rule", fault.deviation.name)) == 0


def test_the_properties_say_how_to_repeat_the_search(report: Report) -> None:
    found = {p.attrib["name"]: p.attrib["value"] for p in suite(report).iter("property")}
    assert found["target"] == report.campaign.hello.name
    assert (found["version"], found["seed"], found["sequences"]) == ("1", "3", "40")
    assert found["verdict"] == "deviates"


def test_a_search_that_tried_nothing_is_an_error(report: Report) -> None:
    idle = attrs.evolve(report.campaign, steps=0, coverage=NONE)
    found = suite(Report(CORES, idle, (), ()))
    assert [one.attrib["name"] for one in found.iter("testcase")] == ["operations were asked"]
    assert found.attrib["errors"] == "1"
