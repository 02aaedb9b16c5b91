"""Tests of what a poll owes that brings nothing."""

import attrs
import pytest

from clients.duties import Duty
from clients.events import RELEASE
from clients.liveness import LATE_MS
from tests.clients.test_judge import JOINS, POLL, fetch, found, gives, returns, sends


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
