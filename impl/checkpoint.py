"""A leader tells its whole state: compared with ours, or taken over where ours is not known.

Checkpoints are rare, so this is plain Python over the arrays, for both faces of ``impl``.
"""

from collections.abc import Iterator

import attrs

from impl import layout as at
from impl.durable import merge_journal
from impl.encode import Members, settings_of
from impl.leadership import alter_config, settings_in_force
from impl.rows import Ints
from impl.state import State
from impl.whole_state import join_records, state_of, whole_state
from impl.window import GOES_BACK
from model.guards import Guard
from model.operations import Checkpoint, OutstandingWrite
from model.profile import Profile
from model.ranges import StateBatch
from model.states import HELD_STATES, RecordState
from model.whole_state import LogState, RecordsInFlight, WholeState, WriteInFlight

_NOT_THE_STATE = at.verdict(Guard.CHECKPOINT_IS_THE_STATE)
_NO_MARKS = at.verdict(at.NO_CHECKPOINT)
_FINISHED = (at.ACKNOWLEDGED, at.ARCHIVED)


def take_checkpoint(
    state: State, members: Members, operation: Checkpoint, profile: Profile, start: int
) -> tuple[State, int]:
    """Compare a checkpoint, or take it over; return the state, perhaps in other arrays.

    ``start``: the start offset chosen after it. The second value is a verdict.
    """
    h = state.header
    h[at.STATUS] = at.S_NONE
    if h[at.MARKS]:
        return state, _NO_MARKS
    if h[at.INITIALIZED]:
        if not _agrees(state, members, operation):
            return state, _NOT_THE_STATE
        return state, int(alter_config(state, settings_in_force(h), start))
    result = _check_durable(state, operation)
    if result == at.FINE:
        result = _check_pending(h, operation)
    if result != at.FINE:
        return state, result
    state = state_of(_taken_over(whole_state(state, members), operation), members, profile)
    state.header[at.ANSWERED_CALL], state.header[at.WHERE] = at.NO_CALL, at.NOWHERE
    return state, int(alter_config(state, settings_of(operation.config), start))


def lose_events(header: Ints) -> None:
    """Note that events are missing: nothing is known but what was durable."""
    header[at.INITIALIZED] = header[at.DURABLE_WHOLE] = header[at.UNMADE] = 0
    header[at.STATUS] = at.S_NONE


def _agrees(state: State, members: Members, operation: Checkpoint) -> bool:
    """Tell whether configuration, clock, deadlines and outstanding writes are ours."""
    h = state.header
    ours = (at.DELIVERY_LIMIT, at.MAX_LOCKS, at.LOCK_DURATION, at.RENEWAL)
    settings = settings_of(operation.config)
    failed = at.ARCHIVING if settings.dead_letters else at.ARCHIVED
    same = all(h[column] == value for column, value in zip(ours, settings[:4], strict=True))
    same = same and h[at.GIVEN_UP] == failed and h[at.COMMITTED_ONLY] == settings.committed_only
    if not same or h[at.TIMED] != operation.timed:
        return False
    whole = whole_state(state, members)
    return _same_deadlines(whole, operation, int(h[at.SWEEP])) and _same_writes(whole, operation)


def _same_deadlines(whole: WholeState, operation: Checkpoint, sweep_ms: int) -> bool:
    deadlines = _deadlines(operation)
    return all(
        0 <= deadlines.get(offset, -1) - (r.last_ms + 1) <= sweep_ms
        for r in whole.records
        if r.last_ms is not None and r.write is None
        for offset in range(r.first, r.last + 1)
    )


def _same_writes(whole: WholeState, operation: Checkpoint) -> bool:
    recorded = {write.id: write for write in operation.outstanding}
    same_ids = recorded.keys() == {write.id for write in whole.writes}
    return same_ids and all(_is_write(recorded[write.id], write) for write in whole.writes)


def _is_write(recorded: OutstandingWrite, ours: WriteInFlight) -> bool:
    """Compare what a write says; one that takes its numbers later has none to compare."""
    if _told(recorded.state_batches) != _told(ours.state_batches):
        return False
    counted = not recorded.counted
    counted = counted or recorded.delivery_complete_count == ours.delivery_complete_count
    same = recorded.start_offset == ours.start_offset and counted
    return ours.made_after is not None or same


def _told(batches: tuple[StateBatch, ...]) -> dict[int, tuple[RecordState, int]]:
    return {offset: (b.state, b.delivery_count) for b in batches for offset in _each(b)}


def _each(batch: StateBatch) -> range:
    return range(batch.first, batch.last + 1)


def _deadlines(operation: Checkpoint) -> dict[int, int]:
    ends = operation.deadlines
    return {offset: end.deadline_ms for end in ends for offset in range(end.first, end.last + 1)}


def _check_durable(state: State, operation: Checkpoint) -> int:
    """Return the verdict on what was durable before events were lost; forget it after a reset."""
    h, taken = state.header, operation.state
    merge_journal(state)
    if h[at.STATE_EPOCH] != operation.state_epoch:
        h[at.DURABLE_START] = h[at.DURABLE_COMPLETE] = -1
        h[at.DURABLE_TAIL] = 0
    h[at.STATE_EPOCH], h[at.LEADER_EPOCH] = operation.state_epoch, operation.leader_epoch
    h[at.DURABLE_WHOLE], h[at.DURABLE_KNOWN] = 0, 1
    if taken.start_offset < h[at.DURABLE_START]:
        h[at.WHERE] = taken.start_offset
        return GOES_BACK
    finished = {
        offset
        for r in taken.records or ()
        if r.state in _FINISHED
        for offset in range(r.first, min(r.last, taken.end_offset - 1) + 1)
    }
    for first, last, kind, _count in state.durable[: h[at.DURABLE_TAIL]].tolist():
        for offset in range(max(first, taken.start_offset), last + 1):
            if kind in _FINISHED and offset not in finished:
                h[at.WHERE] = offset
                return _NOT_THE_STATE
    return at.FINE


def _check_pending(h: Ints, operation: Checkpoint) -> int:
    """Return the verdict on pending records: a write without an answer has each with its count."""
    taken, writes = operation.state, operation.outstanding
    named = {(o, b.delivery_count) for w in writes for b in w.state_batches for o in _each(b)}
    for r in taken.records or ():
        inside = range(max(r.first, taken.start_offset), min(r.last + 1, taken.end_offset))
        for offset in inside if r.pending else ():
            if (offset, r.delivery_count) not in named:
                h[at.WHERE] = offset
                return _NOT_THE_STATE
    return at.FINE


def _taken_over(whole: WholeState, operation: Checkpoint) -> WholeState:
    """Return the whole state that a checkpoint tells; the durable one is what it was."""
    taken, outstanding = operation.state, operation.outstanding
    records = tuple(join_records(_records(operation)))
    return attrs.evolve(
        whole,
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
        next_write=max([whole.next_write, *(write.id + 1 for write in outstanding)]),
        highest_limit=max([whole.highest_limit, *(r.delivery_count + 1 for r in records)]),
        waiting=(),
        stuck=None,
        doubtful=(),
    )


def _write(write: OutstandingWrite) -> WriteInFlight:
    batches = tuple(sorted(write.state_batches, key=lambda batch: batch.first))
    numbers = write.start_offset, write.delivery_complete_count
    return WriteInFlight(write.id, *numbers, batches, write.seq, seen=True)


def _records(operation: Checkpoint) -> Iterator[RecordsInFlight]:
    """Yield each record of the window; a pending one awaits the write that has its count."""
    limit, taken = operation.config.delivery_count_limit, operation.state
    deadlines = _deadlines(operation)
    awaited = {
        (offset, b.delivery_count): write.id
        for write in operation.outstanding
        for b in write.state_batches
        for offset in _each(b)
    }
    offset, last = -1, taken.end_offset - 1
    for r in taken.records or ():
        held = r.owner is not None and (r.pending or r.state in HELD_STATES)
        for offset in range(max(r.first, taken.start_offset), min(r.last, last) + 1):
            yield RecordsInFlight(
                offset,
                offset,
                r.state,
                r.delivery_count,
                r.owner if held else None,
                deadlines[offset] - 1 if held else None,
                awaited[offset, r.delivery_count] if r.pending else None,
                r.pending and held and r.delivery_count >= limit,
            )
    if max(offset, taken.start_offset - 1) < last:
        # A window ends with a record: this one was never delivered.
        yield RecordsInFlight(last, last, RecordState.AVAILABLE, 0)


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
