"""Which records a fetch acquires where the implementation did not choose."""

from typing import NamedTuple

from impl import layout as at
from impl.jit import compiled
from impl.rows import Ints
from impl.runs import is_free, seek, tracked
from impl.state import State
from impl.window import furthest_start


class MemberFetch(NamedTuple):
    """The request of a member, and ``batches``, (first, last) of the log batches read for it."""

    member: int
    mode: int
    max_records: int
    offset: int
    batches: Ints


@compiled
def window_limit(state: State, start: int) -> int:
    """Return the offset where a window that starts at ``start`` is full."""
    locks = state.header[at.MAX_LOCKS]
    limit: int = locks + min(start, at.MAX - locks)
    return limit


@compiled
def choose_acquired(state: State, fetch: MemberFetch) -> int:
    """Put the ranges that the policy acquires in ``state.ranges``, ascending; return their number.

    batch_optimized acquires whole log batches until it has enough, record_limit stops at the limit
    (KIP-1206). Where the window may overshoot its limit, it may start a log batch below that and
    never one above it.
    """
    h = state.header
    h[at.RANGES_TAIL] = 0
    wanted, lowest = fetch.max_records, max(h[at.START], h[at.LOG_START])
    limit = window_limit(state, _start_for(state, fetch.batches))
    for i in range(fetch.batches.shape[0]):
        if wanted <= 0:
            break
        first, last = max(fetch.batches[i, 0], lowest), fetch.batches[i, 1]
        whole = fetch.mode == at.BATCH_OPTIMIZED
        if not (whole and h[at.MAY_OVERSHOOT] and max(first, h[at.END]) < limit):
            last = min(last, max(limit, h[at.END]) - 1)
        wanted -= _choose(state, first, last, at.MAX if whole else wanted)
    return int(h[at.RANGES_TAIL])


@compiled
def _start_for(state: State, batches: Ints) -> int:
    """Return where the window would start: after a gap at its head and what the log lost."""
    h = state.header
    if tracked(h) > 0:
        furthest: int = furthest_start(state, h[at.END])
        return furthest
    lowest = max(h[at.START], h[at.LOG_START])
    for i in range(batches.shape[0]):
        if batches[i, 1] >= lowest:
            first: int = max(batches[i, 0], lowest)
            return first
    start: int = h[at.START]
    return start


@compiled
def _choose(state: State, first: int, last: int, most: int) -> int:
    """Choose the free records from ``first`` to ``last``; return their number."""
    h, runs = state.header, state.runs
    i, offset, wanted = seek(h, runs, first), first, most
    while offset <= last and wanted > 0:
        if i < h[at.TAIL] and runs[i, at.FIRST] <= offset:
            end, free = min(runs[i, at.LAST], last), is_free(runs, i)
            i += 1
        else:
            end, free = last if i == h[at.TAIL] else min(last, runs[i, at.FIRST] - 1), True
        if free:
            end = end if end - offset < wanted else offset + wanted - 1
            wanted -= end - offset + 1
            row = h[at.RANGES_TAIL]
            state.ranges[row, 0], state.ranges[row, 1] = offset, end
            h[at.RANGES_TAIL] = row + 1
        offset = end + 1
    return most - wanted
