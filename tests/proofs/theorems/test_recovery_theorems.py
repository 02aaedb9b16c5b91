from proofs.theorems.recovery_theorems import RECOVERY_THEOREMS
from proofs.theorems.theorem import Theorem
from tests.proofs.standing import assert_stands, each


@each(RECOVERY_THEOREMS)
def test_every_theorem_is_proved_witnessed_and_controlled(theorem: Theorem) -> None:
    assert_stands(theorem)
