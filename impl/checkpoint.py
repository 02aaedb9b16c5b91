"""A leader tells its whole state: compared with ours, or taken over where ours is not known.

Checkpoints are rare, so this is plain Python over the arrays, for both faces of ``impl``.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from impl import layout as at
from impl.durable import merge_journal
from impl.encode import Members, settings_of
from impl.leadership import alter_config, note_limit, settings_in_force
from impl.rows import Ints
from impl.state import State, with_room
from model.guards import Guard
from model.operations import Checkpoint, OutstandingWrite
from model.ranges import StateBatch

_NOT_THE_STATE = at.verdict(Guard.CHECKPOINT_IS_THE_STATE)
_GOES_BACK = at.verdict(Guard.START_NEVER_GOES_BACK)
_NO_MARKS = at.verdict(at.NO_CHECKPOINT)
_FINISHED = (at.ACKNOWLEDGED, at.ARCHIVED)

Run = tuple[int, ...]
"""The columns of a run after its first and last offset: state to what a roll back restores."""


def take_checkpoint(
    state: State, members: Members, operation: Checkpoint, start: int
) -> tuple[State, int]:
    """Compare a checkpoint, or take it over; return the state, perhaps with more room.

    ``start``: the start offset chosen after it. The second value is a verdict.
    """
    h = state.header
    h[at.STATUS] = at.S_NONE
    if h[at.MARKS]:
        return state, _NO_MARKS
    if h[at.INITIALIZED]:
        if not _agrees(state, operation):
            return state, _NOT_THE_STATE
        return state, int(alter_config(state, settings_in_force(h), start))
    result = _check_durable(state, operation)
    if result == at.FINE:
        result = _check_pending(h, operation)
    if result != at.FINE:
        return state, result
    runs, batches = _runs(h, members, operation), _batches(operation)
    state = with_room(state, 4 * (len(runs) + len(batches) + len(operation.outstanding)) + 16)
    _adopt(state, operation, runs)
    _keep_writes(state, operation, runs, batches)
    return state, int(alter_config(state, settings_of(operation.config), start))


def lose_events(header: Ints) -> None:
    """Note that events are missing: nothing is known but what was durable."""
    header[at.INITIALIZED] = header[at.DURABLE_WHOLE] = header[at.UNMADE] = 0
    header[at.STATUS] = at.S_NONE


def _agrees(state: State, operation: Checkpoint) -> bool:
    """Tell whether configuration, clock, deadlines and outstanding writes are ours."""
    h = state.header
    ours = (at.DELIVERY_LIMIT, at.MAX_LOCKS, at.LOCK_DURATION, at.RENEWAL)
    settings = settings_of(operation.config)
    failed = at.ARCHIVING if settings.dead_letters else at.ARCHIVED
    same = all(h[column] == value for column, value in zip(ours, settings[:4], strict=True))
    same = same and h[at.GIVEN_UP] == failed and h[at.COMMITTED_ONLY] == settings.committed_only
    same = same and h[at.TIMED] == operation.timed
    return bool(same) and _same_deadlines(state, operation) and _same_writes(state, operation)


def _same_deadlines(state: State, operation: Checkpoint) -> bool:
    h, deadlines = state.header, _deadlines(operation)
    for run in state.runs[h[at.HEAD] : h[at.TAIL]].tolist():
        held = run[at.STATE] in (at.ACQUIRED, at.IN_PROGRESS) and run[at.WRITE] == at.NO_WRITE
        ours = run[at.DEADLINE] + 1
        for offset in range(run[at.FIRST], run[at.LAST] + 1) if held else ():
            if not ours <= deadlines.get(offset, -1) <= ours + h[at.SWEEP]:
                return False
    return True


def _same_writes(state: State, operation: Checkpoint) -> bool:
    recorded = {write.id: write for write in operation.outstanding}
    begin = 0
    for row in state.outstanding[: state.header[at.OUTSTANDING_TAIL]].tolist():
        end = begin + row[at.O_BATCHES]
        write = recorded.pop(row[at.O_ID], None)
        if row[at.O_ID] == at.DOUBTFUL:
            begin = end
            continue
        if write is None or not _is_write(write, row, state.pending[begin:end].tolist()):
            return False
        begin = end
    return not recorded


def _is_write(write: OutstandingWrite, row: list[int], batches: list[list[int]]) -> bool:
    ours = {
        o: (state, count) for first, last, state, count in batches for o in range(first, last + 1)
    }
    if ours != {o: (int(b.state), b.delivery_count) for b in write.state_batches for o in _each(b)}:
        return False
    if row[at.O_MADE_AFTER] >= 0:
        return True
    counted = not write.counted or write.delivery_complete_count == row[at.O_COMPLETE]
    return write.start_offset == row[at.O_START] and counted


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
        return _GOES_BACK
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


def _batches(operation: Checkpoint) -> list[tuple[int, int, int, int]]:
    """Return the state batches of the outstanding writes, ascending in each."""
    return [
        (b.first, b.last, int(b.state), b.delivery_count)
        for write in operation.outstanding
        for b in sorted(write.state_batches, key=lambda batch: batch.first)
    ]


def _runs(header: Ints, members: Members, operation: Checkpoint) -> list[tuple[int, int, Run]]:
    """Return the records as runs; each outstanding write gets the next number for its records."""
    serial = int(header[at.NEXT_SERIAL])
    deadlines = _deadlines(operation)
    awaited: dict[tuple[int, int], int] = {}
    for number, write in enumerate(operation.outstanding):
        for b in write.state_batches:
            awaited |= {(o, b.delivery_count): serial + number for o in _each(b)}
    header[at.NEXT_SERIAL] = serial + len(operation.outstanding)
    return list(_joined(_columns(members, operation, deadlines, awaited)))


def _columns(
    members: Members,
    operation: Checkpoint,
    deadlines: dict[int, int],
    awaited: dict[tuple[int, int], int],
) -> Iterator[tuple[int, Run]]:
    limit, taken = operation.config.delivery_count_limit, operation.state
    offset, last = taken.start_offset - 1, taken.end_offset - 1
    for r in taken.records or ():
        kind, count = int(r.state), r.delivery_count
        owner = at.NOBODY if r.owner is None else members.number(r.owner)
        for offset in range(max(r.first, taken.start_offset), min(r.last + 1, taken.end_offset)):
            deadline = 0 if r.owner is None else deadlines[offset] - 1
            write, restore = at.NO_WRITE, 0
            if r.pending:
                write = awaited[offset, count]
                restore = at.TO_GIVEN_UP if count >= limit else at.TO_AVAILABLE
                restore = at.VANISHED if r.owner is None else restore
            elif kind not in (at.ACQUIRED, at.IN_PROGRESS):
                owner, deadline = at.NOBODY, 0
            yield offset, (kind, count, owner, deadline, write, restore)
    if offset < last:  # A window ends with a record: this one was never delivered.
        yield last, (at.AVAILABLE, 0, at.NOBODY, 0, at.NO_WRITE, 0)


def _joined(columns: Iterable[tuple[int, Run]]) -> Iterator[tuple[int, int, Run]]:
    first = last = -1
    held: Run | None = None
    for offset, run in columns:
        if held is not None and (offset != last + 1 or run != held):
            yield first, last, held
            held = None
        if held is None:
            first, held = offset, run
        last = offset
    if held is not None:
        yield first, last, held


def _adopt(state: State, operation: Checkpoint, runs: list[tuple[int, int, Run]]) -> None:
    h, taken = state.header, operation.state
    h[at.HEAD], h[at.TAIL] = 0, len(runs)
    h[at.COUNTS : at.COUNTS + at.STATES] = 0
    h[at.NEXT_DEADLINE] = at.NEVER
    for row, (first, last, run) in enumerate(runs):
        state.runs[row, : at.RUN_COLUMNS] = (first, last, *run)
        note_limit(h, run[1] + 1)
        h[at.COUNTS + run[0]] += last - first + 1
        if run[0] == at.ACQUIRED and run[4] == at.NO_WRITE:
            h[at.NEXT_DEADLINE] = min(h[at.NEXT_DEADLINE], run[3])
    h[at.START], h[at.END], h[at.INITIALIZED] = taken.start_offset, taken.end_offset, 1
    h[at.NOW] = h[at.LAST_EVENT] = operation.time_ms
    h[at.TIMED], h[at.UNMADE] = operation.timed, 0
    h[at.WAITING_TAIL] = h[at.STUCK_FETCHES] = 0
    h[at.STUCK_OFFSET] = at.NOWHERE
    _adopt_log(state, operation, runs)


def _adopt_log(state: State, operation: Checkpoint, runs: list[tuple[int, int, Run]]) -> None:
    """Take over the extent of the log; where the window has no record, the log has none."""
    h, taken = state.header, operation.state
    end = operation.log_end_offset
    h[at.LOG_KNOWN] = operation.log_known and end is not None
    end = max(taken.end_offset, operation.log_start_offset) if end is None else end
    stable = operation.last_stable_offset
    h[at.LOG_START], h[at.LOG_END] = operation.log_start_offset, end
    h[at.STABLE] = end if stable is None else stable
    h[at.LOG_HEAD] = h[at.LOG_TAIL] = h[at.HOLES_HEAD] = h[at.HOLES_TAIL] = 0
    place = taken.start_offset
    for first, last in (*(run[:2] for run in runs), (taken.end_offset, taken.end_offset)):
        if place < first:
            state.holes[h[at.HOLES_TAIL]] = (place, first - 1)
            h[at.HOLES_TAIL] += 1
        place = last + 1


def _keep_writes(
    state: State,
    operation: Checkpoint,
    runs: list[tuple[int, int, Run]],
    batches: list[tuple[int, int, int, int]],
) -> None:
    """Keep the outstanding writes; one that nothing waits for is like that of expired locks."""
    h, number = state.header, len(operation.outstanding)
    first_serial = int(h[at.NEXT_SERIAL]) - number
    waiting = {run[4] for _first, _last, run in runs}
    h[at.OUTSTANDING_TAIL], h[at.PENDING_TAIL] = number, len(batches)
    state.pending[: len(batches)] = np.array(batches, np.int64).reshape(-1, 4)
    for row, write in enumerate(operation.outstanding):
        serial = first_serial + row
        state.outstanding[row] = (
            write.id,
            serial if serial in waiting else at.NO_WRITE,
            at.NO_CALL if write.seq is None else write.seq,
            write.start_offset,
            write.delivery_complete_count,
            len(write.state_batches),
            at.MADE,
            write.start_offset,
            at.UNSAID,
            min((first for first, _last, run in runs if run[4] == serial), default=at.NOWHERE),
            max((last for _first, last, run in runs if run[4] == serial), default=at.NOWHERE),
        )
        h[at.NEXT_WRITE] = max(h[at.NEXT_WRITE], write.id + 1)
