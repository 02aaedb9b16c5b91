"""What a share-partition knows of its log: the batches that were produced, and the holes.

An offset exists if it lies in a produced batch and in no hole; in a hole it is absent; of any
other offset nothing is known.
"""

from impl import layout as at
from impl.jit import compiled
from impl.rows import Ints, move_rows, seek_range
from impl.state import State


@compiled
def seek_hole(header: Ints, holes: Ints, offset: int) -> int:
    """Return the index of the first hole that ends at or after ``offset``, or the tail."""
    return seek_range(holes, header[at.HOLES_HEAD], header[at.HOLES_TAIL], offset)


@compiled
def seek_batch(state: State, offset: int) -> int:
    """Return the index of the first batch that ends at or after ``offset``, or the tail."""
    h = state.header
    return seek_range(state.log, h[at.LOG_HEAD], h[at.LOG_TAIL], offset)


@compiled
def learn_hole(header: Ints, holes: Ints, first: int, last: int) -> None:
    """Note that the offsets from ``first`` to ``last`` are not in the log (natural gaps)."""
    if first > last:
        return
    tail = header[at.HOLES_TAIL]
    i = after = seek_hole(header, holes, first - 1)
    while after < tail and holes[after, 0] <= last + 1:
        first, last = min(first, holes[after, 0]), max(last, holes[after, 1])
        after += 1
    more = i + 1 - after
    if more != 0:
        move_rows(holes, after, tail, more)
        header[at.HOLES_TAIL] = tail + more
    holes[i, 0], holes[i, 1] = first, last


@compiled
def learn_batch(state: State, first: int, last: int) -> None:
    """Note a batch that was appended to the log."""
    row = state.header[at.LOG_TAIL]
    state.log[row, 0], state.log[row, 1] = first, last
    state.header[at.LOG_TAIL] = row + 1


@compiled
def truncate(state: State, end: int) -> None:
    """Forget batches and holes at and above ``end``; shorten those across it."""
    h, log, holes = state.header, state.log, state.holes
    while h[at.HOLES_TAIL] > h[at.HOLES_HEAD] and holes[h[at.HOLES_TAIL] - 1, 0] >= end:
        h[at.HOLES_TAIL] -= 1
    if h[at.HOLES_TAIL] > h[at.HOLES_HEAD]:
        last = h[at.HOLES_TAIL] - 1
        holes[last, 1] = min(holes[last, 1], end - 1)
    while h[at.LOG_TAIL] > h[at.LOG_HEAD] and log[h[at.LOG_TAIL] - 1, 0] >= end:
        h[at.LOG_TAIL] -= 1
    if h[at.LOG_TAIL] > h[at.LOG_HEAD]:
        last = h[at.LOG_TAIL] - 1
        log[last, 1] = min(log[last, 1], end - 1)


@compiled
def forget_log_below(state: State, floor: int) -> None:
    """Forget the batches and holes that end below ``floor``."""
    h, log, holes = state.header, state.log, state.holes
    while h[at.HOLES_HEAD] < h[at.HOLES_TAIL] and holes[h[at.HOLES_HEAD], 1] < floor:
        h[at.HOLES_HEAD] += 1
    while h[at.LOG_HEAD] < h[at.LOG_TAIL] and log[h[at.LOG_HEAD], 1] < floor:
        h[at.LOG_HEAD] += 1


@compiled
def first_existing(state: State, low: int, high: int) -> int:
    """Return the first offset of [low, high) that exists, or ``high``."""
    h = state.header
    if h[at.LOG_HEAD] == h[at.LOG_TAIL] or low >= high:
        return high
    return first_present(state, state.log[seek_batch(state, low) : h[at.LOG_TAIL]], low, high)


@compiled
def first_present(state: State, batches: Ints, low: int, high: int) -> int:
    """Return the first offset of [low, high) that is in a batch and in no hole, or ``high``."""
    h, holes = state.header, state.holes
    batch, hole, offset = 0, seek_hole(h, holes, low), low
    while True:
        while batch < batches.shape[0] and batches[batch, 1] < offset:
            batch += 1
        if batch == batches.shape[0] or max(offset, batches[batch, 0]) >= high:
            return high
        offset = max(offset, batches[batch, 0])
        while hole < h[at.HOLES_TAIL] and holes[hole, 1] < offset:
            hole += 1
        if hole == h[at.HOLES_TAIL] or holes[hole, 0] > offset:
            return int(offset)
        offset = holes[hole, 1] + 1


@compiled
def first_not_absent(state: State, low: int, high: int) -> int:
    """Return the first offset of [low, high) that is in no hole, or ``high``."""
    h, holes = state.header, state.holes
    hole, offset = seek_hole(h, holes, low), low
    while offset < high and hole < h[at.HOLES_TAIL] and holes[hole, 0] <= offset:
        offset = holes[hole, 1] + 1
        hole += 1
    return min(offset, high)


@compiled
def readable_end(header: Ints) -> int:
    """Return the offset where reads end: the log's end, or the last stable offset before it."""
    end: int = header[at.LOG_END]
    if header[at.COMMITTED_ONLY]:
        end = min(end, header[at.STABLE])
    return end
