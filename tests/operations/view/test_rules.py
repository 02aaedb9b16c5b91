from pathlib import Path

import pytest

import spec
from model.guards import Guard
from model.operation_table import OPERATION_TABLE
from model.operations import MemberLeaves
from operations.view.rules import TRANSITIONS, broken_rule, place_of, transition_texts

LEAVES = MemberLeaves("m")


def line(place: str) -> str:
    path, _, number = place.partition(":")
    return Path(spec.__path__[0]).parent.joinpath(path).read_text().splitlines()[int(number) - 1]


# What never comes breaks no transition: ``judge.follower`` notes it in a trace.
@pytest.mark.parametrize("guard", [g for g in Guard if g is not Guard.ANSWER_COMES], ids=str)
def test_each_guard_has_the_lines_of_spec_that_name_it(guard: Guard) -> None:
    rule = broken_rule(guard.name, guard.value, LEAVES)
    assert rule.places
    assert all(f"Guard.{guard.name}" in line(place) for place in rule.places)


def test_a_difference_has_the_transition_that_expects_something_else() -> None:
    rule = broken_rule("WRITTEN_STATE", "sentence", LEAVES)
    assert rule.source == "KIP-932, WriteShareGroupState"
    assert rule.says.startswith("A change of state is written")
    [place] = rule.places
    assert "def release_member" in line(place)


def test_an_invariant_has_its_line() -> None:
    rule = broken_rule("owner_iff_held", "sentence", LEAVES)
    assert [place.partition(":")[0] for place in rule.places] == ["judge/invariants.py"]


def test_each_operation_has_its_transition() -> None:
    assert TRANSITIONS.keys() == {row.operation for row in OPERATION_TABLE}
    assert transition_texts()["release"].startswith("spec.release.release_member: ")
    assert place_of(LEAVES).startswith("spec/release.py:")
