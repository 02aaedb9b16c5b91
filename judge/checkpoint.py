"""A leader tells its whole state: where a trace begins in the middle, or after events were lost."""

from collections.abc import Iterator

import attrs

from judge.recorded_partition import RecordedPartition
from judge.whole_state import partition_of, whole_state
from model.checkpoint import deadlines_of, entries_of, state_told
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import InvalidValueError
from model.guards import Guard
from model.operations import Checkpoint, Gap, OutstandingWrite
from model.outcome import Write
from model.states import TERMINAL_STATES
from spec.coordinator import Durable
from spec.partition import SharePartition, Step, require
from spec.record import is_terminal


def take_checkpoint(partition: RecordedPartition, operation: Checkpoint) -> Step:
    """Compare what a leader tells of its state, or take it over where nothing else is known.

    Guard: the events before lead to this state. Where events are missing, what was durable before
    still holds: the start offset is not below the durable one, and what was finished is finished;
    a pending record waits for one of the outstanding writes.
    Effect: none where the events before are known; else the share-partition is as it says. Offsets
    of the window without a record hold none, but for the last, which was never delivered, as a
    window ends with a record. Of the log below nothing is known.
    Delivery count: as it says.
    Persistence: none; what is durable beyond what was known before is not known.
    """
    if partition.profile.in_progress:
        allowed = "an operation of a profile without IN_PROGRESS"
        raise InvalidValueError("operation", "checkpoint", allowed)
    if partition.ready:
        wrong = next(_differences(partition, operation), None)
        require(wrong is None, Guard.CHECKPOINT_IS_THE_STATE, f"it differs in {wrong}")
        return Step(partition)
    known = attrs.evolve(partition, durable=_durable(partition, operation))
    taken = partition_of(state_told(operation, whole_state(known)), partition.profile)
    _check_durable(taken)
    _check_pending(operation)
    return Step(taken)


def lose_events(partition: RecordedPartition, _operation: Gap) -> Step:
    """Forget the state: events are missing.

    Guard: none.
    Effect: the share-partition is not known until a leader tells its state or takes over.
    Delivery count: not known.
    Persistence: what was durable stays so; more may be.
    """
    return Step(attrs.evolve(partition, ready=False, durable_whole=False))


def _differences(partition: RecordedPartition, operation: Checkpoint) -> Iterator[str]:
    if _in_effect(operation.config) != _in_effect(partition.config):
        yield f"the configuration, {partition.config}"
    if operation.timed != partition.timed:
        yield "whether its clock is a real one"
    deadlines = deadlines_of(operation)
    for offset in sorted(partition.window.held):
        deadline = partition.window.records[offset].deadline
        latest = deadline + partition.profile.sweep_ms
        if not deadline <= deadlines.get(offset, -1) <= latest:
            yield f"the deadline of offset {offset}, {deadline}"
    if {write.id for write in operation.outstanding} != set(partition.outstanding):
        yield f"the outstanding writes, {sorted(partition.outstanding)}"
    for write in operation.outstanding:
        known = partition.outstanding[write.id].write
        if not _is_write(write, known, numbered=write.id not in partition.made_after):
            yield f"write {write.id}, {known}"


def _in_effect(config: SharePartitionConfig) -> tuple[int | bool | IsolationLevel, ...]:
    """Return the settings that matter to a leader that has begun, where nothing is IN_PROGRESS."""
    return (
        config.delivery_count_limit,
        config.partition_max_record_locks,
        config.record_lock_duration_ms,
        config.isolation_level,
        config.renew_acknowledge_enable,
        config.dead_letter_queue,
    )


def _is_write(recorded: OutstandingWrite, known: Write, *, numbered: bool) -> bool:
    """Whether a write is the one that is outstanding, by offset; its numbers once it has them."""
    same = entries_of(recorded.state_batches) == entries_of(known.state_batches)
    if not numbered:
        return same
    counted = recorded.delivery_complete_count == known.delivery_complete_count
    is_counted = counted or not recorded.counted
    return same and recorded.start_offset == known.start_offset and is_counted


def _durable(partition: SharePartition, operation: Checkpoint) -> Durable:
    """Return what is known to be durable: nothing once the share-partition was reset."""
    known = partition.durable
    if operation.state_epoch != known.state_epoch:
        known = Durable(state_epoch=operation.state_epoch)
    return attrs.evolve(known, leader_epoch=operation.leader_epoch)


def _check_durable(partition: SharePartition) -> None:
    window, durable = partition.window, partition.durable
    start = window.start_offset
    detail = f"to {start}, where {durable.start_offset} is durable"
    require(start >= durable.start_offset, Guard.START_NEVER_GOES_BACK, detail)
    for offset, (state, _count) in sorted(durable.entries.items()):
        if offset >= start and state in TERMINAL_STATES:
            record = window.records.get(offset)
            still = record is not None and is_terminal(record)
            detail = f"offset {offset} was durable as {state.name}"
            require(still, Guard.CHECKPOINT_IS_THE_STATE, detail)


def _check_pending(operation: Checkpoint) -> None:
    start, end = operation.state.start_offset, operation.state.end_offset
    named = {
        (offset, count)
        for write in operation.outstanding
        for offset, (_state, count) in entries_of(write.state_batches).items()
    }
    for record in operation.state.records or ():
        inside = range(max(record.first, start), min(record.last + 1, end))
        for offset in inside if record.pending else ():
            detail = f"offset {offset} is pending, and no outstanding write is its own"
            own = (offset, record.delivery_count) in named
            require(own, Guard.CHECKPOINT_IS_THE_STATE, detail)
