"""Progress: how many fetches may pass over a record, or find a window full of what is finished."""

from impl import layout as at
from impl.jit import compiled
from impl.log import first_existing, first_not_absent, first_present, readable_end
from impl.policy import Fetch, window_limit
from impl.rows import Ints
from impl.runs import is_free, seek, tracked
from impl.state import State
from impl.window import first_unknown, furthest_start
from model.guards import Guard

_OFFERED = at.verdict(Guard.RECORD_IS_OFFERED)
_NOT_LEFT = at.verdict(Guard.FINISHED_LEAVES_FULL_WINDOW)


@compiled
def passed_over(state: State, fetch: Fetch, ranges: Ints) -> int:
    """Return the lowest offset that a fetch could acquire and passes over, or -1.

    ``ranges``: what it is about to acquire (first, last). It passes over what lies below that, or
    over everything if it acquires nothing.
    """
    h, number = state.header, ranges.shape[0]
    end = readable_end(h)
    if number > 0:
        end = min(end, ranges[number - 1, 1])
    low = max(h[at.START], h[at.LOG_START])
    if low >= end:
        return at.NOWHERE
    free = _free_record(state, fetch, ranges, low, end)
    offset = min(free, _new_record(state, fetch, ranges, low, free))
    return offset if offset < end else at.NOWHERE


@compiled
def _free_record(state: State, fetch: Fetch, ranges: Ints, low: int, end: int) -> int:
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
def _new_record(state: State, fetch: Fetch, ranges: Ints, low: int, end: int) -> int:
    """Return the first offset of [low, end) that was produced or read and never taken; else end.

    There is room as far as there would be if the start offset had moved.
    """
    h = state.header
    present, limit = tracked(h), end
    if present > 0:
        room = window_limit(state, furthest_start(state, h[at.END]))
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
def note_passed_over(state: State, ranges: Ints, candidate: int) -> int:
    """Count the fetches in a row that passed over the same offset; return a verdict."""
    h = state.header
    if candidate == at.NOWHERE:
        waiting = h[at.WAITING_OFFSET]
        if waiting != at.NOWHERE and _first_not_in(ranges, waiting, at.MAX) != waiting:
            h[at.WAITING_OFFSET], h[at.WAITING_FETCHES] = at.NOWHERE, 0
        return at.FINE
    if candidate != h[at.WAITING_OFFSET]:
        h[at.WAITING_OFFSET], h[at.WAITING_FETCHES] = candidate, 0
    h[at.WAITING_FETCHES] += 1
    if h[at.WAITING_FETCHES] <= h[at.OFFERED_WITHIN]:
        return at.FINE
    h[at.WHERE] = candidate
    return _OFFERED


@compiled
def forget_waiting(header: Ints) -> None:
    """Forget which offset fetches passed over, and where they found the window full."""
    header[at.WAITING_OFFSET], header[at.WAITING_FETCHES] = at.NOWHERE, 0
    header[at.STUCK_OFFSET], header[at.STUCK_FETCHES] = at.NOWHERE, 0


@compiled
def note_full(state: State) -> int:
    """Count the answers in a row that found the window full of what is finished at its start.

    Returns a verdict: the start offset moves within a number of them.
    """
    h = state.header
    start = h[at.START]
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
