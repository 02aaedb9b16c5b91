import attrs

from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.reachable import run_states, states_of, witness
from proofs.theorems.session_theorems import OURS, OneSession
from spec.invariants import violated


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
