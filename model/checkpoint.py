"""A checkpoint as the whole state that it tells (``model.whole_state``), or beside the one known.

Nothing here is a rule of share groups: what a leader tells of its state is the state, or it is not.
"""

from collections.abc import Iterator

import attrs

from model.config import IsolationLevel, SharePartitionConfig
from model.operations import Checkpoint, OutstandingWrite
from model.ranges import StateBatch, runs
from model.snapshot import DurableState
from model.states import HELD_STATES, TERMINAL_STATES, RecordState
from model.whole_state import LogState, RecordsInFlight, WholeState, WriteInFlight


def differences(operation: Checkpoint, known: WholeState, sweep_ms: int) -> Iterator[str]:
    """Yield in what a checkpoint differs from the state that is known, but for its window.

    A timer may end a lock ``sweep_ms`` after its deadline.
    """
    if _in_effect(operation.config) != _in_effect(known.config):
        yield f"the configuration, {known.config}"
    if operation.timed != known.timed:
        yield "whether its clock is a real one"
    deadlines = _deadlines_of(operation)
    for held in known.records:
        if held.last_ms is not None and held.write is None:
            ends = range(held.last_ms + 1, held.last_ms + sweep_ms + 2)
            for offset in range(held.first, held.last + 1):
                if deadlines.get(offset, -1) not in ends:
                    yield f"the deadline of offset {offset}, {ends.start}"
    told = {write.id: write for write in operation.outstanding}
    if told.keys() != {write.id for write in known.writes}:
        yield f"the outstanding writes, {[write.id for write in known.writes]}"
    for write in known.writes:
        if write.id in told and not _is_write(told[write.id], write):
            yield f"write {write.id}, {write}"


def not_durable(operation: Checkpoint, durable: DurableState) -> Iterator[tuple[int, RecordState]]:
    """Yield the offsets that were durable as finished, and that a checkpoint has otherwise."""
    taken = operation.state
    finished = {
        offset
        for record in taken.records or ()
        if record.state in TERMINAL_STATES
        for offset in range(record.first, min(record.last, taken.end_offset - 1) + 1)
    }
    for offset, (state, _count) in _entries_of(durable.state_batches).items():
        if offset >= taken.start_offset and state in TERMINAL_STATES and offset not in finished:
            yield offset, state


def without_write(operation: Checkpoint) -> Iterator[int]:
    """Yield the pending offsets of a checkpoint that none of its outstanding writes has."""
    taken, awaited = operation.state, _awaited(operation)
    for record in taken.records or ():
        inside = range(
            max(record.first, taken.start_offset), min(record.last + 1, taken.end_offset)
        )
        for offset in inside if record.pending else ():
            if (offset, record.delivery_count) not in awaited:
                yield offset


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


def _is_write(told: OutstandingWrite, known: WriteInFlight) -> bool:
    """Whether a write is the one that is outstanding, by offset; its numbers once it has them."""
    if _entries_of(told.state_batches) != _entries_of(known.state_batches):
        return False
    if known.made_after is not None:
        return True
    counted = told.delivery_complete_count == known.delivery_complete_count or not told.counted
    return told.start_offset == known.start_offset and counted


def _deadlines_of(operation: Checkpoint) -> dict[int, int]:
    """Return when the lock of each offset ends that is or was held (ms)."""
    ends = operation.deadlines
    return {offset: end.deadline_ms for end in ends for offset in range(end.first, end.last + 1)}


def _entries_of(batches: tuple[StateBatch, ...]) -> dict[int, tuple[RecordState, int]]:
    """Return state and delivery count of each offset that a write tells of."""
    return {
        offset: (batch.state, batch.delivery_count)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
    }


def state_told(operation: Checkpoint, before: WholeState, seq: int) -> WholeState:
    """Return the state that a checkpoint tells, where nothing but ``before.durable`` is known.

    ``seq`` is that of the checkpoint: a write without one was made before by whoever it was.
    Offsets of the window without a record hold none, but for the last, which was never delivered,
    as a window ends with a record. Of the log below nothing is known.
    """
    taken, outstanding = operation.state, operation.outstanding
    records = tuple(
        attrs.evolve(record, first=first, last=last)
        for first, last, record in runs(_records(operation))
    )
    limits = operation.config.delivery_count_limit, *(r.delivery_count + 1 for r in records)
    return attrs.evolve(
        before,
        config=operation.config,
        now=operation.time_ms,
        timed=operation.timed,
        last_event=operation.time_ms if operation.timed else 0,
        ready=True,
        start_offset=taken.start_offset,
        end_offset=taken.end_offset,
        records=records,
        log=_log(operation, records),
        writes=tuple(_write(write, seq) for write in outstanding),
        next_write=max([before.next_write, *(write.id + 1 for write in outstanding)]),
        durable_whole=False,
        highest_limit=max(before.highest_limit, *limits),
        waiting=(),
        stuck=None,
        doubtful=(),
    )


def _write(write: OutstandingWrite, seq: int) -> WriteInFlight:
    batches = tuple(sorted(write.state_batches, key=lambda batch: batch.first))
    numbers = write.start_offset, write.delivery_complete_count
    told_at = seq if write.seq is None else None
    return WriteInFlight(write.id, *numbers, batches, write.seq, seen=True, told_at=told_at)


def _awaited(operation: Checkpoint) -> dict[tuple[int, int], int]:
    """Return which outstanding write has each offset with its delivery count."""
    return {
        (offset, count): write.id
        for write in operation.outstanding
        for offset, (_state, count) in _entries_of(write.state_batches).items()
    }


def _records(operation: Checkpoint) -> Iterator[tuple[int, RecordsInFlight]]:
    """Yield each record of the window; a pending one awaits the write that has its count."""
    limit, taken = operation.config.delivery_count_limit, operation.state
    deadlines, awaited = _deadlines_of(operation), _awaited(operation)
    offset, last = taken.start_offset - 1, taken.end_offset - 1
    for r in taken.records or ():
        held = r.owner is not None and (r.pending or r.state in HELD_STATES)
        for offset in range(max(r.first, taken.start_offset), min(r.last, last) + 1):
            yield (
                offset,
                RecordsInFlight(
                    0,
                    0,
                    r.state,
                    r.delivery_count,
                    r.owner if held else None,
                    deadlines[offset] - 1 if held else None,
                    awaited.get((offset, r.delivery_count)) if r.pending else None,
                    r.pending and held and r.delivery_count >= limit,
                ),
            )
    if offset < last:
        yield last, RecordsInFlight(0, 0, RecordState.AVAILABLE, 0)


def _log(operation: Checkpoint, records: tuple[RecordsInFlight, ...]) -> LogState:
    """Return the extent of the log; where the window has no record, the log has none."""
    taken, end = operation.state, operation.log_end_offset
    known = operation.log_known and end is not None
    end = max(taken.end_offset, operation.log_start_offset) if end is None else end
    stable = operation.last_stable_offset
    firsts = (*(r.first for r in records), taken.end_offset)
    afters = (taken.start_offset, *(r.last + 1 for r in records))
    holes = tuple((a, f - 1) for a, f in zip(afters, firsts, strict=True) if a < f)
    stable = end if stable is None else stable
    return LogState(operation.log_start_offset, end, stable, known, holes, ())
