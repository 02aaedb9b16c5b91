"""The window's start offset, the delivery complete count, and the lag."""

from impl import layout as at
from impl.jit import compiled, entry_point
from impl.log import forget_log_below, seek_hole
from impl.rows import Ints
from impl.runs import drop_below, is_finished, seek, terminal
from impl.state import State
from model.guards import Guard

GOES_BACK = at.verdict(Guard.START_NEVER_GOES_BACK)
_PASSES_UNFINISHED = at.verdict(Guard.START_STOPS_AT_UNFINISHED)


@compiled
def first_unknown(state: State, low: int, high: int) -> int:
    """Return the first offset of [low, high) that is neither tracked nor in a hole, or ``high``."""
    h, runs, holes = state.header, state.runs, state.holes
    i, hole, offset = seek(h, runs, low), seek_hole(h, holes, low), low
    while offset < high:
        if i < h[at.TAIL] and runs[i, at.FIRST] <= offset:
            offset = max(offset, runs[i, at.LAST] + 1)
            i += 1
        elif hole < h[at.HOLES_TAIL] and holes[hole, 0] <= offset:
            offset = max(offset, holes[hole, 1] + 1)
            hole += 1
        else:
            return offset
    return high


@compiled
def furthest_start(state: State, limit: int) -> int:
    """Return how far the start offset may advance, at most ``limit``.

    It passes terminal records without an outstanding write, and offsets that are not in the log
    (KIP-932, Share-partition start offset).
    """
    h, runs = state.header, state.runs
    offset: int = h[at.START]
    i, tail = h[at.HEAD], h[at.TAIL]
    while offset < limit:
        gap_end = limit if i == tail else min(limit, runs[i, at.FIRST])
        if offset < gap_end:
            offset = first_unknown(state, offset, gap_end)
            if offset < gap_end:
                return offset
        elif not is_finished(runs, i):
            return offset
        else:
            offset = runs[i, at.LAST] + 1
            i += 1
    return limit


@entry_point
def furthest_written(state: State, written: Ints) -> int:
    """Return how far the start offset may advance once the records are as they were written.

    ``written`` has (first, last, state, delivery count), ascending.
    """
    h, runs = state.header, state.runs
    offset, i, row = h[at.START], h[at.HEAD], 0
    while offset < h[at.END]:
        while row < written.shape[0] and written[row, 1] < offset:
            row += 1
        while i < h[at.TAIL] and runs[i, at.LAST] < offset:
            i += 1
        ahead = h[at.END] if i == h[at.TAIL] else runs[i, at.FIRST]
        if offset < ahead:
            unknown = first_unknown(state, offset, ahead)
            if unknown < ahead:
                return int(unknown)
            offset = ahead
        elif row < written.shape[0] and written[row, 0] <= offset:
            if written[row, 2] != at.ACKNOWLEDGED and written[row, 2] != at.ARCHIVED:
                return int(offset)
            offset = min(written[row, 1], runs[i, at.LAST]) + 1
        elif not is_finished(runs, i):
            return int(offset)
        else:
            end = runs[i, at.LAST] + 1
            offset = end if row == written.shape[0] else min(end, written[row, 0])
    return int(first_unknown(state, h[at.END], max(h[at.END], h[at.LOG_END])))


@compiled
def move_start(state: State, chosen: int) -> int:
    """Move the start offset to ``chosen``, or for UNSET as far as allowed; drop all below.

    Returns a verdict: the start offset never goes back and never passes an unfinished record. It
    may leave the window over a hole.
    """
    h = state.header
    if chosen == at.UNSET:
        chosen = furthest_start(state, h[at.END])
    elif chosen < h[at.START]:
        h[at.WHERE] = chosen
        return GOES_BACK
    else:
        reached = furthest_start(state, min(chosen, h[at.END]))
        if reached == h[at.END]:
            reached = first_unknown(state, reached, chosen)
        if reached < chosen:
            h[at.WHERE] = reached
            return _PASSES_UNFINISHED
    drop_below(h, state.runs, chosen)
    h[at.START], h[at.END] = chosen, max(h[at.END], chosen)
    return at.FINE


@compiled
def later(now: int, by: int) -> int:
    """Return the last ms before ``now + by``; MAX if that does not fit in 64 bits.

    The clock ends at MAX, and a lock that is over at MAX ends at MAX - 1: so the two differ.
    """
    time: int = by + min(now - 1, at.MAX - by)
    return time


@compiled
def finish(state: State, chosen: int) -> int:
    """End an operation: move the start offset, and forget of the log what no leader needs.

    A new leader starts at the durable start offset, if there is one.
    """
    result = move_start(state, chosen)
    h = state.header
    floor = h[at.START] if h[at.DURABLE_START] < 0 else min(h[at.START], h[at.DURABLE_START])
    forget_log_below(state, floor)
    return result


@entry_point
def complete_count(state: State) -> int:
    """Return the delivery complete count: terminal records of the window (KIP-1226).

    Offsets that are not in the log do not count: they are lag until they are acknowledged as gaps.
    """
    return terminal(state.header)


@entry_point
def lag(state: State) -> int:
    """Return the share-partition lag in offsets (KIP-1226): negative only if the log shrank."""
    h = state.header
    offsets: int = h[at.LOG_END] - h[at.START] - complete_count(state)
    return offsets
