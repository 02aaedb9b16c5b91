import pytest

from clients.events import (
    Acknowledgement,
    Answered,
    Asked,
    Cut,
    Delivered,
    Event,
    Heartbeat,
    Record,
    Returned,
    Settings,
)
from clients.exercise import Exercise, exercised

PLACE = ("t", 0)
POLLED = Returned(1, "poll", records=(Delivered(PLACE, 0, 1, "0"), Delivered(PLACE, 1, 1, "1")))


def asked(first: int, last: int) -> Asked:
    return Asked(
        2, 1, "m", 1, fetches=True, acknowledgements=(Acknowledgement(PLACE, first, last, (1,)),)
    )


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((), Exercise()),
        ((POLLED, POLLED), Exercise(delivered=4)),
        ((asked(0, 2), asked(7, 7)), Exercise(acknowledged=4)),
        ((asked(5, 1), asked(0, (1 << 63) - 1)), Exercise(acknowledged=100_000)),
        ((Answered(3, 1, error=123), Answered(3, 2, refused=((PLACE, 121),))), Exercise(refused=2)),
        ((Heartbeat(3, "m", 0, given=1), Heartbeat(3, "m", 1, error=25)), Exercise(refused=1)),
        ((Cut(3, 1, took_effect=False),), Exercise(cut=1)),
    ],
)
def test_what_happened_is_counted(events: tuple[Event, ...], expected: Exercise) -> None:
    assert exercised(Record(Settings(), events, full=False)) == expected


def test_nothing_is_shown_before_records_are_delivered_and_acknowledged() -> None:
    assert Exercise(acknowledged=1, refused=1).lack == "no record was delivered to the application"
    assert Exercise(delivered=1, cut=2).lack == "no record was acknowledged"
    assert (Exercise(delivered=1) + Exercise(acknowledged=1)).lack is None
