"""A member marks the records that it is at work on as in progress."""

from typing import NamedTuple

from impl.jit import compiled, entry_point
from impl.layout import (
    ACQUISITION,
    DEADLINE,
    END,
    EXTENSION,
    FIRST,
    IN_PROGRESS,
    LAST_PROGRESS,
    LEADER_EPOCH,
    MARKED_TAIL,
    MARKS,
    NEXT_DEADLINE,
    NO_MARKS,
    NOW,
    OWNER,
    PROGRESS_START,
    S_INVALID_RECORD_STATE,
    S_INVALID_REQUEST,
    S_NONE,
    STALENESS,
    STATE,
    STATUS,
    TAIL,
    verdict,
)
from impl.rows import Ints
from impl.runs import cut, is_held, join, seek, set_state
from impl.state import State
from impl.window import finish, later

__all__ = ["Mark", "mark_in_progress"]

_NO_MARKS = verdict(NO_MARKS)


class Mark(NamedTuple):
    """What a member sent: ``batches`` of (first, last, leader epoch, acquisition number)."""

    member: int
    batches: Ints


@entry_point
def mark_in_progress(state: State, mark: Mark, start: int) -> int:
    """Mark records as in progress, each batch by itself (KAFKA-20458, MarkInProgressRequest).

    ``start``: the start offset chosen after it. Returns a verdict; ``state.ranges`` then has the
    status of each batch in its first column.
    """
    h = state.header
    if not h[MARKS]:
        return _NO_MARKS
    h[STATUS] = S_NONE
    for batch in range(mark.batches.shape[0]):
        state.ranges[batch, 0] = _mark(state, mark, batch)
    h[MARKED_TAIL] = mark.batches.shape[0]
    return finish(state, start)


@compiled
def _mark(state: State, mark: Mark, batch: int) -> int:
    """Mark the records of a batch, or none of them; return its status.

    Offsets below the start offset and offsets that were never in flight do not count.
    """
    h, runs = state.header, state.runs
    first, last = mark.batches[batch, 0], mark.batches[batch, 1]
    if first < 0 or last < first or last >= h[END]:
        return S_INVALID_REQUEST
    i = seek(h, runs, first)
    while i < h[TAIL] and runs[i, FIRST] <= last:
        if not _can_mark(h, runs, i, mark, batch):
            return S_INVALID_RECORD_STATE
        i += 1
    _extend(h, runs, first, last)
    return S_NONE


@compiled
def _can_mark(header: Ints, runs: Ints, index: int, mark: Mark, batch: int) -> bool:
    """Tell whether a member may mark a run: it holds it by the delivery that the batch names."""
    if not is_held(runs, index) or runs[index, OWNER] != mark.member:
        return False
    epoch, acquisition = mark.batches[batch, 2], mark.batches[batch, 3]
    if epoch != header[LEADER_EPOCH] or acquisition != runs[index, ACQUISITION]:
        return False
    if runs[index, STATE] != IN_PROGRESS:
        return True
    return bool(header[NOW] - runs[index, PROGRESS_START] < header[EXTENSION])


@compiled
def _extend(header: Ints, runs: Ints, first: int, last: int) -> None:
    """Note progress in a range, all of it held: the lock lasts while the progress is fresh.

    It lasts no longer than the maximum extension after the first mark.
    """
    cut(header, runs, last + 1)
    i = cut(header, runs, first)
    now = header[NOW]
    while i < header[TAIL] and runs[i, FIRST] <= last:
        if runs[i, STATE] != IN_PROGRESS:
            set_state(header, runs, i, IN_PROGRESS)
            runs[i, PROGRESS_START] = now
        runs[i, LAST_PROGRESS] = now
        longest = later(runs[i, PROGRESS_START], header[EXTENSION])
        runs[i, DEADLINE] = min(later(now, header[STALENESS]), longest)
        header[NEXT_DEADLINE] = min(header[NEXT_DEADLINE], runs[i, DEADLINE])
        i += 1
    join(header, runs, first, last)
