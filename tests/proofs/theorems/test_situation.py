"""Situations: as terms, as values of a model, and as runs reach them."""

import attrs
import z3

from judge.invariants import violated
from model.states import RecordState
from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.reachable import run_states, states_of, witness
from proofs.theorems.record_operations import is_sound
from proofs.theorems.session_theorems import OURS, OneSession
from proofs.theorems.situation import sizes, symbols, values
from spec.record import Record
from tests.spec.worlds import fetch, run, started


def test_values_are_what_the_model_says() -> None:
    situation, given, offsets = symbols(AnyPartition)
    solver = z3.Solver()
    solver.add(given)
    solver.add(situation.record.state == 1, situation.record.owner == -1, situation.limit == 3)
    assert solver.check() == z3.sat
    found = values(situation, solver.model())
    assert [*map(str, offsets)] == ["offset", "other"]
    assert isinstance(found.record, Record)
    assert found.record.state is RecordState.ACQUIRED
    assert found.record.owner is None
    assert found.limit == 3


def test_every_field_is_a_term() -> None:
    situation, _given, _offsets = symbols(AnyPartition)
    parts = [getattr(situation, field.name) for field in attrs.fields(AnyPartition)]
    assert all(isinstance(part, Record | z3.ExprRef) for part in parts)
    assert len(list(sizes(situation))) == 72


def test_a_record_that_breaks_an_invariant_is_not_sound() -> None:
    (situation, *_) = AnyPartition.reached(run(started(end=1), fetch("a", (0, 0))))
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
