"""Situations: as terms, as values of a model, and as runs reach them."""

import attrs
import pytest
import z3

from judge.invariants import violated
from model.errors import ErrorCode
from model.operations import MemberLeaves
from model.outcome import Answer
from model.ranges import StateBatch
from model.states import RecordState
from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.count import has
from proofs.theorems.counting_theorems import Range
from proofs.theorems.durable_situation import StateWrites, first_write, second_write
from proofs.theorems.points import Points
from proofs.theorems.progress_theorems import erased
from proofs.theorems.reachable import run_states, states_of, witness
from proofs.theorems.record_operations import TRANSITIONS, OneRecord, is_sound
from proofs.theorems.session_theorems import OURS, OneSession
from proofs.theorems.situation import sizes, symbols, values
from spec.record import UNDELIVERED, Record
from tests.spec.worlds import fetch, run, started


def test_values_are_what_the_model_says() -> None:
    situation, given, offsets = symbols(OneRecord)
    solver = z3.Solver()
    solver.add(given)
    solver.add(situation.record.state == 1, situation.record.owner == -1, situation.limit == 3)
    assert solver.check() == z3.sat
    found = values(situation, solver.model())
    assert offsets == (situation.offset,)
    assert isinstance(found.record, Record)
    assert found.record.state is RecordState.ACQUIRED
    assert found.record.owner is None
    assert found.limit == 3


def test_every_field_is_a_term() -> None:
    situation, _given, _offsets = symbols(OneRecord)
    parts = [getattr(situation, field.name) for field in attrs.fields(OneRecord)]
    assert all(isinstance(part, Record | z3.ExprRef) for part in parts)
    assert len(list(sizes(situation))) == 22


def test_marks_become_the_offsets_that_a_model_marks() -> None:
    situation, given, _offsets = symbols(Range)
    solver = z3.Solver()
    solver.add(given)
    solver.add(has(situation.marks, situation.low), situation.low == 5)
    assert solver.check() == z3.sat
    found = values(situation, solver.model())
    assert found.low == 5
    assert 5 in found.marks


def reached() -> list[StateWrites]:
    partition = run(started(end=2), fetch("a", (0, 1)))
    waiting = run(partition, MemberLeaves("a"), answer=Answer(ErrorCode.PENDING))
    return [s for s in StateWrites.reached(waiting) if s.one.state == s.two.state]


def test_situations_are_those_of_the_writes_that_wait() -> None:
    found = reached()
    assert found
    assert {one.one.state for one in found} == {RecordState.AVAILABLE}
    assert {one.one.delivery_count for one in found} == {1}


def test_a_write_carries_what_the_situation_says() -> None:
    situation = attrs.evolve(
        reached()[0], two=StateBatch(1, 1, RecordState.ARCHIVED, 1), two_start=0, two_complete=3
    )
    one, two = first_write(situation), second_write(situation)
    assert (one.start_offset, one.state_batches[0].first) == (
        situation.one_start,
        situation.one.first,
    )
    assert (two.start_offset, two.delivery_complete_count) == (0, 3)


HELD = Record(RecordState.ACQUIRED, 1, "a", 100)


def test_every_transition_has_a_name_of_its_own() -> None:
    names = [transition.name for transition in TRANSITIONS]
    assert len(names) == len(set(names)) > 10


def test_situations_are_those_of_a_share_partition() -> None:
    found = list(OneRecord.reached(run(started(end=1), fetch("a", (0, 0)))))
    assert HELD in [situation.record for situation in found]
    assert UNDELIVERED in [situation.record for situation in found]


def test_a_record_that_breaks_an_invariant_is_not_sound() -> None:
    (situation, *_) = OneRecord.reached(run(started(end=1), fetch("a", (0, 0))))
    assert is_sound(situation)
    ownerless = attrs.evolve(situation, record=Record(RecordState.ACQUIRED, 1))
    assert not is_sound(ownerless)


def test_runs_reach_many_states_and_keep_the_invariants() -> None:
    states = run_states()
    assert len(states) > 500
    assert not any(violated(state) for _depth, state in states)


def test_hypothesis_that_no_run_satisfies_has_no_witness() -> None:
    theorem = theorem_named("acquire owner_iff_held")
    impossible = attrs.evolve(theorem, hypothesis=lambda s: s.record.delivery_count > s.highest)
    assert witness(theorem) is not None
    assert witness(impossible) is None


def test_a_kind_of_situation_may_have_states_of_its_own() -> None:
    assert states_of(AnyPartition) is run_states()
    epochs = {s[OURS].epoch for _requests, s in states_of(OneSession) if OURS in s}
    assert epochs > {1, 2, 3}


def test_points_are_a_mapping() -> None:
    points = Points(((1, "a"), (2, "b")))
    assert points.get(1) == points[1] == "a"
    assert points.get(3) is None
    assert 2 in points
    assert 3 not in points
    assert list(points) == [1, 2]
    assert len(points) == 2
    with pytest.raises(KeyError):
        points[3]


def test_changes_of_a_copy_do_not_touch_the_original() -> None:
    points = Points(((1, "a"),))
    copy = points.mutate()
    copy[1] = "b"
    copy[2] = "c"
    assert copy.pop(1) == "b"
    copy[3] = "d"
    del copy[3]
    assert list(copy.finish()) == [2]
    assert points[1] == "a"


TAKEN = Record(RecordState.ACQUIRED, 1, "a", 30, acquisition=0)
MARKED = attrs.evolve(TAKEN, state=RecordState.IN_PROGRESS, progress_start=10, last_progress=20)


def test_a_mark_that_is_erased_leaves_the_acquisition() -> None:
    assert erased(MARKED) == erased(TAKEN) == TAKEN
