import attrs
import pytest

from model.errors import ErrorCode
from model.guards import Guard
from model.operations import (
    AdvanceLogStart,
    AdvanceTime,
    CompleteWrite,
    FinishDeadLetter,
)
from model.outcome import Answer, Choice
from model.profile import KIP, Profile
from model.ranges import StateBatch
from model.states import RecordState
from spec.partition import SharePartition
from tests.rules.share_partition import (
    apply,
    complete_count,
    durable,
    lag,
    refusal,
    run,
    started,
    states,
)
from tests.spec.worlds import BOTH, SMALL, acknowledgement, fetch, spans, written

REJECT = 3
QUEUE = attrs.evolve(SMALL, dead_letter_queue=True)
LATER, LOST = Answer(ErrorCode.PENDING), Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def archiving(profile: Profile = KIP) -> SharePartition:
    """0 and 1 are ARCHIVING, 2 is acquired."""
    partition = run(started(profile, config=QUEUE), fetch("c1", (0, 2)))
    return run(partition, acknowledgement("c1", (0, 1, REJECT)))


@BOTH
def test_a_dead_letter_blocks_the_start_offset_and_is_lag_until_it_is_archived(
    profile: Profile,
) -> None:
    partition = archiving(profile)
    assert states(partition) == "0-1:Y1 2:Q1@c1"
    assert (partition.window.start_offset, complete_count(partition), lag(partition)) == (0, 0, 100)
    assert durable(partition).state_batches == (StateBatch(0, 1, RecordState.ARCHIVING, 1),)
    step = apply(partition, FinishDeadLetter(spans((0, 1))))
    assert states(step.partition) == "2:Q1@c1"
    assert written(step.outcome.writes[0]) == (0, 2, [(0, 1, 4, 1)])
    assert lag(step.partition) == 98


def test_a_dead_letter_is_archived_whatever_its_write_answers() -> None:
    finish = FinishDeadLetter(spans((1, 1)))
    lost = apply(archiving(), finish, answers=(LOST,))
    assert states(lost.partition) == "0:Y1 1:X1 2:Q1@c1"
    assert lost.outcome.status is ErrorCode.NONE
    assert durable(lost.partition) == durable(archiving())
    later = apply(archiving(), finish, answers=(LATER,))
    assert states(later.partition) == "0:Y1 1:X1 2:Q1@c1"
    step = apply(later.partition, CompleteWrite(later.outcome.writes[0].id, ErrorCode.NONE))
    assert step.outcome.completed == ()
    entries = step.partition.durable.entries
    assert (entries[0], entries[1]) == ((RecordState.ARCHIVING, 1), (RecordState.ARCHIVED, 1))


def test_dead_letters_that_the_start_offset_has_passed_still_write_it() -> None:
    ahead = run(archiving(), AdvanceLogStart(1))
    later = apply(ahead, FinishDeadLetter(spans((0, 0))), answers=(LATER,))
    assert [written(write) for write in later.outcome.writes] == [(1, 0, [])]
    assert later.partition.window == ahead.window
    done = run(later.partition, CompleteWrite(later.outcome.writes[0].id, ErrorCode.NONE))
    assert (durable(ahead).start_offset, durable(done).start_offset) == (0, 1)


@BOTH
def test_a_dead_letter_is_in_the_queue_of_whoever_leads_once_its_write_is_answered(
    profile: Profile,
) -> None:
    none, queued = FinishDeadLetter(()), (Guard.DEAD_LETTER_IS_QUEUED, 1)
    first = run(archiving(profile), AdvanceLogStart(1))
    assert refusal(first, none) == queued
    second = started(profile, StateBatch(1, 1, RecordState.ARCHIVING, 1), config=SMALL)
    assert refusal(second, none) == queued
    another = apply(first, acknowledgement("c1", (2, 2, 1)), answers=(LATER,))
    assert refusal(another.partition, none) == queued
    assert apply(run(first, AdvanceLogStart(2)), none).outcome.writes == ()
    held = run(
        started(profile, config=QUEUE), fetch("c1", (0, 2)), acknowledgement("c1", (0, 2, 2))
    )
    ends = AdvanceTime(QUEUE.record_lock_duration_ms)
    waiting = apply(run(held, fetch("c1", (0, 2))), ends, answers=(LATER,))
    assert states(waiting.partition) == "0-2:Y2"
    nothing = apply(waiting.partition, none)
    assert (nothing.partition, nothing.outcome.writes) == (waiting.partition, ())
    answer = CompleteWrite(waiting.outcome.writes[0].id, ErrorCode.NONE)
    assert refusal(run(waiting.partition, answer), none) == (Guard.DEAD_LETTER_IS_QUEUED, 0)


@pytest.mark.parametrize("status", [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_what_ended_may_be_kept_back_until_its_write_is_answered(status: ErrorCode) -> None:
    kept = Answer(ErrorCode.PENDING, keeps_back=True)
    ended = apply(archiving(), FinishDeadLetter(spans((0, 1))), answers=(kept,)).partition
    expired = apply(ended, AdvanceTime(100), answers=(kept,)).partition
    assert states(expired) == "0-1:X1* 2:A1*"
    assert complete_count(expired) == 2
    assert refusal(expired, fetch("c2", (0, 2)), Choice(acquired=spans((2, 2))))[0] is (
        Guard.NO_ACQUIRE_DURING_WRITE
    )
    done = run(expired, CompleteWrite(1, status), CompleteWrite(2, status))
    assert (states(done), done.window.start_offset, lag(done)) == ("2:A1", 2, 98)
    assert states(run(done, fetch("c2", (2, 2)))) == "2:Q2@c2"
