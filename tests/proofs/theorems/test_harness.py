"""Proofs, their controls, and counterexamples as tests."""

import attrs
import pytest

from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.catalogue import THEOREMS, theorem_named
from proofs.theorems.harness import (
    Meanings,
    ProofVerdict,
    as_test,
    changed,
    check_control,
    fails,
    holds_of,
    prove,
)
from proofs.theorems.reachable import states_of
from proofs.theorems.theorem import Control
from spec import acquire
from spec import record as rules
from tests.proofs.standing import HARD, SAME


def test_unknown_is_not_accepted() -> None:
    proof = prove(HARD, limit_ms=1)
    assert proof.verdict is not ProofVerdict.PROVED
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.reason


def test_false_theorem_is_refuted_with_a_small_situation() -> None:
    theorem = attrs.evolve(HARD, claim=lambda s: s.now < 2)
    proof = prove(theorem)
    assert proof.verdict is ProofVerdict.REFUTED
    assert isinstance(proof.counterexample, AnyPartition)
    assert proof.counterexample.now == 2
    assert not holds_of(theorem, proof.counterexample)


def test_what_a_hypothesis_means_is_kept_for_who_has_the_same() -> None:
    least, known = [2], Meanings()
    theorem = attrs.evolve(HARD, hypothesis=lambda s: s.now > least[0], claim=lambda s: s.now > 1)
    assert prove(theorem, known=known).verdict is ProofVerdict.PROVED
    least[0] = 0  # Now it allows a situation of which the claim does not hold.
    assert prove(theorem, known=known).verdict is ProofVerdict.PROVED
    assert prove(theorem).verdict is ProofVerdict.REFUTED


def test_control_that_changes_nothing_does_not_pass() -> None:
    theorem = attrs.evolve(theorem_named("acquire owner_iff_held"), control=SAME)
    assert not check_control(theorem).fails


def test_rule_is_changed_wherever_it_is_used_and_put_back() -> None:
    right = rules.acquire
    control = Control("no rule at all", "spec.record:acquire", lambda _rule: None)
    with changed(control):
        assert rules.acquire is None
        assert acquire.acquire is None  # type: ignore[unreachable]
    assert rules.acquire is right
    assert acquire.acquire is right


def test_rule_is_put_back_after_an_error() -> None:
    right = rules.acquire
    control = Control("no rule at all", "spec.record:acquire", lambda _rule: None)
    with pytest.raises(RuntimeError), changed(control):
        raise RuntimeError
    assert rules.acquire is right


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({t.situation for t in THEOREMS}, key=str))
@pytest.mark.parametrize("every", [180, pytest.param(15, marks=pytest.mark.long)])
def test_what_is_proved_holds_in_states_that_runs_reach(every: int, kind: type) -> None:
    theorems = [theorem for theorem in THEOREMS if theorem.situation is kind]
    for _depth, state in states_of(kind)[::every]:
        for situation in kind.reached(state):  # type: ignore[attr-defined]
            for theorem in theorems:
                # Of others than are runnable, values may show less than the terms do.
                shown = holds_of(theorem, situation) or not theorem.runnable(situation)
                assert shown, theorem.name()


def test_counterexample_is_a_test_of_the_theorem_in_its_situation() -> None:
    theorem = theorem_named("accept owner_iff_held")
    assert check_control(theorem).test == (
        "from model.states import RecordState\n"
        "from proofs.theorems.any_partition import AnyPartition\n"
        "from spec.record import Record\n"
        "from proofs.theorems.catalogue import theorem_named\n"
        "from proofs.theorems.harness import holds_of\n"
        "\n\n"
        "def test_accept_owner_iff_held() -> None:\n"
        '    """A record has an owner exactly when it is ACQUIRED or IN_PROGRESS."""\n'
        "    situation = AnyPartition(\n"
        "        record=Record(state=RecordState.ACQUIRED, delivery_count=1, "
        'owner="member-0", deadline=0),\n'
        "        other=1,\n"
        '        member="member-0",\n'
        "        marks=True,\n"
        "    )\n"
        '    assert holds_of(theorem_named("accept owner_iff_held"), situation)\n'
    )


def test_counterexample_of_the_window_names_the_theorem() -> None:
    theorem = theorem_named("move start start_offset_moves_on_past_what_it_drops")
    with changed(theorem.control):
        test = as_test(theorem, prove(theorem).counterexample)
        assert fails(test)
    assert not fails(test)
    assert "situation = AnyPartition(" in test
