from functools import partial

import pytest

from replay.observed.known import Known, Premises
from replay.observed.log_view import log_view
from replay.observed.observation import Kind, Observation
from replay.observed.settings import Assumed
from tests.replay.observed.test_record import HELD, LOCK, states


@pytest.mark.parametrize("plain", [True, False])
def test_the_window_may_have_passed_what_transactions_aborted(*, plain: bool) -> None:
    bases = [(0, True), (2, plain), (4, True)]
    log = [
        Observation(Kind.APPENDED, "t", 0, "log", n, 1, 1, offset=base, exact=exact)
        for n, (base, exact) in enumerate(bases)
    ]
    known = Known(Premises(Assumed(), partial(log_view, log)), {}, frozenset())
    known.reached = 1
    assert [known.may_be_in_window(offset, 9) for offset in (1, 3, 4)] == [True, not plain, False]


def test_what_may_have_become_of_a_record_is_looked_at_again_when_its_lock_may_end() -> None:
    known = Known(Premises(Assumed()), {1: LOCK}, frozenset())
    reached = [known.reach((0, 0, HELD, ()), known.rules(now)) for now in (50, 99, 100, 199, 200)]
    assert [len(states(each)) for each in reached] == [1, 1, 2, 2, 1]
    assert reached[0] is reached[1]
