import attrs
import pytest

from judge.invariants import violated
from model.config import AutoOffsetReset
from model.errors import ErrorCode, InvalidValueError
from model.guards import Guard
from model.operations import (
    AdvanceTime,
    CompleteWrite,
    Initialize,
    MemberLeaves,
    Produce,
    ResetOffset,
)
from model.outcome import Answer, Choice
from model.profile import DRAFT_RESOLVED, KIP, Profile
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from spec.partition import SharePartition
from spec.step import new_partition
from tests.rules.share_partition import apply, durable, refusal, run, started, states
from tests.spec.worlds import BOTH, MARKS, SMALL, acknowledgement, fetch, marking, spans

AVAILABLE, ACKNOWLEDGED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
NOWHERE = DurableState(-1, -1)


def edges(partition: SharePartition) -> tuple[int, int]:
    return partition.window.start_offset, partition.window.end_offset


@BOTH
def test_a_leader_starts_from_the_durable_state(profile: Profile) -> None:
    batches = StateBatch(10, 11, AVAILABLE, 1), StateBatch(14, 15, ACKNOWLEDGED, 2)
    persisted = DurableState(10, 2, batches, 3, 4)
    operation = Initialize(SMALL, 5, 50, persisted, time_ms=70)
    step = apply(new_partition(profile), operation)
    assert (step.outcome.status, step.outcome.writes) == (ErrorCode.NONE, ())
    assert edges(step.partition) == (10, 16)
    assert states(step.partition) == "10-11:A1 14-15:K2"
    assert durable(step.partition) == persisted
    assert (step.partition.now, step.partition.log.start_offset) == (70, 5)
    assert step.partition.log.end_offset == 50


@pytest.mark.parametrize(
    ("reset", "offset", "start"),
    [
        (AutoOffsetReset.EARLIEST, None, 20),
        (AutoOffsetReset.LATEST, None, 50),
        (AutoOffsetReset.BY_DURATION, 33, 33),
    ],
)
def test_without_a_start_offset_the_reset_strategy_decides(
    reset: AutoOffsetReset, offset: int | None, start: int
) -> None:
    config = attrs.evolve(SMALL, auto_offset_reset=reset)
    operation = Initialize(config, 20, 50, NOWHERE, reset_offset=offset)
    partition = apply(new_partition(KIP), operation).partition
    assert edges(partition) == (start, start)
    assert durable(partition) == NOWHERE


def test_a_start_offset_by_duration_has_to_be_given() -> None:
    config = attrs.evolve(SMALL, auto_offset_reset=AutoOffsetReset.BY_DURATION)
    with pytest.raises(InvalidValueError, match="reset_offset is None"):
        apply(new_partition(KIP), Initialize(config, 0, 50, NOWHERE))


def test_a_start_offset_that_was_never_written_is_resolved_by_each_leader() -> None:
    config = attrs.evolve(SMALL, auto_offset_reset=AutoOffsetReset.LATEST)
    partition = apply(new_partition(KIP), Initialize(config, 0, 50, NOWHERE)).partition
    partition = run(partition, Produce(spans((50, 59)), 60))
    assert edges(run(partition, Initialize(config, 0, 60, durable(partition)))) == (60, 60)


@pytest.mark.parametrize(
    ("start", "batches"),
    [
        (5, [(4, 6)]),
        (5, [(5, 6), (6, 7)]),
        (5, [(8, 9), (5, 6)]),
        (-1, [(4, 6)]),
    ],
    ids=["below the start offset", "overlapping", "descending", "below a start that is resolved"],
)
def test_impossible_batches_fail_the_share_partition(
    start: int, batches: list[tuple[int, int]]
) -> None:
    held = tuple(StateBatch(first, last, AVAILABLE, 1) for first, last in batches)
    config = attrs.evolve(SMALL, auto_offset_reset=AutoOffsetReset.LATEST)
    before = run(started(), fetch("c1", (0, 4)))
    step = apply(before, Initialize(config, 0, 100, DurableState(start, 0, held)))
    assert step.outcome.status is ErrorCode.UNKNOWN_SERVER_ERROR
    assert step.partition == attrs.evolve(before, ready=False)
    assert violated(step.partition) == []
    assert refusal(step.partition, MemberLeaves("c1"))[0] is Guard.PARTITION_IS_INITIALIZED
    again = run(step.partition, Initialize(SMALL, 0, 100, DurableState(0, 0)))
    assert again.ready


@BOTH
def test_an_implementation_may_pass_over_what_lies_below_the_start_offset(
    profile: Profile,
) -> None:
    batches = tuple(StateBatch(*span, AVAILABLE, 1) for span in ((1, 2), (4, 6), (8, 8)))
    operation = Initialize(SMALL, 0, 100, DurableState(5, 0, batches))
    step = apply(new_partition(profile), operation, Choice(refusal=ErrorCode.NONE))
    assert step.outcome.status is ErrorCode.NONE
    assert states(step.partition) == "5-6:A1 8:A1"


@BOTH
def test_an_implementation_may_begin_at_the_log_start_offset_at_once(profile: Profile) -> None:
    persisted = DurableState(5, 0, (StateBatch(5, 9, AVAILABLE, 1),))
    operation = Initialize(SMALL, 8, 100, persisted)
    step = apply(new_partition(profile), operation, Choice(start_offset=8))
    assert (edges(step.partition), states(step.partition)) == ((8, 10), "8-9:A1")
    later = apply(new_partition(profile), operation)
    assert (edges(later.partition), states(later.partition)) == ((5, 10), "5-9:A1")


@pytest.mark.parametrize("start", [2, 40])
def test_an_altered_start_offset_empties_the_window(start: int) -> None:
    partition = run(started(), fetch("c1", (0, 4)), acknowledgement("c1", (0, 4, 2)))
    partition = attrs.evolve(partition, durable=attrs.evolve(partition.durable, leader_epoch=6))
    step = apply(partition, ResetOffset(start))
    assert step.outcome.status is ErrorCode.NONE
    assert (edges(step.partition), states(step.partition)) == ((start, start), "")
    assert durable(step.partition) == DurableState(start, 0, state_epoch=1, leader_epoch=6)
    again = run(step.partition, ResetOffset(0))
    assert durable(again) == DurableState(0, 0, state_epoch=2, leader_epoch=6)


def test_a_start_offset_is_not_altered_while_records_are_held() -> None:
    partition = run(started(), fetch("c1", (0, 4)))
    step = apply(partition, ResetOffset(2))
    assert step.outcome.status is ErrorCode.NON_EMPTY_GROUP
    assert step.partition == partition


@pytest.mark.parametrize("late", [ErrorCode.NONE, ErrorCode.FENCED_STATE_EPOCH])
def test_writes_of_expiries_are_fenced_by_an_altered_start_offset(late: ErrorCode) -> None:
    partition = run(started(), fetch("c1", (0, 4)))
    expired = apply(partition, AdvanceTime(100), answers=[Answer(ErrorCode.PENDING)]).partition
    step = apply(expired, ResetOffset(2))
    assert step.outcome.status is ErrorCode.NONE
    answered = run(step.partition, CompleteWrite(0, late))
    assert (answered.window, durable(answered)) == (step.partition.window, durable(step.partition))
    assert len(answered.outstanding) == 0


@BOTH
def test_a_failover_can_give_an_attempt_again(profile: Profile) -> None:
    delivery = fetch("c1", (0, 0))
    partition = run(started(profile, end=1), delivery, MemberLeaves("c1"), delivery)
    assert states(partition) == "0:Q2@c1"
    partition = run(partition, Initialize(SMALL, 0, 1, durable(partition)))
    assert states(partition) == "0:A1"
    assert states(run(partition, delivery)) == "0:Q2@c1", "delivered three times, the limit is 2"


@BOTH
def test_in_progress_that_is_durable_fails_a_share_partition_without_it(profile: Profile) -> None:
    batches = StateBatch(3, 4, AVAILABLE, 1), StateBatch(5, 5, RecordState.IN_PROGRESS, 1)
    operation = Initialize(MARKS, 0, 9, DurableState(3, 0, batches))
    step = apply(new_partition(profile), operation)
    assert step.outcome.status is ErrorCode.UNKNOWN_SERVER_ERROR
    assert not step.partition.ready
    assert states(run(new_partition(DRAFT_RESOLVED), operation)) == "3-5:A1"


def test_a_record_in_progress_keeps_the_start_offset_from_being_altered() -> None:
    partition = run(started(DRAFT_RESOLVED, config=MARKS), fetch("c1", (0, 0)))
    partition = run(partition, marking("c1", (0, 0)))
    assert apply(partition, ResetOffset(5)).outcome.status is ErrorCode.NON_EMPTY_GROUP


@BOTH
def test_durations_of_progress_are_not_checked_without_the_profile(profile: Profile) -> None:
    config = attrs.evolve(SMALL, in_progress_staleness_threshold_ms=1)
    assert started(profile, config=config).ready
