from proofs.theorems.induction import obligations
from proofs.theorems.theorem import Theorem
from proofs.theorems.walk_theorems import WALK, WALK_THEOREMS
from tests.proofs.standing import assert_stands, each


@each((*obligations(WALK), *WALK_THEOREMS))
def test_every_theorem_is_proved_witnessed_and_controlled(theorem: Theorem) -> None:
    assert_stands(theorem)
