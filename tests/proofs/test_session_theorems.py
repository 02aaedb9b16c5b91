from proofs.session_theorems import SESSION_THEOREMS
from proofs.theorem import Theorem
from tests.proofs.standing import assert_stands, each


@each(SESSION_THEOREMS)
def test_every_theorem_is_proved_witnessed_and_controlled(theorem: Theorem) -> None:
    assert_stands(theorem)
