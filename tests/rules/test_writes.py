import attrs
import pytest

from judge.recorded_partition import recorded
from model.errors import ErrorCode, InvalidValueError
from model.operations import (
    AdvanceTime,
    CompleteWrite,
    MemberLeaves,
    Operation,
    Produce,
)
from model.outcome import Answer, Choice, Completion, Composed, Write
from model.profile import KIP, Profile
from model.states import RecordState
from spec.partition import SharePartition, Step
from spec.record import Record
from spec.writes import make_write
from tests.rules.share_partition import apply, durable, run, started, states
from tests.spec.worlds import BOTH, SMALL, acknowledgement, fetch, written

NONE, LOST = ErrorCode.NONE, ErrorCode.NOT_COORDINATOR
PENDING = Answer(ErrorCode.PENDING)


def waiting(
    *operations: Operation, profile: Profile = KIP, partition: SharePartition | None = None
) -> SharePartition:
    """c1 holds 0 to 2 until 100; the operations follow, with writes that are not answered yet."""
    partition = partition or run(started(profile), fetch("c1", (0, 2)))
    for seq, operation in enumerate(operations, 10):
        partition = apply(partition, operation, answers=[PENDING], seq=seq).partition
    return partition


def complete(partition: SharePartition, id_: int, status: ErrorCode) -> Step:
    return apply(partition, CompleteWrite(id_, status))


@BOTH
def test_without_a_dead_letter_queue_the_bytes_0_2_and_4_are_written(profile: Profile) -> None:
    config = attrs.evolve(SMALL, delivery_count_limit=2)
    partition = run(started(profile, config=config), fetch("c1", (0, 4)))
    last = run(partition, MemberLeaves("c1"), fetch("c1", (0, 4), at=0))
    ends: list[Operation] = [acknowledgement("c1", (0, 4, kind)) for kind in range(4)]
    ends += [MemberLeaves("c1"), AdvanceTime(SMALL.record_lock_duration_ms)]
    shown = set()
    for before in (partition, last):
        for end in ends:
            (write,) = apply(before, end).outcome.writes
            shown |= {int(batch.state) for batch in write.state_batches}
    assert shown == {0, 2, 4}


@pytest.mark.parametrize(("status", "shown"), [(NONE, "1:A1 2:Q1@c1"), (LOST, "0-2:Q1@c1")])
def test_an_answer_completes_the_call_that_waits_for_it(status: ErrorCode, shown: str) -> None:
    step = complete(waiting(acknowledgement("c1", (0, 1, 1, 2))), 0, status)
    assert (step.outcome.status, step.outcome.writes) == (status, ())
    assert step.outcome.completed == (Completion(10, status),)
    assert states(step.partition) == shown


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_rolling_back_after_the_deadline_at_the_limit_archives(kind: int) -> None:
    released = run(started(), fetch("c1", (0, 2)), acknowledgement("c1", (0, 2, 2)))
    partition = run(released, fetch("c1", (0, 2)))
    partition = waiting(acknowledgement("c1", (1, 1, kind)), partition=partition)
    partition = run(partition, AdvanceTime(100))
    step = apply(partition, CompleteWrite(1, LOST), Choice(start_offset=1))
    assert states(step.partition) == "1-2:X2"
    assert step.outcome.writes == ()


@pytest.mark.parametrize("status", [NONE, LOST])
def test_a_record_that_vanished_meanwhile_stays_archived(status: ErrorCode) -> None:
    partition = waiting(acknowledgement("c1", (1, 1, 2)))
    partition = run(partition, fetch("c2", (3, 4), at=1))
    assert states(partition) == "0:Q1@c1 1:X1* 2:Q1@c1 3-4:Q1@c2"
    assert states(complete(partition, 0, status).partition) == ("0:Q1@c1 1:X1 2:Q1@c1 3-4:Q1@c2")


def test_an_expiry_whose_write_fails_at_once_holds_and_is_not_durable() -> None:
    step = apply(run(started(), fetch("c1", (0, 2))), AdvanceTime(100), answers=[Answer(LOST)])
    assert states(step.partition) == "0-2:A1"
    assert durable(step.partition).state_batches == ()
    assert [write.status for write in step.outcome.writes] == [LOST]


def test_the_number_of_an_outstanding_write_is_not_given_to_another() -> None:
    partition = waiting(acknowledgement("c1", (0, 0, 1)))
    same = [Answer(ErrorCode.PENDING, 0)]
    with pytest.raises(InvalidValueError, match=r"writes.id is 0; allowed: an id that no outst"):
        apply(partition, acknowledgement("c1", (1, 1, 1)), answers=same)


def test_a_write_that_is_answered_at_once_may_have_any_number() -> None:
    partition = waiting(acknowledgement("c1", (0, 0, 1)))
    step = apply(partition, acknowledgement("c1", (1, 1, 1)), answers=[Answer(NONE, 0)])
    assert [write.id for write in step.outcome.writes] == [0]
    assert set(step.partition.outstanding) == {0}


def test_a_write_reports_each_range_of_equal_records_from_the_start_offset_of_the_moment() -> None:
    done = Record(RecordState.ACKNOWLEDGED, 1)
    changed = {5: done, 3: done, 2: done, 4: attrs.evolve(done, delivery_count=2)}
    partition, write = make_write(started(), changed, Answer(LOST, 4))
    assert written(write) == (0, 4, [(2, 3, 2, 1), (4, 4, 2, 2), (5, 5, 2, 1)])
    assert (write.id, write.status, partition.next_write) == (4, LOST, 5)


def later(moment: int, id_: int = 4) -> list[Answer]:
    return [Answer(ErrorCode.PENDING, id_, made_after=moment)]


def test_a_write_tells_the_state_of_the_moment_when_it_was_made() -> None:
    partition = run(started(), fetch("c1", (0, 9)))
    step = apply(partition, acknowledgement("c1", (5, 5, 1)), answers=later(2), seq=1)
    assert step.outcome.composed == ()
    step = apply(step.partition, acknowledgement("c1", (0, 1, 1)), seq=2)
    assert step.outcome.composed == (Composed(4, 2, 1),)
    step = apply(step.partition, AdvanceTime(1), seq=3)
    assert step.outcome.composed == ()
    done = complete(step.partition, 4, ErrorCode.NONE).partition
    state = durable(done)
    assert (state.start_offset, state.delivery_complete_count) == (2, 1)


def test_a_write_besides_has_a_number_of_its_own() -> None:
    waits = Answer(ErrorCode.PENDING, 7, written=Write(7, 0, 0))
    partition = apply(started(), Produce((), 100), answers=(waits,)).partition
    assert recorded(partition).seen == {7}
    with pytest.raises(InvalidValueError, match=r"writes.id is 7"):
        apply(partition, Produce((), 100), answers=(waits,))
