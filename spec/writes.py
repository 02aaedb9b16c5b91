"""Writes to the share coordinator, in two phases (KIP-932, Managing durable share-partition state).

A change is written; until the answer comes it is pending, and then it is committed or rolled back.
"""

from collections.abc import Mapping

import attrs

from model.errors import ErrorCode, InvalidValueError
from model.guards import Guard
from model.operations import CompleteWrite
from model.outcome import Answer, Completion, Outcome, Write
from model.states import RecordState
from spec.coordinator import coalesce, merge
from spec.partition import Outstanding, SharePartition, Step, complete_count, require
from spec.record import Record, commit, failed_state, roll_back
from spec.window import replace


def make_write(
    partition: SharePartition, changed: Mapping[int, Record], answer: Answer
) -> tuple[SharePartition, Write]:
    """Return the share-partition with the changed records, and the write that reports them.

    It carries the start offset and the delivery complete count of this moment, before the start
    offset moves because of it (KIP-1226, Persistence), and one batch for each range of equal state.
    """
    entries = ((o, (RecordState(r.state), r.delivery_count)) for o, r in sorted(changed.items()))
    id_ = partition.next_write if answer.id is None else answer.id
    if answer.status is ErrorCode.PENDING:
        _check_free(partition, id_)
    window, next_write = replace(partition.window, changed), max(partition.next_write, id_ + 1)
    partition = attrs.evolve(partition, window=window, next_write=next_write)
    numbers = window.start_offset, complete_count(partition)
    return partition, Write(id_, *numbers, coalesce(entries), answer.status)


def write_and_wait(
    partition: SharePartition, changed: Mapping[int, Record], answer: Answer, seq: int
) -> Step:
    """Apply changes that hold only if their write succeeds: acknowledgements and releases.

    Guard: as the record's rule says.
    Effect: others see the new states, pending. The answer commits or undoes them, now or later.
    Delivery count: unchanged.
    Persistence: one write with all the changes; one that was seen keeps the form that it had.
    """
    partition, write = make_write(partition, changed, answer)
    sent = Outstanding(as_written(write, answer), tuple(changed), seq)
    return Step(send(partition, sent, answer.status), Outcome(answer.status, writes=(write,)))


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
    partition, write = make_write(partition, changed, answer)
    sent = Outstanding(as_written(write, answer), kept)
    return send(partition, sent, answer.status), write


def as_written(write: Write, answer: Answer) -> Write:
    """Return the write in the form that an implementation chose, if that was seen.

    A write that has still to take its numbers has those of this moment until then.
    """
    seen = answer.written
    if seen is None:
        return write
    start, count = write.start_offset, write.delivery_complete_count
    if answer.made_after is None:
        start, count = seen.start_offset, seen.delivery_complete_count if seen.counted else count
    batches = seen.state_batches
    return attrs.evolve(
        write, start_offset=start, delivery_complete_count=count, state_batches=batches
    )


def send(partition: SharePartition, sent: Outstanding, status: ErrorCode) -> SharePartition:
    """Let the coordinator have a write, and answer it, or not yet."""
    if status is not ErrorCode.PENDING:
        return _settle(partition, sent, status)
    _check_free(partition, sent.write.id)
    return attrs.evolve(partition, outstanding=partition.outstanding.set(sent.write.id, sent))


def _check_free(partition: SharePartition, id_: int) -> None:
    if id_ in partition.outstanding:
        raise InvalidValueError("writes.id", id_, "an id that no outstanding write has")


def complete_write(partition: SharePartition, operation: CompleteWrite) -> Step:
    """Answer an outstanding write, in whatever order answers come.

    Guard: the write is outstanding.
    Effect: its records are committed, or rolled back; its caller is answered.
    Delivery count: unchanged.
    Persistence: a write that succeeded is merged into the durable state now.
    """
    outstanding = operation.id in partition.outstanding
    require(outstanding, Guard.WRITE_IS_OUTSTANDING, f"write {operation.id} is not")
    sent = partition.outstanding[operation.id]
    others = partition.outstanding.delete(operation.id)
    partition = _settle(attrs.evolve(partition, outstanding=others), sent, operation.status)
    completed = () if sent.seq is None else (Completion(sent.seq, operation.status),)
    return Step(partition, Outcome(operation.status, completed=completed))


def _settle(partition: SharePartition, sent: Outstanding, status: ErrorCode) -> SharePartition:
    records = partition.window.records
    awaited = {offset: records[offset] for offset in sent.offsets if offset in records}
    durable = partition.durable
    if status is ErrorCode.NONE:
        settled = {offset: commit(record) for offset, record in awaited.items()}
        durable = merge(durable, sent.write, partition.profile)
    else:
        now, failed = partition.now, failed_state(partition.config.dead_letter_queue)
        settled = {offset: roll_back(record, now, failed) for offset, record in awaited.items()}
    return attrs.evolve(partition, window=replace(partition.window, settled), durable=durable)
