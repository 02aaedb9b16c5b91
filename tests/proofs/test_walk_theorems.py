from proofs.theorem import Theorem
from proofs.walk_theorems import WALK_THEOREMS
from tests.proofs.standing import assert_stands, each


@each(WALK_THEOREMS)
def test_every_theorem_is_proved_witnessed_and_controlled(theorem: Theorem) -> None:
    assert_stands(theorem)
