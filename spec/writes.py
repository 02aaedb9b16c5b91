"""Writes to the share coordinator, in two phases (KIP-932, Managing durable share-partition state).

A change is written; until the answer comes it is pending, and then it is committed or rolled back.
"""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from model.errors import ErrorCode, InvalidValueError
from model.guards import Guard
from model.operations import CompleteWrite
from model.outcome import Answer, Completion, Composed, Outcome, Write
from model.ranges import OffsetRange
from model.states import RecordState
from spec.coordinator import coalesce, in_doubt, merge
from spec.partition import Outstanding, SharePartition, Step, complete_count, require
from spec.record import Record, commit, failed_state, roll_back
from spec.window import replace


def make_write(
    partition: SharePartition, changed: Mapping[int, Record], answer: Answer
) -> tuple[SharePartition, Write]:
    """Return the write that reports the changed records, which the window already shows.

    It carries the start offset and the delivery complete count of this moment, before the start
    offset moves because of it (KIP-1226, Persistence), and one batch for each range of equal state.
    """
    entries = ((o, (RecordState(r.state), r.delivery_count)) for o, r in sorted(changed.items()))
    id_ = partition.next_write if answer.id is None else answer.id
    if answer.status is ErrorCode.PENDING and id_ in partition.outstanding:
        raise InvalidValueError("writes.id", id_, "an id that no outstanding write has")
    write = Write(
        id_,
        partition.window.start_offset,
        complete_count(partition),
        coalesce(entries),
        answer.status,
    )
    next_write = max(partition.next_write, id_ + 1)
    return attrs.evolve(partition, next_write=next_write), write


def write_and_wait(
    partition: SharePartition, changed: Mapping[int, Record], answer: Answer, seq: int
) -> Step:
    """Apply changes that hold only if their write succeeds: acknowledgements and releases.

    Guard: as the record's rule says.
    Effect: others see the new states, pending. The answer commits or undoes them, now or later.
    Delivery count: unchanged.
    Persistence: one write with all the changes; one that was seen keeps the form that it had.
    """
    partition = attrs.evolve(partition, window=replace(partition.window, changed))
    partition, write = make_write(partition, changed, answer)
    waiting = attrs.evolve(_sent(write, answer), offsets=tuple(changed), seq=seq)
    if answer.status is ErrorCode.PENDING:
        outstanding = partition.outstanding.set(write.id, waiting)
        partition = attrs.evolve(partition, outstanding=outstanding)
    else:
        partition = _settle(partition, waiting, answer.status)
    return Step(partition, Outcome(answer.status, writes=(write,)))


def write_and_forget(
    partition: SharePartition, changed: Mapping[int, Record], answer: Answer
) -> tuple[SharePartition, Write]:
    """Apply changes that hold whatever becomes of their write: lock expiries, dead letters.

    Guard: as the record's rule says.
    Effect: at once and final. An implementation may keep the records back, pending, until the write
    is answered: then the change stands, whatever the answer.
    Delivery count: unchanged.
    Persistence: one write; it is durable only if it succeeds.
    """
    kept = tuple(changed) if answer.status is ErrorCode.PENDING and answer.keeps_back else ()
    changed = {o: attrs.evolve(r, pending=True) for o, r in changed.items()} if kept else changed
    partition = attrs.evolve(partition, window=replace(partition.window, changed))
    partition, write = make_write(partition, changed, answer)
    return _send(partition, attrs.evolve(_sent(write, answer), offsets=kept)), write


def write_besides(partition: SharePartition, answers: Iterable[Answer]) -> SharePartition:
    """Take note of writes that were seen, beside those that the operation has to make.

    Guard: none here; that they tell nothing but the truth is for those who saw them to check.
    Effect: none on the records.
    Delivery count: unchanged.
    Persistence: what they wrote may be durable, and is once they succeed.
    """
    for answer in answers:
        if answer.written is not None:
            write = attrs.evolve(answer.written, status=answer.status)
            partition = attrs.evolve(partition, next_write=max(partition.next_write, write.id + 1))
            partition = _send(partition, Outstanding(write, seen=True))
    return partition


def _sent(write: Write, answer: Answer) -> Outstanding:
    """Return a write on its way to the coordinator, in the form in which it was seen, if it was."""
    seen = answer.written
    if seen is None:
        return Outstanding(write, made_after=answer.made_after)
    if seen.counted and answer.made_after is None:
        write = attrs.evolve(write, delivery_complete_count=seen.delivery_complete_count)
    if answer.made_after is None:
        write = attrs.evolve(write, start_offset=seen.start_offset)
    write = attrs.evolve(write, state_batches=seen.state_batches)
    return Outstanding(write, made_after=answer.made_after, seen=True)


def _send(partition: SharePartition, waiting: Outstanding) -> SharePartition:
    """Let the coordinator have a write that takes no change back."""
    id_, status = waiting.write.id, waiting.write.status
    if status is not ErrorCode.PENDING:
        return _settle(partition, waiting, status)
    if id_ in partition.outstanding:
        raise InvalidValueError("writes.id", id_, "an id that no outstanding write has")
    return attrs.evolve(partition, outstanding=partition.outstanding.set(id_, waiting))


def complete_write(partition: SharePartition, operation: CompleteWrite) -> Step:
    """Answer an outstanding write, in whatever order answers come.

    Guard: the write is outstanding, and has been made. Only where the clock is a real one can a
    record be held although its lock is over: a timer that is a little late releases it then.
    Effect: its records are committed, or rolled back; its caller is answered.
    Delivery count: unchanged.
    Persistence: a write that succeeded is merged into the durable state now. One that was seen and
    failed may be durable all the same, since the answer follows the write (decision 147).
    """
    outstanding = operation.id in partition.outstanding
    require(outstanding, Guard.WRITE_IS_OUTSTANDING, f"write {operation.id} is not")
    waiting = partition.outstanding[operation.id]
    detail = f"write {operation.id} is made after event {waiting.made_after}"
    require(waiting.made_after is None, Guard.WRITE_IS_OUTSTANDING, detail)
    detail = f"{operation.held}, and a virtual clock ends each lock that is over"
    require(partition.timed or not operation.held, Guard.LOCK_ENDS_ON_TIME, detail)
    others = partition.outstanding.delete(operation.id)
    partition = attrs.evolve(partition, outstanding=others)
    partition = _settle(partition, waiting, operation.status, operation.held)
    completed = () if waiting.seq is None else (Completion(waiting.seq, operation.status),)
    return Step(partition, Outcome(operation.status, completed=completed))


def compose(partition: SharePartition, seq: int) -> tuple[SharePartition, tuple[Composed, ...]]:
    """Let outstanding writes take their numbers that are made after the operation ``seq``.

    Guard: none.
    Effect: none on the records. A leader may let go of the share-partition between a change and
    the write that reports it: then the write tells what other operations did meanwhile.
    Delivery count: unchanged.
    Persistence: the start offset and the delivery complete count of now are what such a write has.
    """
    numbers = partition.window.start_offset, complete_count(partition)
    due = sorted(id_ for id_, each in partition.outstanding.items() if each.made_after == seq)
    outstanding = partition.outstanding
    for id_ in due:
        waiting = outstanding[id_]
        write = attrs.evolve(
            waiting.write, start_offset=numbers[0], delivery_complete_count=numbers[1]
        )
        outstanding = outstanding.set(id_, attrs.evolve(waiting, write=write, made_after=None))
    partition = attrs.evolve(partition, outstanding=outstanding) if due else partition
    return partition, tuple(Composed(id_, *numbers) for id_ in due)


def _settle(
    partition: SharePartition,
    waiting: Outstanding,
    status: ErrorCode,
    held: Sequence[OffsetRange] = (),
) -> SharePartition:
    records = partition.window.records
    tracked = {offset: records[offset] for offset in waiting.offsets if offset in records}
    durable, doubtful = partition.durable, partition.doubtful
    if status is ErrorCode.NONE:
        settled = {offset: commit(record) for offset, record in tracked.items()}
        durable = merge(durable, waiting.write, partition.profile)
        doubtful = doubtful and in_doubt(durable, doubtful, partition.profile)
    else:
        now, failed = partition.now, failed_state(partition.config.dead_letter_queue)
        settled = {
            offset: roll_back(record, now, failed, _is_in(offset, held))
            for offset, record in tracked.items()
        }
        if waiting.seen:  # An error proves nothing: the answer follows the write.
            doubtful = in_doubt(durable, (*doubtful, waiting.write), partition.profile)
    window = replace(partition.window, settled)
    return attrs.evolve(partition, window=window, durable=durable, doubtful=doubtful)


def _is_in(offset: int, ranges: Sequence[OffsetRange]) -> bool:
    return any(part.first <= offset <= part.last for part in ranges)
