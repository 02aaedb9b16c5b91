import attrs
import pytest

from model.checks import MAX_INT64
from model.errors import ErrorCode, InvalidValueError
from model.guards import Guard
from model.operations import AdvanceTime
from model.outcome import Answer, Choice, Expiry
from model.profile import KIP, Profile
from spec.expire import due_offsets
from spec.partition import SharePartition
from spec.step import apply
from spec.view import durable
from tests.spec.worlds import (
    BOTH,
    SMALL,
    acknowledgement,
    fetch,
    refusal,
    run,
    spans,
    started,
    states,
    written,
)


def holding(profile: Profile = KIP) -> SharePartition:
    """c1 holds 0 to 2 until 100, c2 holds 3 and 4 until 130."""
    return run(started(profile), fetch("c1", (0, 2)), AdvanceTime(30), fetch("c2", (3, 4)))


@BOTH
def test_a_lock_lasts_until_its_deadline(profile: Profile) -> None:
    step = apply(holding(profile), AdvanceTime(69))
    assert (step.outcome.writes, step.partition.now) == ((), 99)
    assert states(step.partition) == "0-2:Q1@c1 3-4:Q1@c2"


@BOTH
def test_due_locks_expire_in_one_write(profile: Profile) -> None:
    step = apply(holding(profile), AdvanceTime(70))
    assert step.outcome.status is ErrorCode.NONE
    assert [written(write) for write in step.outcome.writes] == [(0, 0, [(0, 2, 0, 1)])]
    assert states(step.partition) == "0-2:A1 3-4:Q1@c2"
    assert [b.last for b in durable(step.partition).state_batches] == [2]
    later = apply(step.partition, AdvanceTime(30))
    assert [written(write) for write in later.outcome.writes] == [(0, 0, [(3, 4, 0, 1)])]


def test_the_last_attempt_is_archived_and_counts_as_complete() -> None:
    partition = run(holding(), AdvanceTime(100), fetch("c1", (1, 2)))
    step = apply(partition, AdvanceTime(100))
    assert [written(write) for write in step.outcome.writes] == [(0, 2, [(1, 2, 4, 2)])]
    assert states(step.partition) == "0:A1 1-2:X2 3-4:A1"


def test_without_a_lock_that_is_due_there_is_no_write() -> None:
    step = apply(started(), AdvanceTime(500))
    assert (step.outcome.writes, step.partition.now) == ((), 500)


def test_the_clock_stays_within_64_bits() -> None:
    latest = run(started(), AdvanceTime(MAX_INT64))
    assert latest.now == MAX_INT64
    with pytest.raises(InvalidValueError, match="ms is 1; allowed: a time that keeps the clock"):
        apply(latest, AdvanceTime(1))


def test_a_lock_of_no_duration_expires_when_time_next_advances() -> None:
    config = attrs.evolve(SMALL, record_lock_duration_ms=0)
    partition = run(started(config=config), fetch("c1", (0, 2)))
    assert due_offsets(partition) == [0, 1, 2]
    assert states(run(partition, AdvanceTime(0))) == "0-2:A1"


def test_a_renewed_lock_is_not_due_with_the_others() -> None:
    partition = run(holding(), acknowledgement("c1", (1, 1, 4)))
    assert due_offsets(attrs.evolve(partition, now=100)) == [0, 2]
    assert states(run(partition, AdvanceTime(70))) == "0:A1 1:Q1@c1 2:A1 3-4:Q1@c2"


def test_how_many_writes_report_the_locks_is_a_choice() -> None:
    groups = tuple(Expiry(spans(*each)) for each in (((2, 2), (0, 0)), ((1, 1),), ((3, 4),)))
    lost = Answer(ErrorCode.NOT_COORDINATOR)
    step = apply(holding(), AdvanceTime(100), Choice(expired=groups), [Answer(), lost, Answer()])
    assert [written(write)[2] for write in step.outcome.writes] == [
        [(0, 0, 0, 1), (2, 2, 0, 1)],
        [(1, 1, 0, 1)],
        [(3, 4, 0, 1)],
    ]
    assert [write.id for write in step.outcome.writes] == [0, 1, 2]
    assert states(step.partition) == "0-4:A1"
    assert [(b.first, b.last) for b in durable(step.partition).state_batches] == [
        (0, 0),
        (2, 4),
    ]


def test_the_start_offset_may_move_before_each_write() -> None:
    partition = run(holding(), AdvanceTime(100), fetch("c1", (0, 2)))
    groups = (Expiry(spans((0, 0)), 0), Expiry(spans((1, 1)), 1), Expiry(spans((2, 2))))
    step = apply(partition, AdvanceTime(100), Choice(expired=groups))
    assert [written(write) for write in step.outcome.writes] == [
        (0, 1, [(0, 0, 4, 2)]),
        (1, 1, [(1, 1, 4, 2)]),
        (2, 1, [(2, 2, 4, 2)]),
    ]
    assert states(step.partition) == "3-4:A1"


def test_a_group_that_the_start_offset_has_passed_still_writes_it() -> None:
    partition = run(holding(), acknowledgement("c1", (0, 0, 1)))
    groups = (Expiry(spans((0, 0))), Expiry(spans((0, 2))))
    later = Answer(ErrorCode.PENDING, 8)
    step = apply(partition, AdvanceTime(70), Choice(expired=groups), [later, Answer(id=9)])
    assert [(write.id, written(write)) for write in step.outcome.writes] == [
        (8, (1, 0, [])),
        (9, (1, 0, [(1, 2, 0, 1)])),
    ]
    assert states(step.partition) == "1-2:A1 3-4:Q1@c2"
    assert set(step.partition.outstanding) == {8}


def test_a_group_of_no_locks_makes_no_write_and_skips_its_answer() -> None:
    groups = (Expiry(()), Expiry(spans((0, 2))))
    lost = Answer(ErrorCode.NOT_COORDINATOR, 8)
    step = apply(holding(), AdvanceTime(70), Choice(expired=groups), [lost, Answer(id=9)])
    assert [(write.id, write.status) for write in step.outcome.writes] == [(9, ErrorCode.NONE)]


@pytest.mark.parametrize(
    ("locks", "offset"),
    [((3, 3), 3), ((0, 3), 3), ((7, 7), 7), ((60, 60), 60)],
    ids=["not due", "one not due", "never delivered", "beyond the window"],
)
def test_a_lock_does_not_expire_early(locks: tuple[int, int], offset: int) -> None:
    choice = Choice(expired=(Expiry(spans(locks)),))
    assert refusal(holding(), AdvanceTime(70), choice) == (
        Guard.LOCK_LASTS_ITS_DURATION,
        f"offset {offset} holds no lock that is over",
    )


def test_a_lock_whose_write_is_outstanding_does_not_expire() -> None:
    accept = acknowledgement("c1", (1, 1, 1))
    partition = apply(holding(), accept, answers=[Answer(ErrorCode.PENDING)]).partition
    assert states(run(partition, AdvanceTime(70))) == "0:A1 1:K1* 2:A1 3-4:Q1@c2"
    choice = Choice(expired=(Expiry(spans((0, 2))),))
    guard, detail = refusal(partition, AdvanceTime(70), choice)
    assert (guard, detail) == (
        Guard.LOCK_LASTS_ITS_DURATION,
        "offset 1 holds no lock that is over",
    )


def test_a_lock_does_not_last_longer() -> None:
    choice = Choice(expired=(Expiry(spans((0, 1))),))
    assert refusal(holding(), AdvanceTime(70), choice) == (
        Guard.LOCK_ENDS_ON_TIME,
        "the lock of offset 2 is due",
    )
    assert refusal(holding(), AdvanceTime(70), Choice(expired=()))[0] is Guard.LOCK_ENDS_ON_TIME


@pytest.mark.parametrize(
    ("start", "guard"),
    [(3, Guard.START_STOPS_AT_UNFINISHED), (0, Guard.START_NEVER_GOES_BACK)],
)
def test_the_start_offset_of_a_group_is_guarded(start: int, guard: Guard) -> None:
    partition = run(holding(), acknowledgement("c1", (0, 0, 1)))
    choice = Choice(expired=(Expiry(spans((1, 2)), start),))
    assert refusal(partition, AdvanceTime(70), choice)[0] is guard
