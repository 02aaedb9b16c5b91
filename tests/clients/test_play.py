"""The harness goes on with polls as long as a client gets on."""

import time

import pytest

from clients.drivers import Values
from clients.duties import Duty
from clients.judge import judge
from clients.play import Pace, play
from tests.clients.controls import script
from tests.doubles.share_client import ShareClient
from tests.doubles.share_faults import Fault

ONE_BY_ONE = script("limited, 1 records: poll-once, produce-empty 6, drain")


class Slow(ShareClient):
    """A client each of whose polls takes nearly half of the patience that polls are given."""

    def poll(self, command: Values) -> Values:
        """Poll, late."""
        time.sleep(0.4)
        return super().poll(command)


@pytest.mark.parametrize(
    ("fault", "expected"), [(None, []), (Fault.STOPS_AT_EMPTY, [Duty.RECEIVES])]
)
def test_a_client_that_reports_gaps_one_by_one_gets_on(
    fault: Fault | None, expected: list[Duty]
) -> None:
    found = judge(play(ONE_BY_ONE, lambda: Slow(fault), Pace(poll_ms=20, patience_seconds=1)))
    assert [Duty(finding.name) for finding in found] == expected
