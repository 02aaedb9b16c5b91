"""Tests of what a poll owes that brings nothing."""

import attrs
import pytest

from clients.duties import Duty
from clients.events import ACCEPT, RELEASE, Acknowledgement, Compacted, Drained
from clients.liveness import LATE_MS
from tests.clients.test_judge import (
    JOINS,
    PLACE,
    POLL,
    SAID,
    fetch,
    found,
    gives,
    returns,
    says,
    sends,
)


@pytest.mark.parametrize(("waited_ms", "drops"), [(LATE_MS, True), (LATE_MS - 1, False)])
def test_a_poll_does_not_wait_on_for_long_once_a_record_has_arrived(
    waited_ms: int, *, drops: bool
) -> None:
    ends = attrs.evolve(returns(), at_ms=waited_ms)
    expected = [Duty.NONE_DROPPED] * drops
    assert found(JOINS, POLL, fetch(), gives(), ends, explicit=False) == expected
    assert found(JOINS, POLL, fetch(), gives(), sends(2, RELEASE), ends) == []
    late = attrs.evolve(gives(), at_ms=1)
    assert found(JOINS, POLL, fetch(), late, ends, explicit=False) == []


@pytest.mark.parametrize("under_way", [False, True])
@pytest.mark.parametrize("says_so", [False, True])
def test_a_gap_may_wait_with_what_is_sent_beside_it_while_others_are_not_answered(
    *, says_so: bool, under_way: bool
) -> None:
    elsewhere = (Acknowledgement(("t", 1), 5, 5, (ACCEPT,)),)
    others = (attrs.evolve(sends(3, ACCEPT, broker=2), acknowledgements=elsewhere),) * under_way
    said = (says(ACCEPT), SAID) if says_so else ()
    gap = (JOINS, Compacted(0, PLACE, frozenset({1})), fetch(), gives(1, 0, 1), POLL, returns(0))
    waits = (*others, POLL, fetch(2, 1), returns(), POLL, returns(), Drained(0))
    expected = [] if says_so and under_way else [Duty.GAPS]
    assert found(*gap, *said, *waits, of=(Duty.GAPS,)) == expected
