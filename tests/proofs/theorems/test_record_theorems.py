import attrs
import pytest

from model.states import RecordState
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from proofs.theorems.record_operations import TRANSITIONS
from proofs.theorems.record_theorems import RECORD_THEOREMS
from spec import record as rules
from spec.invariants import RECORD_INVARIANTS
from spec.logic import Term, either


def test_every_invariant_is_proved_of_every_transition() -> None:
    names = {transition.name for transition in TRANSITIONS} | {"recover"}
    for known in RECORD_INVARIANTS:
        proved = {t.transition for t in RECORD_THEOREMS if t.property.name == known.name}
        assert proved == names


def test_what_is_proved_is_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    theorem = theorem_named("release available_can_be_delivered")
    assert prove(theorem).verdict is ProofVerdict.PROVED

    def off_by_one(record: rules.Record, limit: Term, failed: Term) -> Term:
        return either(record.delivery_count > limit, failed, RecordState.AVAILABLE)

    monkeypatch.setattr(rules, "_after_attempt", off_by_one)
    assert prove(theorem).verdict is ProofVerdict.REFUTED


def test_delivery_count_within_limit_is_not_inductive_alone() -> None:
    theorem = theorem_named("acquire delivery_count_within_limit")
    known = next(i for i in RECORD_INVARIANTS if i.name == "delivery_count_within_limit")
    alone = attrs.evolve(
        theorem,
        hypothesis=lambda s: (
            known.holds(s.record, s.highest, s.now) & rules.is_acquirable(s.record)
        ),
    )
    assert prove(alone).verdict is ProofVerdict.REFUTED
