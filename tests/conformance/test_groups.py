"""Deviations of one cause are one group, of different rules never, the gravest first."""

from typing import Any

import attrs

from conformance.campaign import Fault, Limits, campaign
from conformance.cores.kit import CORES
from conformance.deviation import StepText, target_finding
from conformance.groups import FaultGroup, grouped
from conformance.vectors.play import play_vectors
from conformance.vectors.source import cases
from tests.doubles.small_core import SmallCore

SIX = (
    "ignores the delivery limit of what is released",
    "delivers gaps again",
    "lets anybody acknowledge what is held",
    "lets a lock expire after half its duration",
    "keeps the records of a member that leaves",
    "keeps a change whose write failed",
)
FEW = (
    *(cases()["limits"] + cases()["lag"]),
    *(cases()["acknowledging"] + cases()["locks"] + cases()["writes"]),
)


def groups_of(*faults: str, sequences: int = 0) -> tuple[FaultGroup[Any], ...]:
    target = SmallCore(*faults)
    played = play_vectors(target, target.hello(), FEW)
    searched = campaign(target, Limits(sequences=sequences, examples=1), CORES).faults
    return grouped((*played.faults, *searched))


def fault(rule: str, operation: str, steps: int = 1, **changes: Any) -> Fault[Any]:  # noqa: ANN401 - any field
    deviation = target_finding(rule, operation, "It is so.", "r", "e", before="b", **changes)
    return Fault(deviation, (), (StepText("", "", ""),) * steps, ("Fetch",), 2)


def test_vectors_and_sequences_of_one_mistake_are_one_group() -> None:
    (group,) = groups_of("ignores the delivery limit of what is released", sequences=30)
    assert group.title == "a delivery fails at the delivery limit: AVAILABLE instead of ARCHIVED"
    assert group.vectors > 3
    assert group.sequences > 0
    assert f"{group.vectors} vectors and {group.sequences} random sequence" in group.often
    assert {form.deviation.operation for form in group.forms} >= {"acknowledge", "release"}
    assert group.first.deviation.vector
    assert len(group.first.steps) == min(len(form.steps) for form in group.forms)


def test_six_mistakes_are_hardly_more_groups() -> None:
    groups = groups_of(*SIX)
    assert sum(len(group.forms) for group in groups) >= 40
    assert len(groups) <= 8
    assert {group.first.deviation.probable_cause[0] for group in groups} >= {
        "a delivery fails at the delivery limit",
        "a gap is acknowledged",
        "ACKNOWLEDGEMENT_JUDGED",
        "LOCK_LASTS_ITS_DURATION",
        "a delivery fails",
        "a write fails",
    }


def test_two_mistakes_of_different_rules_are_two_groups() -> None:
    first, other = groups_of(
        "ignores the delivery limit of what is released", "acknowledges what is rejected"
    )
    assert {first.title, other.title} == {
        "a delivery fails at the delivery limit: AVAILABLE instead of ARCHIVED",
        "a record is rejected: ACKNOWLEDGED instead of ARCHIVED",
    }
    assert not {f.deviation.label for f in first.forms} & {f.deviation.label for f in other.forms}


def test_without_a_cause_rule_and_operation_are_the_group() -> None:
    forms = fault("LAG", "describe", 3), fault("LAG", "describe"), fault("LAG", "fetch")
    first, other = grouped(forms)
    assert [len(form.steps) for form in (*first.forms, *other.forms)] == [1, 3, 1]
    assert first.title == "LAG in describe: It is so."
    assert first.often == "2 random sequences, in 2 forms"
    vector = attrs.evolve(forms[0].deviation, vector="v")
    (joined, _fetch) = grouped((*forms, attrs.evolve(forms[0], deviation=vector)))
    assert joined.often == "1 vector and 2 random sequences, in 3 forms"


def test_the_gravest_group_is_first_and_then_the_simplest() -> None:
    listed = [
        fault("LAG", "describe", 1),
        fault("WRITTEN_STATE", "release", 9),
        fault("NO_RECORD_LOST", "acquire", 4),
        fault("CRASHED", "acquire", 20),
    ]
    names = [group.first.deviation.name for group in grouped(listed)]
    assert names == ["CRASHED", "NO_RECORD_LOST", "WRITTEN_STATE", "LAG"]
    assert grouped(listed[::-1]) == grouped(listed)
