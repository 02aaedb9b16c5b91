import attrs

from proofs.theorems.catalogue import THEOREMS, theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from proofs.theorems.record_operations import TRANSITIONS
from spec import record as rules
from spec.invariants import RECORD_INVARIANTS


def test_every_invariant_is_proved_of_every_transition() -> None:
    names = {transition.name for transition in TRANSITIONS} | {"recover"}
    for known in RECORD_INVARIANTS:
        proved = {t.transition for t in THEOREMS if t.property.name == known.name}
        assert proved == names


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
