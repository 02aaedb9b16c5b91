from itertools import chain

from proofs.count_lemmas import COUNT_LEMMAS
from proofs.induction import obligations
from proofs.theorem import Theorem
from tests.proofs.standing import assert_stands, each


@each(tuple(chain.from_iterable(map(obligations, COUNT_LEMMAS))))
def test_every_base_and_step_is_proved_witnessed_and_controlled(theorem: Theorem) -> None:
    assert_stands(theorem)
