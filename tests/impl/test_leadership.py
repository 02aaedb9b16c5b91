import copy
from contextlib import suppress
from itertools import product

import pytest

from impl.partition import FastSharePartition
from model.checks import MAX_INT64
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import (
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    AlterConfig,
    CompleteWrite,
    Initialize,
    Produce,
    ResetOffset,
)
from model.outcome import Answer
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, LAG_RESOLVED, Profile
from model.ranges import AcquiredRange, StateBatch
from model.snapshot import DurableState
from model.states import DURABLE_STATES, AcquireMode, RecordState
from tests.impl.held import Held
from tests.impl.scenario import (
    ACCEPT,
    RELEASE,
    RENEW,
    ack,
    fetch,
    mark,
    partition,
    ranges,
    shown,
    wait,
)

# All times are 0, so that none is by chance as large as an offset.
NO_TIMES = SharePartitionConfig(
    record_lock_duration_ms=0,
    in_progress_staleness_threshold_ms=0,
    in_progress_max_lock_extension_ms=0,
)


@pytest.mark.parametrize(
    ("reset", "start"),
    [
        (AutoOffsetReset.EARLIEST, 3),
        (AutoOffsetReset.LATEST, 9),
        (AutoOffsetReset.BY_DURATION, 5),
    ],
)
def test_where_a_share_partition_starts(reset: AutoOffsetReset, start: int) -> None:
    made = FastSharePartition(KAFKA)
    config = SharePartitionConfig(auto_offset_reset=reset)
    made.apply(Initialize(config, 3, 9, DurableState(-1, 0), reset_offset=5))
    assert made.snapshot().start_offset == start
    assert made.lag() == 9 - start


@pytest.mark.parametrize("offset", [None, -1])
def test_by_duration_needs_an_offset(offset: int | None) -> None:
    made = FastSharePartition(KAFKA)
    config = SharePartitionConfig(auto_offset_reset=AutoOffsetReset.BY_DURATION)
    with pytest.raises(InvalidValueError, match="reset_offset"):
        made.apply(Initialize(config, 3, 9, DurableState(-1, 0), reset_offset=offset))


@pytest.mark.parametrize("batches", [[(4, 6)], [(5, 6), (6, 7)], [(8, 9), (5, 6)]])
def test_malformed_durable_state_fails_the_share_partition(
    batches: list[tuple[int, int]],
) -> None:
    made = FastSharePartition(KAFKA)
    state = tuple(StateBatch(f, last, RecordState.AVAILABLE, 1) for f, last in batches)
    bad = Initialize(SharePartitionConfig(), 0, 10, DurableState(5, 0, state))
    assert made.apply(bad).status is ErrorCode.UNKNOWN_SERVER_ERROR
    with pytest.raises(IllegalChoiceError) as raised:
        made.apply(AdvanceTime(1))
    assert raised.value.guard is Guard.PARTITION_IS_INITIALIZED
    made.apply(Initialize(SharePartitionConfig(), 0, 10, DurableState(5, 0)))
    made.apply(AdvanceTime(1))


@pytest.mark.parametrize("profile", [KAFKA, DRAFT_RESOLVED])
@pytest.mark.parametrize("first", [4, 5, 7])
def test_a_new_leader_reads_as_in_the_specification_and_forgets_the_rest(
    profile: Profile, first: int
) -> None:
    before = Held(profile)
    before.apply(Initialize(NO_TIMES, 0, 30, DurableState(2, 0)))
    before.apply(Acquire("a", AcquireMode.RECORD_LIMIT, 9, 9, 2, ranges((2, 9), (14, 20))))
    counts = 1, int(RecordState.IN_PROGRESS)
    for one, two, *other in product(DURABLE_STATES, DURABLE_STATES, (1, 2), counts, counts):
        second = first + 1 + other[0]
        kept = (
            StateBatch(first, first + 1, one, other[1]),
            StateBatch(second, second, two, other[2]),
        )
        after = copy.copy(before)
        after.apply(Initialize(NO_TIMES, 0, 30, DurableState(5, 1, kept)))
        with suppress(IllegalChoiceError):  # What is malformed leads to no leader.
            after.apply(AdvanceTime(1))


def test_a_new_leader_takes_over_the_clock() -> None:
    made = Held(KAFKA)
    made.apply(Initialize(NO_TIMES, 0, 9, DurableState(0, 0), time_ms=MAX_INT64 - 5))
    with pytest.raises(InvalidValueError, match="ms"):
        made.apply(AdvanceTime(6))
    made.apply(AdvanceTime(5))


def test_a_window_may_end_at_the_last_offset_of_all() -> None:
    last = MAX_INT64 - 2
    kept = tuple(StateBatch(at, at, RecordState.AVAILABLE, 1) for at in (last - 1, last))
    made = Held(KAFKA)
    made.apply(Initialize(NO_TIMES, 0, last, DurableState(0, 0, kept)))
    assert made.snapshot().end_offset == MAX_INT64 - 1
    made.apply(AdvanceLogStart(MAX_INT64 - 1))
    with pytest.raises(InvalidValueError, match="last"):
        StateBatch(last + 1, last + 1, RecordState.AVAILABLE, 1)


@pytest.mark.parametrize("start", range(0, 18, 3))
def test_a_new_leader_knows_the_gaps_below_the_end_of_its_log(start: int) -> None:
    config = SharePartitionConfig(partition_max_record_locks=50)
    before = Held(KAFKA)
    before.apply(Initialize(config, 0, 0, DurableState(0, 0)))
    before.apply(Produce(ranges((2, 3), (6, 6), (9, 10), (14, 15)), 18))
    before.apply(Initialize(config, 0, 18, DurableState(start, 0)))
    for end in range(19):
        made = copy.copy(before)
        made.apply(Initialize(config, 0, end, DurableState(start, 0)))
        made.apply(Produce(ranges((end + 2, end + 3), (end + 6, 25)), 27))
        made.apply(Produce((), 27))
        with suppress(IllegalChoiceError):  # What lies between was in the log.
            made.apply(Acquire("a", AcquireMode.BATCH_OPTIMIZED, 9, 50, end, ranges((end + 2, 25))))


def test_a_new_leader_reads_any_number_of_batches() -> None:
    kept = tuple(StateBatch(2 * i, 2 * i, RecordState.AVAILABLE, 1) for i in range(300))
    made = FastSharePartition(KAFKA)
    made.apply(Initialize(SharePartitionConfig(), 0, 600, DurableState(0, 0, kept)))
    assert len(made.snapshot().records or ()) == 300
    assert made.durable().state_batches == kept


def test_a_new_leader_knows_only_the_durable_state() -> None:
    made = partition((0, 9))
    fetch(made, "a", (0, 9))
    ack(made, "a", (0, 1, ACCEPT), (4, 5, RELEASE))
    ack(made, "a", (6, 6, ACCEPT), answer=ErrorCode.PENDING)
    durable = made.durable()
    made.apply(Initialize(SharePartitionConfig(), 0, 10, durable))
    assert shown(made) == "4-5:A1"
    assert made.snapshot().start_offset == 2
    with pytest.raises(IllegalChoiceError):
        made.apply(CompleteWrite(1, ErrorCode.NONE))
    assert made.durable() == durable
    wait(made, 10**6)


def test_the_log_only_grows() -> None:
    made = partition((0, 4))
    with pytest.raises(InvalidValueError, match=r"^log_batches is 4;"):
        made.apply(Produce(ranges((4, 6), (8, 9)), 10))
    for batches in ((), ((1, 2),)):
        with pytest.raises(InvalidValueError, match=r"^log_end_offset is 3;"):
            made.apply(Produce(ranges(*batches), 3))
    made.apply(Produce((), 5))
    made.apply(Produce((), 7))
    assert made.lag() == 7


def test_an_offset_is_reset_only_in_an_idle_share_partition() -> None:
    made = partition((0, 9))
    fetch(made, "a", (0, 9))
    assert made.apply(ResetOffset(4)).status is ErrorCode.NON_EMPTY_GROUP
    ack(made, "a", (0, 9, RELEASE), answer=ErrorCode.PENDING)
    assert made.apply(ResetOffset(4)).status is ErrorCode.NON_EMPTY_GROUP
    made.apply(CompleteWrite(0, ErrorCode.NONE))
    assert made.apply(ResetOffset(4)).status is ErrorCode.NONE
    assert made.durable() == DurableState(4, 0, state_epoch=1)
    assert (made.snapshot().start_offset, made.snapshot().end_offset) == (4, 4)


def test_an_offset_is_not_reset_while_a_member_holds_records() -> None:
    made = partition((0, 1), profile=DRAFT_RESOLVED)
    fetch(made, "a", (0, 1))
    for offset in range(2):
        assert mark(made, "a", (offset, offset, 0)) == ["NONE"]
        assert made.apply(ResetOffset(4)).status is ErrorCode.NON_EMPTY_GROUP


@pytest.mark.parametrize("late", [ErrorCode.NONE, ErrorCode.FENCED_STATE_EPOCH])
def test_after_a_reset_the_answers_that_nobody_waits_for_change_nothing(late: ErrorCode) -> None:
    made = partition((0, 9), record_lock_duration_ms=10)
    fetch(made, "a", (0, 9))
    made.apply(AdvanceTime(10), answers=(Answer(ErrorCode.PENDING, 7),))
    assert made.apply(ResetOffset(4)).status is ErrorCode.NONE
    durable = made.durable()
    assert made.apply(CompleteWrite(7, late)).completed == ()
    assert (made.durable(), shown(made)) == (durable, "")
    with pytest.raises(IllegalChoiceError) as raised:
        made.apply(CompleteWrite(7, late))
    assert raised.value.guard is Guard.WRITE_IS_OUTSTANDING


def test_a_new_leader_of_a_shorter_log_knows_no_gap_beyond_its_end() -> None:
    made = partition((0, 4))
    made.apply(Produce((), 9))
    durable = made.durable()
    made.apply(Initialize(SharePartitionConfig(), 0, 7, durable))
    made.apply(Produce(ranges((7, 9)), 10))
    fetch(made, "a", (0, 4), (7, 9))
    ack(made, "a", (0, 4, ACCEPT))
    assert made.snapshot().start_offset == 7
    ack(made, "a", (7, 7, RELEASE))
    assert shown(made) == "7-7:A1 8-9:Q1a"


def test_an_altered_configuration_applies_at_once() -> None:
    made = partition((0, 4), record_lock_duration_ms=10, delivery_count_limit=1)
    fetch(made, "a", (0, 0))
    altered = SharePartitionConfig(2, 2, 20, renew_acknowledge_enable=False)
    outcome = made.apply(AlterConfig(altered))
    assert (outcome.status, outcome.writes) == (ErrorCode.NONE, ())
    assert ack(made, "a", (0, 0, RENEW)).status is ErrorCode.INVALID_RECORD_STATE
    assert fetch(made, "b", (1, 1), (2, 2)).acquired == (AcquiredRange(1, 1, 1),)
    wait(made, 10)
    assert shown(made) == "0-0:A1 1-1:Q1b"
    wait(made, 9)
    assert shown(made) == "0-0:A1 1-1:Q1b"
    wait(made, 1)
    assert shown(made) == "0-1:A1"


@pytest.mark.parametrize(
    ("times", "fault"),
    [
        ((30, 29, 28), "record_lock_duration_ms is 30"),
        ((30, 31, 30), "in_progress_staleness_threshold_ms is 31"),
        ((30, 30, 30), None),
    ],
)
def test_marks_can_only_lengthen_a_lock(times: tuple[int, int, int], fault: str | None) -> None:
    config = SharePartitionConfig(
        record_lock_duration_ms=times[0],
        in_progress_staleness_threshold_ms=times[1],
        in_progress_max_lock_extension_ms=times[2],
    )
    begin = Initialize(config, 0, 5, DurableState(-1, 0))
    for profile in (KIP, KAFKA, DRAFT_RESOLVED):
        for operation in (begin, AlterConfig(config)):
            made = partition((0, 4), profile=profile, delivery_count_limit=1)
            fetch(made, "a", (0, 4))
            if fault is None or profile is not DRAFT_RESOLVED:
                assert made.apply(operation).status is ErrorCode.NONE
                continue
            with pytest.raises(InvalidValueError, match=f"^{fault};"):
                made.apply(operation)
            ack(made, "a", (0, 4, RELEASE))
            assert made.snapshot().start_offset == 5


def test_a_leader_reads_the_count_that_the_coordinator_has_counted() -> None:
    batch = StateBatch(2, 4, RecordState.ARCHIVED, 1)
    for profile, count in ((KIP, -1), (LAG_RESOLVED, 3)):
        made = FastSharePartition(profile)
        made.apply(Initialize(SharePartitionConfig(), 0, 9, DurableState(0, -1, (batch,))))
        assert made.durable() == DurableState(0, count, (batch,))


def test_the_order_of_the_times_is_checked_before_all_else_but_a_leader() -> None:
    bad = SharePartitionConfig(
        auto_offset_reset=AutoOffsetReset.BY_DURATION, in_progress_staleness_threshold_ms=1
    )
    made = FastSharePartition(DRAFT_RESOLVED)
    with pytest.raises(InvalidValueError, match="record_lock_duration_ms"):
        made.apply(Initialize(bad, 3, 9, DurableState(-1, 0)))
    with pytest.raises(IllegalChoiceError) as raised:
        made.apply(AlterConfig(bad))
    assert raised.value.guard is Guard.PARTITION_IS_INITIALIZED
