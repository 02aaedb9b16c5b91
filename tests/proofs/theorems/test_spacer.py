from proofs.theorems.harness import LIMIT_MS, ProofVerdict, changed
from proofs.theorems.spacer import SAFE, infer, inferences
from proofs.theorems.theorem import Control
from spec.invariants import RECORD_INVARIANTS
from spec.record import Record


def test_safety_is_proved_without_given_invariants_and_what_is_inferred_is_shown() -> None:
    found = {each.name: each for each in inferences(LIMIT_MS, SAFE)}
    assert tuple(found) == SAFE
    assert {each.verdict for each in found.values()} == {ProofVerdict.PROVED}
    assert all(each.invariant for each in found.values())
    limited = found["delivery_count_within_limit"].invariant
    assert "delivery_count < limit or state > 0" in limited


def test_spacer_proves_every_property_without_a_clock() -> None:
    every = {known.name for known in RECORD_INVARIANTS} | {"terminal_records_stay_terminal"}
    assert every - set(SAFE) == {"progress_is_in_order"}


def test_wrong_rule_is_found() -> None:
    control = Control(
        "expire makes every record AVAILABLE",
        "spec.record:expire",
        lambda _rule: lambda record, *_rest: Record(0, record.delivery_count),
    )
    with changed(control):
        assert infer("delivery_count_within_limit").verdict is ProofVerdict.REFUTED
