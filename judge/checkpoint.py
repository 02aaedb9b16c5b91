"""A leader tells its whole state: where a trace begins in the middle, or after events were lost."""

from collections.abc import Iterator
from operator import itemgetter

import attrs
from immutables import Map

from judge.recorded_partition import RecordedPartition
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.guards import Guard
from model.operations import Checkpoint, Gap, OutstandingWrite
from model.outcome import Write
from model.ranges import StateBatch
from model.states import HELD_STATES, TERMINAL_STATES, RecordState
from spec.coordinator import Durable
from spec.log import Log
from spec.partition import Outstanding, SharePartition, Step, require
from spec.record import UNDELIVERED, Record, is_terminal
from spec.window import Window, extend, replace


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
    taken = _adopted(partition, operation)
    _check_durable(taken)
    _check_pending(taken)
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
    deadlines = _deadlines(operation)
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
    same = _entries(recorded.state_batches) == _entries(known.state_batches)
    if not numbered:
        return same
    counted = recorded.delivery_complete_count == known.delivery_complete_count
    is_counted = counted or not recorded.counted
    return same and recorded.start_offset == known.start_offset and is_counted


def _entries(batches: tuple[StateBatch, ...]) -> dict[int, tuple[RecordState, int]]:
    return {
        offset: (batch.state, batch.delivery_count)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
    }


def _deadlines(operation: Checkpoint) -> dict[int, int]:
    ends = operation.deadlines
    return {offset: end.deadline_ms for end in ends for offset in range(end.first, end.last + 1)}


def _adopted(partition: RecordedPartition, operation: Checkpoint) -> RecordedPartition:
    state, limit = operation.state, operation.config.delivery_count_limit
    records = _records(operation)
    window = extend(Window(state.start_offset, state.start_offset), state.end_offset)
    window = replace(window, records)
    counts = (record.delivery_count + 1 for record in records.values())
    ids = (write.id + 1 for write in operation.outstanding)
    return attrs.evolve(
        partition,
        config=operation.config,
        now=operation.time_ms,
        last_event=operation.time_ms if operation.timed else 0,
        timed=operation.timed,
        log=_log(operation, window),
        window=window,
        outstanding=_outstanding(operation, records),
        seen=frozenset(write.id for write in operation.outstanding),
        made_after=Map(),
        next_write=max([partition.next_write, *ids]),
        durable=_durable(partition, operation),
        durable_whole=False,
        ready=True,
        highest_limit=max([partition.highest_limit, limit, *counts]),
        passed_over=(),
        stuck=None,
        doubtful=(),
    )


def _records(operation: Checkpoint) -> dict[int, Record]:
    state, deadlines = operation.state, _deadlines(operation)
    limit, records = operation.config.delivery_count_limit, {}
    for part in state.records or ():
        first, last = max(part.first, state.start_offset), min(part.last, state.end_offset - 1)
        for offset in range(first, last + 1):
            record = Record(part.state, part.delivery_count)
            deadline = None if part.owner is None else deadlines[offset]
            if part.pending:
                exhausted = part.delivery_count >= limit
                record = attrs.evolve(
                    record,
                    pending=True,
                    former_owner=part.owner,
                    former_deadline=deadline,
                    exhausted=exhausted,
                )
            elif part.state in HELD_STATES:
                record = attrs.evolve(record, owner=part.owner, deadline=deadline)
            records[offset] = record
    if state.start_offset < state.end_offset:
        records.setdefault(state.end_offset - 1, UNDELIVERED)
    return records


def _log(operation: Checkpoint, window: Window) -> Log:
    start, end = operation.log_start_offset, operation.log_end_offset
    known = operation.log_known and end is not None
    if end is None:
        end = max(window.end_offset, start)
    stable = end if operation.last_stable_offset is None else operation.last_stable_offset
    holes, place = [], window.start_offset
    for offset in (*sorted(window.records), window.end_offset):
        if place < offset:
            holes.append((place, offset - 1))
        place = offset + 1
    return Log(start, end, tuple(holes), (), stable, known)


def _outstanding(operation: Checkpoint, records: dict[int, Record]) -> Map[int, Outstanding]:
    """Return the writes, each with the records that are pending on it.

    These have the delivery count that it has for them; what is AVAILABLE in it may have vanished.
    """
    waiting = {}
    for recorded in operation.outstanding:
        numbers = recorded.start_offset, recorded.delivery_complete_count
        write = Write(recorded.id, *numbers, recorded.state_batches, ErrorCode.PENDING)
        offsets = tuple(
            offset
            for offset, (_state, count) in _entries(recorded.state_batches).items()
            if (record := records.get(offset)) is not None
            and record.pending
            and record.delivery_count == count
        )
        waiting[recorded.id] = Outstanding(write, offsets, recorded.seq)
    return Map(waiting)


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


def _check_pending(partition: SharePartition) -> None:
    awaited = {o for waiting in partition.outstanding.values() for o in waiting.offsets}
    for offset, record in sorted(partition.window.records.items(), key=itemgetter(0)):
        detail = f"offset {offset} is pending, and no outstanding write is its own"
        require(not record.pending or offset in awaited, Guard.CHECKPOINT_IS_THE_STATE, detail)
