"""What happened is counted, and what could not be violated is not at stake."""

import pytest

from clients.duties import Duty
from clients.events import (
    Acknowledgement,
    Answered,
    Asked,
    Called,
    ClientRecord,
    Cut,
    Delivered,
    Event,
    Heartbeat,
    Returned,
    Settings,
)
from clients.play import Pace, play
from clients.stakes import ACKNOWLEDGED, CUT, DELIVERED, REFUSED, stakes
from tests.clients.controls import AT_ONCE
from tests.doubles.share_client import ShareClient


def test_what_cannot_be_violated_is_not_at_stake() -> None:
    counts = stakes(play(AT_ONCE, ShareClient, Pace(poll_ms=20)))
    rare = (Duty.FOLLOWS, Duty.OWN_LEADER, Duty.RENEWED, Duty.THROTTLED, Duty.GAPS, Duty.REJOINS)
    assert not {duty.value for duty in rare} & counts.keys()
    some = (Duty.ONCE, Duty.CLOSES, Duty.NOTHING_UNSAID)
    assert [counts[duty.value] for duty in some] == [5, 1, 0]


def test_a_client_that_did_nothing_has_nothing_at_stake() -> None:
    failed = Called(0, "close"), Returned(0, "close", error="no")
    assert stakes(ClientRecord(Settings(), failed)) == {}


PLACE = ("t", 0)
POLLED = Returned(1, "poll", records=(Delivered(PLACE, 0, 1, "0"), Delivered(PLACE, 1, 1, "1")))


def asked(first: int, last: int) -> Asked:
    batch = Acknowledgement(PLACE, first, last, (1,))
    return Asked(2, 1, "m", 1, fetches=True, acknowledgements=(batch,))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((POLLED, POLLED), {DELIVERED: 4}),
        ((asked(0, 2), asked(7, 7)), {ACKNOWLEDGED: 4}),
        ((asked(5, 1), asked(0, (1 << 63) - 1)), {ACKNOWLEDGED: 100_000}),
        ((Answered(3, 1, error=123), Answered(3, 2, refused=((PLACE, 121),))), {REFUSED: 2}),
        ((Heartbeat(3, "m", 0, given=1), Heartbeat(3, "m", 1, error=25)), {REFUSED: 1}),
        ((Cut(3, 1, took_effect=False),), {CUT: 1}),
    ],
)
def test_what_happened_is_counted(events: tuple[Event, ...], expected: dict[str, int]) -> None:
    counts = stakes(ClientRecord(Settings(), events))
    happened = (DELIVERED, ACKNOWLEDGED, REFUSED, CUT)
    assert {name: counts[name] for name in happened if name in counts} == expected
