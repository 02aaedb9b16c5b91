"""A checkpoint as the whole state that it tells (``model.whole_state``).

This converts, and judges nothing: whether a leader may be in that state is for each side to say.
"""

from collections.abc import Iterator

import attrs

from model.operations import Checkpoint, OutstandingWrite
from model.ranges import StateBatch, runs
from model.states import HELD_STATES, RecordState
from model.whole_state import LogState, RecordsInFlight, WholeState, WriteInFlight


def deadlines_of(operation: Checkpoint) -> dict[int, int]:
    """Return when the lock of each offset ends that is or was held (ms)."""
    ends = operation.deadlines
    return {offset: end.deadline_ms for end in ends for offset in range(end.first, end.last + 1)}


def entries_of(batches: tuple[StateBatch, ...]) -> dict[int, tuple[RecordState, int]]:
    """Return state and delivery count of each offset that a write tells of."""
    return {
        offset: (batch.state, batch.delivery_count)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
    }


def state_told(operation: Checkpoint, before: WholeState) -> WholeState:
    """Return the state that a checkpoint tells, where nothing but ``before.durable`` is known.

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
        writes=tuple(map(_write, outstanding)),
        next_write=max([before.next_write, *(write.id + 1 for write in outstanding)]),
        durable_whole=False,
        highest_limit=max(before.highest_limit, *limits),
        waiting=(),
        stuck=None,
        doubtful=(),
    )


def _write(write: OutstandingWrite) -> WriteInFlight:
    batches = tuple(sorted(write.state_batches, key=lambda batch: batch.first))
    numbers = write.start_offset, write.delivery_complete_count
    return WriteInFlight(write.id, *numbers, batches, write.seq, seen=True)


def _records(operation: Checkpoint) -> Iterator[tuple[int, RecordsInFlight]]:
    """Yield each record of the window; a pending one awaits the write that has its count."""
    limit, taken = operation.config.delivery_count_limit, operation.state
    deadlines = deadlines_of(operation)
    awaited = {
        (offset, count): write.id
        for write in operation.outstanding
        for offset, (_state, count) in entries_of(write.state_batches).items()
    }
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
