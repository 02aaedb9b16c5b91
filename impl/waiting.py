"""Progress: how many fetches may pass over a record, or find a window full of what is finished."""

from impl import layout as at
from impl.jit import compiled
from impl.log import (
    first_existing,
    first_not_absent,
    first_present,
    readable_end,
)
from impl.policy import MemberFetch, window_limit
from impl.rows import Ints, move_rows, seek_range
from impl.runs import is_free, seek, tracked
from impl.state import State
from impl.window import first_unknown, furthest_start
from impl.writes import first_written, is_written
from model.guards import Guard

_OFFERED = at.verdict(Guard.RECORD_IS_OFFERED)
_NOT_LEFT = at.verdict(Guard.FINISHED_LEAVES_FULL_WINDOW)


@compiled
def note_passed_over(state: State, fetch: MemberFetch, ranges: Ints) -> tuple[int, int]:
    """Count each record that a fetch passes over; return a verdict, and the offset it is about.

    ``ranges``: what the fetch is about to acquire (first, last). It passes over what it could
    acquire below the last of that, and over the first if it acquires nothing. Counts are written
    behind those of before, and then moved to the front.
    """
    h, number = state.header, ranges.shape[0]
    end = readable_end(h)
    if number > 0:
        end = min(end, ranges[number - 1, 1])
    old, place = h[at.WAITING_TAIL], max(h[at.START], h[at.LOG_START])
    offset = _passed_over(state, fetch, ranges, place, end)
    if fetch.max_records == 0 or (offset == at.NOWHERE and old == 0):
        return at.FINE, at.NOWHERE
    result, where, place = at.FINE, at.NOWHERE, h[at.START]
    while offset != at.NOWHERE:
        _keep(state, ranges, old, place, offset)
        row = seek_range(state.waiting, at.NOTHING, old, offset)
        waits = row < old and state.waiting[row, 0] <= offset
        fetches = state.waiting[row, 2] + 1 if waits else 1
        if fetches > h[at.OFFERED_WITHIN] and result == at.FINE:
            result, where = _OFFERED, offset
        _append(state, old, offset, offset, fetches)
        place = offset + 1
        offset = _passed_over(state, fetch, ranges, place, end) if number > 0 else at.NOWHERE
    _keep(state, ranges, old, place, at.MAX)
    move_rows(state.waiting, old, h[at.WAITING_TAIL], -old)
    h[at.WAITING_TAIL] -= old
    return result, where


@compiled
def _keep(state: State, ranges: Ints, old: int, low: int, high: int) -> None:
    """Keep the first ``old`` counts, of what lies in [low, high) and is not acquired."""
    waiting = state.waiting
    row = seek_range(waiting, at.NOTHING, old, low)
    while row < old and waiting[row, 0] < high:
        offset, end = max(waiting[row, 0], low), min(waiting[row, 1] + 1, high)
        for i in range(ranges.shape[0]):
            if offset < ranges[i, 0] < end:
                _append(state, old, offset, ranges[i, 0] - 1, waiting[row, 2])
            if ranges[i, 0] < end:
                offset = max(offset, ranges[i, 1] + 1)
        if offset < end:
            _append(state, old, offset, end - 1, waiting[row, 2])
        row += 1


@compiled
def _append(state: State, old: int, first: int, last: int, fetches: int) -> None:
    """Append a count behind the first ``old`` rows; one range of it where it continues the last."""
    waiting, row = state.waiting, state.header[at.WAITING_TAIL]
    if row > old and waiting[row - 1, 1] + 1 == first and waiting[row - 1, 2] == fetches:
        waiting[row - 1, 1] = last
    elif row < waiting.shape[0]:  # More are only in a fetch that is refused for what it skips.
        waiting[row, 0], waiting[row, 1], waiting[row, 2] = first, last, fetches
        state.header[at.WAITING_TAIL] = row + 1


@compiled
def _passed_over(state: State, fetch: MemberFetch, ranges: Ints, low: int, end: int) -> int:
    """Return the first offset of [low, end) that a fetch could acquire and does not, or -1."""
    if low >= end:
        return at.NOWHERE
    free = _free_record(state, fetch, ranges, low, end)
    offset = min(free, _new_record(state, fetch, ranges, low, free))
    return offset if offset < end else at.NOWHERE


@compiled
def _free_record(state: State, fetch: MemberFetch, ranges: Ints, low: int, end: int) -> int:
    """Return the first offset of [low, end) with a free record that is not acquired.

    It is in the log, or this fetch has read past it, and could have noticed that it is not.
    """
    h, runs = state.header, state.runs
    number = fetch.batches.shape[0]
    read = fetch.batches[number - 1, 1] + 1 if number > 0 else 0
    ahead = h[at.COUNTS + at.AVAILABLE]
    if ahead == 0:
        return end
    i = seek(h, runs, low)
    while ahead > 0 and i < h[at.TAIL] and runs[i, at.FIRST] < end:
        if runs[i, at.STATE] == at.AVAILABLE:
            ahead -= runs[i, at.LAST] - runs[i, at.FIRST] + 1
        if is_free(runs, i):
            offset, after = max(low, runs[i, at.FIRST]), min(end, runs[i, at.LAST] + 1)
            while offset < after:
                present = offset
                if not fetch.offset <= offset < read:
                    stop = min(after, fetch.offset) if offset < fetch.offset < read else after
                    present = first_not_absent(state, offset, stop)
                offset = _first_not_in(ranges, present, after)
                if offset == present:
                    break
            if offset < after:
                return int(offset)
        i += 1
    return end


@compiled
def _new_record(state: State, fetch: MemberFetch, ranges: Ints, low: int, end: int) -> int:
    """Return the first offset of [low, end) that was produced or read and never taken; else end.

    There is room as far as there would be if the start offset had moved, past no record whose
    write has no answer.
    """
    h = state.header
    present, limit = tracked(h), end
    if present > 0:
        due = first_written(state, h[at.START], furthest_start(state, h[at.END]))
        room = window_limit(state, due)
        limit = min(end, max(h[at.END], room))
    offset = low if present < h[at.END] - h[at.START] else max(low, h[at.END])
    while offset < limit:
        unknown = first_unknown(state, offset, limit)
        existing = first_existing(state, unknown, limit)
        read = first_present(state, fetch.batches, unknown, existing)
        offset = _first_not_in(ranges, read, limit)
        if offset == unknown and offset < limit:
            return offset
    return end


@compiled
def _first_not_in(ranges: Ints, low: int, high: int) -> int:
    """Return the first offset of [low, high) that lies in none of the ranges, or ``high``."""
    offset = low
    for i in range(ranges.shape[0]):
        if ranges[i, 0] > offset:
            break
        offset = max(offset, ranges[i, 1] + 1)
    return min(offset, high)


@compiled
def forget_waiting(header: Ints) -> None:
    """Forget which offsets fetches passed over, and where they found the window full."""
    header[at.WAITING_TAIL] = 0
    header[at.STUCK_OFFSET], header[at.STUCK_FETCHES] = at.NOWHERE, 0


@compiled
def note_full(state: State) -> int:
    """Count the answers in a row that found the window full of what is finished at its start.

    Returns a verdict: the start offset moves within a number of them, not counting those while the
    write of its record has no answer.
    """
    h = state.header
    start = h[at.START]
    if is_written(state, start):
        return at.FINE
    if furthest_start(state, h[at.END]) == start:
        h[at.STUCK_OFFSET], h[at.STUCK_FETCHES] = at.NOWHERE, 0
        return at.FINE
    if h[at.STUCK_OFFSET] != start:
        h[at.STUCK_OFFSET], h[at.STUCK_FETCHES] = start, 0
    h[at.STUCK_FETCHES] += 1
    if h[at.STUCK_FETCHES] <= h[at.OFFERED_WITHIN]:
        return at.FINE
    h[at.WHERE] = start
    return _NOT_LEFT
