from proofs.theorems.coordinator_theorems import COORDINATOR_THEOREMS
from proofs.theorems.theorem import Theorem
from tests.proofs.standing import assert_stands, each


@each(COORDINATOR_THEOREMS)
def test_every_theorem_is_proved_witnessed_and_controlled(theorem: Theorem) -> None:
    assert_stands(theorem)
