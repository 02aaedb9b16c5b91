import attrs
import numpy as np
import pytest

from impl.layout import HEAD, LAST, NEXT_DEADLINE, TAIL
from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceTime,
    CompleteWrite,
    Expire,
    Initialize,
    Produce,
)
from model.outcome import Answer, Choice, Expiry
from model.profile import KAFKA
from model.snapshot import DurableState
from model.states import AcquireMode
from tests.impl.helpers import interpreted
from tests.impl.scenario import ACCEPT, ack, fetch, partition, ranges, shown, wait, written
from tests.lockstep.pair import Pair


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
        (10, [(0, 2)], Guard.LOCK_ENDS_ON_TIME, 3),
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


def test_records_never_in_flight_do_not_expire() -> None:
    made = partition((0, 0), (2, 2), record_lock_duration_ms=10)
    fetch(made, "a", (0, 0))
    fetch(made, "a", (2, 2))
    assert shown(made) == "0-0:Q1a 2-2:Q1a"
    with pytest.raises(IllegalChoiceError, match="LOCK_LASTS_ITS_DURATION: at 1"):
        wait(made, 10, Choice(expired=(Expiry(ranges((0, 2))),)))


def test_locks_that_a_former_leader_gave_do_not_expire() -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    made.apply(Initialize(SharePartitionConfig(), 0, 5, DurableState(0, 0)))
    with pytest.raises(IllegalChoiceError, match="LOCK_LASTS_ITS_DURATION: at 0"):
        wait(made, 10, Choice(expired=(Expiry(ranges((0, 4))),)))
    assert wait(made, 10).writes == ()


def test_one_range_may_cover_locks_of_several_members() -> None:
    made = partition((0, 2), (3, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 2))
    fetch(made, "b", (3, 4))
    outcome = wait(made, 10, Choice(expired=(Expiry(ranges((0, 4))),)))
    assert written(outcome) == [(0, 0, [(0, 4, 0, 1)])]
    assert shown(made) == "0-4:A1"


def test_each_lock_expires_in_its_own_time_however_high_its_offset() -> None:
    made = partition((500, 501), (502, 503), record_lock_duration_ms=10)
    fetch(made, "a", (500, 501))
    wait(made, 5)
    fetch(made, "b", (502, 503))
    assert written(wait(made, 5)) == [(500, 0, [(500, 501, 0, 1)])]
    assert wait(made, 4).writes == ()
    assert written(wait(made, 1)) == [(500, 0, [(502, 503, 0, 1)])]


def test_a_late_start_moves_before_expired_locks_are_written() -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, ACCEPT), choice=Choice(start_offset=0))
    assert made.snapshot().start_offset == 0
    assert written(wait(made, 10)) == [(2, 0, [(2, 4, 0, 1)])]


def test_locks_that_are_not_due_give_the_next_deadline() -> None:
    """The scratch that what is due is put in may hold anything before."""
    state = interpreted("state").new_state(KAFKA)
    kept = [[0, 1, 1, 1, 0, 7, -1, 0], [2, 4, 1, 1, 0, 30, -1, 0], [5, 5, 1, 1, 0, 20, -1, 0]]
    state.header[TAIL], state.runs[:3] = len(kept), kept
    state.header[NEXT_DEADLINE], state.ranges[:] = 7, (2, 4)
    expiry = interpreted("expiry")
    none = expiry.Expiries(0, *(np.zeros(shape, np.int64) for shape in (0, (0, 2), (0, 2))))
    assert expiry.advance_time(state, 10, none, np.zeros((0, 2), np.int64), 0) == 0
    held = [row[LAST] for row in state.runs[state.header[HEAD] : state.header[TAIL]] if row[2] == 1]
    assert (held, state.header[NEXT_DEADLINE]) == ([4, 5], 20)


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


def test_locks_below_the_start_are_ignored() -> None:
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
def test_the_answer_decides_only_the_durable_state(status: ErrorCode, durable: int) -> None:
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
    wait(made, MAX_INT64 - 5)
    assert shown(made) == "0-4:Q1a"


@pytest.mark.parametrize("duration", [MAX_INT64, MAX_INT64 - 4, MAX_INT64 - 5, MAX_INT64 - 6, 0])
@pytest.mark.parametrize("early", [0, 1])
def test_only_due_locks_expire_at_the_end_of_the_clock(duration: int, early: int) -> None:
    config = attrs.evolve(SharePartitionConfig(), record_lock_duration_ms=duration)
    accepted = (AcknowledgementBatch(0, 1, (ACCEPT,)),)
    pair = Pair(KAFKA)
    pair.do(Initialize(config, 0, 0, DurableState(0, 0), 5))
    pair.do(Produce(ranges((0, 4)), 5))
    pair.do(Acquire("a", AcquireMode.BATCH_OPTIMIZED, 5, 5, 0, ranges((0, 4))))
    pair.do(Acknowledge("a", accepted), answers=(Answer(ErrorCode.PENDING, 1),))
    pair.do(AdvanceTime(MAX_INT64 - 5 - early))
    pair.do(CompleteWrite(1, ErrorCode.NOT_COORDINATOR))
    pair.do(AdvanceTime(early))


@pytest.mark.parametrize(
    ("ms", "due", "locks", "where"),
    [
        (9, None, [(0, 4)], 0),
        (10, 9, [(0, 4)], 0),
        (10, 11, [(0, 4)], None),
        (10, None, [(0, 5)], 5),
        (10, 10, [(6, 9), (0, 4)], 6),
    ],
)
def test_a_timer_ends_locks_that_are_over_and_no_others(
    ms: int, due: int | None, locks: list[tuple[int, int]], where: int | None
) -> None:
    made = partition((0, 9), record_lock_duration_ms=10)
    made.apply(
        Initialize(
            SharePartitionConfig(record_lock_duration_ms=10), 0, 10, DurableState(0, 0), timed=True
        )
    )
    fetch(made, "a", (0, 9), choice=Choice(acquired=ranges((0, 4))))
    wait(made, ms)
    with pytest.raises(IllegalChoiceError) as raised:
        made.apply(Expire(ranges(*locks), due))
    assert raised.value.guard is Guard.LOCK_LASTS_ITS_DURATION
    assert where is None or raised.value.detail == f"at {where}"
    wait(made, 10 - ms)
    outcome = made.apply(Expire(ranges((3, 4), (0, 1), (1, 1)), 10), answers=(Answer(id=7),))
    assert written(outcome) == [(0, 0, [(0, 1, 0, 1), (3, 4, 0, 1)])]
    assert shown(made) == "0-1:A1 2-2:Q1a 3-4:A1"
    assert made.apply(Expire(())).writes == ()
