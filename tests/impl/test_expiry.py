import pytest

from model.checks import MAX_INT64
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import AdvanceTime, CompleteWrite
from model.outcome import Answer, Choice, Expiry
from tests.impl.scenario import ACCEPT, ack, fetch, partition, ranges, shown, wait, written


def test_a_lock_expires_when_its_duration_has_elapsed() -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    assert wait(made, 9).writes == ()
    assert written(wait(made, 1)) == [(0, 0, [(0, 4, 0, 1)])]
    assert shown(made) == "0-4:A1"


def test_at_the_limit_it_is_archived() -> None:
    made = partition((0, 4), record_lock_duration_ms=10, delivery_count_limit=1)
    fetch(made, "a", (0, 4))
    assert written(wait(made, 10)) == [(0, 5, [(0, 4, 4, 1)])]
    assert made.snapshot().start_offset == 5


def test_one_write_may_report_each_part() -> None:
    made = partition((0, 4), record_lock_duration_ms=10, delivery_count_limit=1)
    fetch(made, "a", (0, 4))
    groups = (Expiry(ranges((3, 4), (0, 0))), Expiry(ranges((1, 2)), 1))
    outcome = wait(made, 10, Choice(expired=groups))
    assert written(outcome) == [
        (0, 3, [(0, 0, 4, 1), (3, 4, 4, 1)]),
        (1, 4, [(1, 2, 4, 1)]),
    ]


@pytest.mark.parametrize(
    ("ms", "locks", "guard", "at"),
    [
        (9, [(0, 4)], Guard.LOCK_LASTS_ITS_DURATION, 0),
        (10, [(0, 5)], Guard.LOCK_LASTS_ITS_DURATION, 5),
        (10, [(0, 3)], Guard.LOCK_ENDS_ON_TIME, 4),
    ],
)
def test_neither_early_nor_late(
    ms: int, locks: list[tuple[int, int]], guard: Guard, at: int
) -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    with pytest.raises(IllegalChoiceError) as raised:
        wait(made, ms, Choice(expired=(Expiry(ranges(*locks)),)))
    assert (raised.value.guard, raised.value.detail) == (guard, f"at {at}")
    assert shown(made) == "0-4:Q1a"


def test_a_lock_is_not_expired_twice() -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    wait(made, 10, Choice(expired=(Expiry(ranges((0, 4), (2, 4))),)))
    fetch(made, "a", (0, 4))
    twice = Choice(expired=(Expiry(ranges((0, 4))), Expiry(ranges((4, 4)))))
    with pytest.raises(IllegalChoiceError):
        wait(made, 10, twice)


def test_a_group_is_a_set_whatever_its_ranges_cover_twice() -> None:
    made = partition((0, 6), record_lock_duration_ms=10)
    fetch(made, "a", (0, 6))
    outcome = wait(made, 10, Choice(expired=(Expiry(ranges((0, 4), (1, 2), (3, 3), (5, 6))),)))
    assert written(outcome) == [(0, 0, [(0, 6, 0, 1)])]


def test_what_is_below_the_start_is_ignored() -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, ACCEPT))
    groups = (Expiry(ranges((0, 1))), Expiry(()), Expiry(ranges((1, 4))))
    answers = (Answer(ErrorCode.PENDING, 90), Answer(ErrorCode.PENDING), Answer(id=91))
    outcome = made.apply(AdvanceTime(10), Choice(expired=groups), answers)
    assert [w.id for w in outcome.writes] == [90, 91]
    assert written(outcome) == [(2, 0, []), (2, 0, [(2, 4, 0, 1)])]
    assert made.apply(CompleteWrite(90, ErrorCode.NONE)).completed == ()


@pytest.mark.parametrize(
    ("status", "durable"), [(ErrorCode.NONE, 2), (ErrorCode.NOT_COORDINATOR, 0)]
)
def test_the_answer_decides_only_what_is_durable(status: ErrorCode, durable: int) -> None:
    made = partition((0, 1), record_lock_duration_ms=10, delivery_count_limit=1)
    fetch(made, "a", (0, 1))
    outcome = made.apply(AdvanceTime(10), answers=(Answer(ErrorCode.PENDING),))
    assert outcome.status is ErrorCode.NONE
    assert made.snapshot().start_offset == 2
    assert made.apply(CompleteWrite(0, status)).completed == ()
    assert made.durable().delivery_complete_count == durable


def test_the_clock_stays_within_64_bits() -> None:
    made = partition((0, 4), record_lock_duration_ms=MAX_INT64)
    wait(made, 5)
    fetch(made, "a", (0, 4))
    with pytest.raises(InvalidValueError):
        wait(made, MAX_INT64 - 4)
    wait(made, MAX_INT64 - 6)
    assert shown(made) == "0-4:Q1a"
