"""What a recording leaves open of a share-partition, and what ends that."""

import attrs
import pytest

from judge.recorded_partition import RecordedPartition, in_doubt, recorded
from judge.recorder import apply_recorded
from model.errors import ErrorCode
from model.operations import CompleteWrite, Initialize, Operation, Produce, ResetOffset
from model.outcome import Answer, Choice, Write
from model.profile import KAFKA
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from spec.coordinator import Durable
from spec.partition import new_partition
from tests.spec.worlds import SMALL, acknowledgement, fetch

ACCEPTED = Write(4, 0, 0, (StateBatch(2, 2, RecordState.ACKNOWLEDGED, 1),))
PENDING, FAILED = ErrorCode.PENDING, ErrorCode.NOT_COORDINATOR


def begin(epoch: int) -> Initialize:
    return Initialize(SMALL, 0, 100, DurableState(0, 0, (), 0, epoch))


def after(
    partition: RecordedPartition, operation: Operation, *answers: Answer, seq: int = 0
) -> RecordedPartition:
    return recorded(apply_recorded(partition, operation, Choice(), answers, seq).partition)


def sent(status: ErrorCode = PENDING, *, seen: bool = True, later: int | None = None) -> Answer:
    written = attrs.evolve(ACCEPTED, status=status) if seen else None
    return Answer(status, 4, made_after=later, written=written)


def accepting(answer: Answer) -> RecordedPartition:
    """A leader of epoch 1 where c1 has accepted offset 2, and the write of it is answered so."""
    partition = after(recorded(new_partition(KAFKA)), begin(1))
    partition = after(partition, fetch("c1", (0, 4)))
    return after(partition, acknowledgement("c1", (2, 2, 1)), answer, seq=7)


def test_a_recorded_share_partition_stays_one() -> None:
    bare = new_partition(KAFKA)
    assert recorded(bare) == RecordedPartition(KAFKA)
    partition = attrs.evolve(accepting(sent()), timed=True, last_event=9)
    assert recorded(partition) is partition
    grown = after(partition, Produce((), 200))
    assert (grown.log.end_offset, grown.timed, grown.seen) == (200, True, frozenset({4}))


def test_a_write_that_was_seen_and_failed_may_be_durable() -> None:
    waiting = accepting(sent())
    assert (waiting.seen, waiting.doubtful) == (frozenset({4}), ())
    told = in_doubt(Durable(), (ACCEPTED,), KAFKA)
    for partition in (accepting(sent(FAILED)), after(waiting, CompleteWrite(4, FAILED))):
        assert (partition.seen, partition.doubtful) == (frozenset(), told)
        assert partition.durable.entries.get(2) is None


@pytest.mark.parametrize("seen", [True, False])
def test_of_a_write_with_a_good_answer_or_unseen_nothing_is_in_doubt(seen: bool) -> None:  # noqa: FBT001 - a case
    status = ErrorCode.NONE if seen else FAILED
    assert accepting(sent(status, seen=seen)).doubtful == ()
    assert after(accepting(sent(seen=seen)), CompleteWrite(4, status)).doubtful == ()


@pytest.mark.parametrize("seen", [True, False])
def test_of_a_write_whose_answer_was_overtaken_durability_is_in_doubt(seen: bool) -> None:  # noqa: FBT001 - a case
    waiting = accepting(sent(seen=seen))
    answered = after(waiting, CompleteWrite(4, ErrorCode.NONE, overtaken=True))
    assert (answered.seen, len(answered.doubtful)) == (frozenset(), 1)
    assert answered.durable == waiting.durable
    assert answered.window == after(waiting, CompleteWrite(4, ErrorCode.NONE)).window


def test_an_unseen_write_that_failed_adds_no_doubt_to_what_there_is() -> None:
    doubtful = in_doubt(Durable(), (Write(0, 3, 0),), KAFKA)
    waiting = attrs.evolve(accepting(sent(seen=False)), doubtful=doubtful)
    assert after(waiting, CompleteWrite(4, FAILED)).doubtful == doubtful


def test_doubt_ends_once_as_much_is_durable() -> None:
    partition = accepting(sent(FAILED))
    again = after(partition, acknowledgement("c1", (2, 2, 1)), Answer(ErrorCode.NONE, 5))
    assert again.durable.entries[2] == (RecordState.ACKNOWLEDGED, 1)
    assert again.doubtful == ()


def test_what_a_leader_has_sent_outlasts_it_in_its_own_epoch_alone() -> None:
    partition = accepting(sent())
    same, next_one = (after(partition, begin(epoch)) for epoch in (1, 2))
    assert [len(each.doubtful) for each in (same, next_one)] == [1, 0]
    assert same.seen == next_one.seen == frozenset()


def test_an_altered_start_offset_leaves_nothing_in_doubt() -> None:
    waits = Answer(PENDING, 9, written=Write(9, 0, 0))
    begun = after(recorded(new_partition(KAFKA)), begin(1))
    partition = after(attrs.evolve(begun, doubtful=(ACCEPTED,)), Produce((), 100), waits)
    assert partition.seen == {9}
    reset = after(partition, ResetOffset(50))
    assert (reset.seen, reset.doubtful, set(reset.outstanding)) == (frozenset(), (), {9})


def test_a_write_takes_its_numbers_after_the_operation_that_it_names() -> None:
    partition = accepting(sent(later=8))
    assert dict(partition.made_after) == {4: 8}
    assert dict(after(partition, Produce((), 100), seq=8).made_after) == {}
