"""A member marks the records that it is processing as in progress."""

from typing import NamedTuple

from impl import layout as at
from impl.jit import compiled, entry_point
from impl.rows import Ints
from impl.runs import cut_out, is_held, join, seek, set_state
from impl.state import State
from impl.window import finish, later

_NO_MARKS = at.verdict(at.NO_MARKS)


class Mark(NamedTuple):
    """The request of a member: ``batches`` of (first, last, leader epoch, acquisition number)."""

    member: int
    batches: Ints


@entry_point
def mark_in_progress(state: State, mark: Mark, start: int) -> int:
    """Mark records as in progress, each batch by itself (KAFKA-20458, MarkInProgressRequest).

    ``start``: the start offset chosen after it. Returns a verdict; ``state.ranges`` then has the
    status of each batch in its first column.
    """
    h = state.header
    if not h[at.MARKS]:
        return _NO_MARKS
    h[at.STATUS] = at.S_NONE
    for batch in range(mark.batches.shape[0]):
        state.ranges[batch, 0] = _mark(state, mark, batch)
    h[at.MARKED_TAIL] = mark.batches.shape[0]
    return finish(state, start)


@compiled
def _mark(state: State, mark: Mark, batch: int) -> int:
    """Mark the records of a batch, or none of them; return its status.

    Offsets below the start offset and offsets that were never in flight are ignored.
    """
    h, runs = state.header, state.runs
    first, last = mark.batches[batch, 0], mark.batches[batch, 1]
    if first < 0 or last < first or last >= h[at.END]:
        return at.S_INVALID_REQUEST
    i = seek(h, runs, first)
    while i < h[at.TAIL] and runs[i, at.FIRST] <= last:
        if not _can_mark(h, runs, i, mark, batch):
            return at.S_INVALID_RECORD_STATE
        i += 1
    _extend(h, runs, first, last)
    return at.S_NONE


@compiled
def _can_mark(header: Ints, runs: Ints, index: int, mark: Mark, batch: int) -> bool:
    """Tell whether a member may mark a run: it owns the delivery that the batch names."""
    if not is_held(runs, index) or runs[index, at.OWNER] != mark.member:
        return False
    epoch, acquisition = mark.batches[batch, 2], mark.batches[batch, 3]
    if epoch != header[at.LEADER_EPOCH] or acquisition != runs[index, at.ACQUISITION]:
        return False
    if runs[index, at.STATE] != at.IN_PROGRESS:
        return True
    return bool(header[at.NOW] - runs[index, at.PROGRESS_START] < header[at.EXTENSION])


@compiled
def _extend(header: Ints, runs: Ints, first: int, last: int) -> None:
    """Note progress in a range that the member holds: the lock lasts while progress is fresh.

    It lasts no longer than the maximum extension after the first mark; but a lock that lasts longer
    already, since durations were longer, stays as it is.
    """
    i = cut_out(header, runs, first, last)
    now = header[at.NOW]
    while i < header[at.TAIL] and runs[i, at.FIRST] <= last:
        if runs[i, at.STATE] != at.IN_PROGRESS:
            set_state(header, runs, i, at.IN_PROGRESS)
            runs[i, at.PROGRESS_START] = now
        runs[i, at.LAST_PROGRESS] = now
        longest = later(runs[i, at.PROGRESS_START], header[at.EXTENSION])
        fresh = min(later(now, header[at.STALENESS]), longest)
        runs[i, at.DEADLINE] = max(runs[i, at.DEADLINE], fresh)
        header[at.NEXT_DEADLINE] = min(header[at.NEXT_DEADLINE], runs[i, at.DEADLINE])
        i += 1
    join(header, runs, first, last)
