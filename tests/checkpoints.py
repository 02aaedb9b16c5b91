"""What a leader tells of its whole state, taken from a share-partition of the specification."""

from typing import TYPE_CHECKING

import attrs

from judge.recorded_partition import recorded
from judge.view import snapshot
from model.operations import Checkpoint, LockEnd, OutstandingWrite
from spec.partition import SharePartition

if TYPE_CHECKING:
    from model.ranges import RecordRange


def checkpoint_of(partition: SharePartition) -> Checkpoint:
    """Return a checkpoint that tells nothing of the log but where it begins."""
    state = snapshot(partition)
    records: list[RecordRange] = []
    ends: list[LockEnd] = []
    for r in state.records or ():
        for offset in range(r.first, r.last + 1):
            record = partition.window.records[offset]
            owner, end = record.owner, record.deadline
            if record.pending:
                owner, end = record.former_owner, record.former_deadline
            records.append(attrs.evolve(r, first=offset, last=offset, owner=owner))
            if end is None:
                continue
            first = offset
            if ends and (ends[-1].last, ends[-1].deadline_ms) == (offset - 1, end):
                first = ends.pop().first
            ends.append(LockEnd(first, offset, end))
    return Checkpoint(
        partition.config,
        partition.log.start_offset,
        attrs.evolve(state, records=tuple(records)),
        tuple(ends),
        _outstanding(partition),
        partition.now,
        timed=recorded(partition).timed,
        state_epoch=partition.durable.state_epoch,
        leader_epoch=partition.durable.leader_epoch,
    )


def _outstanding(partition: SharePartition) -> tuple[OutstandingWrite, ...]:
    return tuple(
        OutstandingWrite(
            id_,
            waiting.write.start_offset,
            waiting.write.delivery_complete_count,
            waiting.write.state_batches,
            waiting.seq,
        )
        for id_, waiting in sorted(partition.outstanding.items())
    )
