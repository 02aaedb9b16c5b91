"""The table of docs/in-progress.md, a test for each row."""

from collections.abc import Callable

import attrs
import pytest

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import (
    AdvanceLogStart,
    AdvanceTime,
    AlterConfig,
    CompleteWrite,
    FinishDeadLetter,
    Initialize,
    MarkInProgress,
    MemberLeaves,
    ProgressBatch,
)
from model.outcome import Answer
from model.profile import DRAFT_RESOLVED
from model.ranges import StateBatch
from model.states import RecordState
from spec.partition import SharePartition
from spec.record import Record
from tests.rules.share_partition import apply, durable, lag, run, started, states
from tests.spec.worlds import MARKS, acknowledgement, fetch, marking, spans, written

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
NONE, INVALID = ErrorCode.NONE, ErrorCode.INVALID_RECORD_STATE
LATER, LOST = Answer(ErrorCode.PENDING), Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
QUEUE = attrs.evolve(MARKS, dead_letter_queue=True)
EACH_CONFIG = pytest.mark.parametrize("config", [MARKS, QUEUE], ids=["no queue", "queue"])


def acquired(config: SharePartitionConfig = MARKS, count: int = 1) -> SharePartition:
    """Offset 0 is ACQUIRED by c1 at 0 for the ``count``-th time, for 10 ms."""
    batches = () if count == 1 else (StateBatch(0, 0, RecordState.AVAILABLE, count - 1),)
    partition = started(DRAFT_RESOLVED, *batches, config=config)
    return run(partition, fetch("c1", (0, 0)))


def in_progress(config: SharePartitionConfig = MARKS, count: int = 1) -> SharePartition:
    """As ``acquired``, and marked at 0: due at 30."""
    return run(acquired(config, count), marking("c1", (0, 0)))


Held = Callable[..., SharePartition]
BOTH_HELD = pytest.mark.parametrize("held", [acquired, in_progress])


def record(partition: SharePartition, offset: int = 0) -> Record:
    return partition.window.records[offset]


def after(partition: SharePartition, ms: int) -> SharePartition:
    """The clock is moved, and locks that are due expire."""
    return run(partition, AdvanceTime(ms))


def test_row_1_an_acquisition_counts_and_has_a_number() -> None:
    step = apply(started(DRAFT_RESOLVED, config=MARKS), fetch("c1", (0, 1)))
    assert step.outcome.acquisition == 0
    assert record(step.partition, 1) == Record(RecordState.ACQUIRED, 1, "c1", 10, acquisition=0)
    again = apply(step.partition, fetch("c2", (2, 2)))
    assert again.outcome.acquisition == 1
    assert record(again.partition, 2).acquisition == 1


def test_row_2_a_mark_makes_a_record_in_progress_and_writes_nothing() -> None:
    step = apply(after(acquired(), 4), marking("c1", (0, 0)))
    assert (step.outcome.marked, step.outcome.writes) == ((NONE,), ())
    assert states(step.partition) == "0:P1@c1"
    marked = record(step.partition)
    assert (marked.progress_start, marked.last_progress, marked.deadline) == (4, 4, 34)
    assert marked.acquisition == 0


def test_row_3_a_further_mark_refreshes_the_record_and_ends_a_grace() -> None:
    left = run(after(in_progress(), 20), MemberLeaves("c1"))
    assert record(left).deadline == 25
    step = apply(after(left, 4), marking("c1", (0, 0)))
    assert (step.outcome.marked, step.outcome.writes) == ((NONE,), ())
    marked = record(step.partition)
    assert (marked.progress_start, marked.last_progress, marked.deadline) == (0, 24, 54)


def test_row_4_a_mark_after_the_maximum_extension_is_refused() -> None:
    old = run(
        in_progress(),
        AlterConfig(
            attrs.evolve(
                MARKS,
                record_lock_duration_ms=5,
                in_progress_staleness_threshold_ms=5,
                in_progress_max_lock_extension_ms=20,
            )
        ),
    )
    assert apply(after(old, 19), marking("c1", (0, 0))).outcome.marked == (NONE,)
    step = apply(after(old, 20), marking("c1", (0, 0)))
    assert step.outcome.marked == (INVALID,)
    assert states(step.partition) == "0:P1@c1"


def test_row_5_an_acquired_record_is_renewed() -> None:
    renewed = run(after(acquired(), 6), acknowledgement("c1", (0, 0, RENEW)))
    assert (record(renewed).deadline, record(renewed).acquisition) == (16, 0)
    assert apply(renewed, marking("c1", (0, 0))).outcome.marked == (NONE,)


def test_row_6_a_record_in_progress_is_not_renewed() -> None:
    step = apply(in_progress(), acknowledgement("c1", (0, 0, RENEW)))
    assert step.outcome.status is INVALID
    assert step.partition == in_progress()


@BOTH_HELD
def test_row_7_an_accepted_record_is_acknowledged(held: Held) -> None:
    before = held()
    partition = run(before, acknowledgement("c1", (0, 0, ACCEPT)), answer=LATER)
    assert states(partition) == "0:K1*"
    assert lag(partition) == lag(before) - 1


@BOTH_HELD
@EACH_CONFIG
def test_row_8_a_gap_is_archived_whether_there_is_a_queue_or_not(
    held: Held, config: SharePartitionConfig
) -> None:
    before = held(config)
    partition = run(before, acknowledgement("c1", (0, 0, GAP)), answer=LATER)
    assert states(partition) == "0:X1*"
    assert lag(partition) == lag(before) - 1


@BOTH_HELD
def test_row_9_a_released_record_has_failed_this_attempt(held: Held) -> None:
    released = acknowledgement("c1", (0, 0, RELEASE))
    assert states(run(held(), released, answer=LATER)) == "0:A1*"
    assert states(run(held(count=2), released, answer=LATER)) == "0:X2*"
    assert states(run(held(QUEUE, 2), released, answer=LATER)) == "0:Y2*"


@BOTH_HELD
def test_row_10_a_rejected_record_goes_to_the_queue_if_there_is_one(held: Held) -> None:
    rejected = acknowledgement("c1", (0, 0, REJECT))
    assert states(run(held(), rejected, answer=LATER)) == "0:X1*"
    archiving = run(held(QUEUE), rejected, answer=LATER)
    assert states(archiving) == "0:Y1*"
    assert lag(archiving) == lag(held(QUEUE))


def test_row_11_a_lock_expires_at_its_deadline() -> None:
    assert states(after(acquired(), 9)) == "0:Q1@c1"
    assert states(run(after(acquired(), 9), AdvanceTime(1), answer=LOST)) == "0:A1"
    assert states(after(acquired(QUEUE, 2), 10)) == "0:Y2"


def test_row_12_a_record_in_progress_expires_at_its_one_deadline() -> None:
    assert states(after(in_progress(), 29)) == "0:P1@c1"
    assert states(run(after(in_progress(), 29), AdvanceTime(1), answer=LOST)) == "0:A1"
    assert states(after(in_progress(QUEUE, 2), 30)) == "0:Y2"
    kept_alive = in_progress()
    for _ in range(9):
        kept_alive = run(after(kept_alive, 11), marking("c1", (0, 0)))
    assert record(kept_alive).deadline == 100
    assert states(after(kept_alive, 1)) == "0:A1"


def test_row_13_a_member_that_leaves_releases_what_it_acquired() -> None:
    assert states(run(acquired(), MemberLeaves("c1"), answer=LATER)) == "0:A1*"
    assert states(run(acquired(count=2), MemberLeaves("c1"))) == ""


def test_row_14_a_member_that_leaves_keeps_a_record_in_progress_for_the_grace() -> None:
    step = apply(after(in_progress(), 7), MemberLeaves("c1"))
    assert (step.outcome.status, step.outcome.writes) == (NONE, ())
    assert states(step.partition) == "0:P1@c1"
    assert record(step.partition).deadline == 12
    assert states(after(step.partition, 5)) == "0:A1"
    back = apply(step.partition, acknowledgement("c1", (0, 0, ACCEPT)))
    assert back.outcome.status is NONE


def test_row_15_a_member_that_leaves_releases_what_is_stale() -> None:
    sooner = attrs.evolve(MARKS, in_progress_staleness_threshold_ms=20)
    stale = after(run(in_progress(), AlterConfig(sooner)), 20)
    assert states(stale) == "0:P1@c1"
    assert states(run(stale, MemberLeaves("c1"), answer=LATER)) == "0:A1*"


def test_row_16_a_write_that_succeeds_commits_and_the_start_offset_passes() -> None:
    waiting = run(in_progress(), acknowledgement("c1", (0, 0, ACCEPT)), answer=LATER)
    done = run(waiting, CompleteWrite(0, NONE))
    assert (states(done), done.window.start_offset) == ("", 1)
    assert durable(done).state_batches == (StateBatch(0, 0, RecordState.ACKNOWLEDGED, 1),)


@pytest.mark.parametrize("kind", [ACCEPT, RELEASE, REJECT, GAP])
def test_row_17_a_write_that_fails_restores_the_record_unless_it_was_due(kind: int) -> None:
    before = in_progress(QUEUE, 2)
    waiting = run(before, acknowledgement("c1", (0, 0, kind)), answer=LATER)
    failed = CompleteWrite(0, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert record(run(after(waiting, 29), failed)) == record(before)
    assert states(run(after(waiting, 30), failed)) == "0:Y2"
    altered = run(waiting, AlterConfig(MARKS))
    assert states(run(after(altered, 30), failed)) == ""


@BOTH_HELD
def test_row_18_the_log_start_offset_takes_a_record_out_of_the_window(held: Held) -> None:
    gone = run(held(), AdvanceLogStart(1))
    assert (states(gone), gone.window.start_offset) == ("", 1)
    assert apply(gone, marking("c1", (0, 0))).outcome.marked == (NONE,)
    assert apply(gone, acknowledgement("c1", (0, 0, ACCEPT))).outcome.status is NONE


def test_row_19_a_dead_letter_is_archived_when_the_queue_has_it() -> None:
    archiving = run(in_progress(QUEUE), acknowledgement("c1", (0, 0, REJECT)))
    assert (states(archiving), archiving.window.start_offset) == ("0:Y1", 0)
    step = apply(archiving, FinishDeadLetter(spans((0, 0))))
    assert written(step.outcome.writes[0]) == (0, 1, [(0, 0, 4, 1)])
    assert step.partition.window.start_offset == 1
    assert lag(step.partition) == lag(archiving) - 1


@BOTH_HELD
def test_row_20_a_failover_finds_what_was_last_durable(held: Held) -> None:
    for count, known in ((1, ""), (2, "0:A1")):
        before = held(count=count)
        operation = Initialize(MARKS, 0, 100, durable(before), before.now)
        assert states(run(before, operation)) == known


def test_row_21_in_progress_that_is_read_is_available() -> None:
    read = StateBatch(0, 0, RecordState.IN_PROGRESS, 1)
    partition = started(DRAFT_RESOLVED, read, config=MARKS)
    assert states(partition) == "0:A1"
    assert durable(partition).state_batches == (read,)


def test_row_22_what_is_not_held_is_not_marked_and_the_other_batches_are() -> None:
    partition = run(
        started(DRAFT_RESOLVED, config=QUEUE),
        fetch("c1", (0, 5)),
        acknowledgement("c1", (1, 1, ACCEPT), (2, 2, REJECT), (3, 3, RELEASE)),
    )
    partition = run(partition, acknowledgement("c1", (4, 4, RELEASE)), answer=LATER)
    assert states(partition) == "0:Q1@c1 1:K1 2:Y1 3:A1 4:A1* 5:Q1@c1"
    singles = tuple(ProgressBatch(offset, offset, 0, 0) for offset in range(6))
    step = apply(partition, MarkInProgress("c1", singles))
    assert step.outcome.marked == (NONE, INVALID, INVALID, INVALID, INVALID, NONE)
    assert states(step.partition) == "0:P1@c1 1:K1 2:Y1 3:A1 4:A1* 5:P1@c1"
