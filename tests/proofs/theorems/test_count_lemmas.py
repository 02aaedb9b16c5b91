from itertools import chain

from proofs.theorems.count_lemmas import COUNT_LEMMAS
from proofs.theorems.induction import obligations
from proofs.theorems.theorem import Theorem
from tests.proofs.standing import assert_stands, each


@each(tuple(chain.from_iterable(map(obligations, COUNT_LEMMAS))))
def test_every_base_and_step_is_proved_witnessed_and_controlled(theorem: Theorem) -> None:
    assert_stands(theorem)
