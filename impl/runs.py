"""The tracked records as runs: find, cut, insert, drop and join ranges of offsets."""

from impl.jit import compiled
from impl.layout import (
    ACKNOWLEDGED,
    ACQUIRED,
    ACQUISITION,
    ARCHIVED,
    AVAILABLE,
    COUNT,
    COUNTS,
    DEADLINE,
    DOWN,
    FIRST,
    HEAD,
    IN_PROGRESS,
    LAST,
    LAST_PROGRESS,
    MARKED_RUN_COLUMNS,
    MARKS,
    NO_WRITE,
    NOBODY,
    OWNER,
    PROGRESS_START,
    RESTORE,
    RUN_COLUMNS,
    STATE,
    STATES,
    TAIL,
    UP,
    WRITE,
)
from impl.rows import Ints, copy_row, move_rows

__all__ = [
    "cut",
    "drop_all",
    "drop_below",
    "is_finished",
    "is_free",
    "is_held",
    "join",
    "put",
    "seek",
    "set_state",
    "terminal",
    "tracked",
]


@compiled
def seek(header: Ints, runs: Ints, offset: int) -> int:
    """Return the index of the first run that ends at or after ``offset``, or the tail."""
    low: int = header[HEAD]
    high: int = header[TAIL]
    while low < high:
        middle = (low + high) >> 1
        if runs[middle, LAST] < offset:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _open_row(header: Ints, runs: Ints, index: int) -> int:
    """Make room for one row at ``index``, moving the shorter side; return where it is now."""
    head, tail = header[HEAD], header[TAIL]
    if head > 0 and index - head < tail - index:
        move_rows(runs, head, index, DOWN)
        header[HEAD] = head - 1
        return index - 1
    move_rows(runs, index, tail, UP)
    header[TAIL] = tail + 1
    return index


@compiled
def _close_rows(header: Ints, runs: Ints, low: int, high: int) -> None:
    """Remove the rows from ``low`` up to ``high``, moving the shorter side."""
    head, tail = header[HEAD], header[TAIL]
    gone = high - low
    if low - head < tail - high:
        move_rows(runs, head, low, gone)
        header[HEAD] = head + gone
        return
    move_rows(runs, high, tail, -gone)
    header[TAIL] = tail - gone


@compiled
def cut(header: Ints, runs: Ints, offset: int) -> int:
    """Cut the run that ``offset`` is inside of; return the index of the first run from there on.

    A cut may move earlier rows: of two cuts, make the one at the higher offset first.
    """
    i = seek(header, runs, offset)
    if i == header[TAIL] or runs[i, FIRST] >= offset:
        return i
    i = _open_row(header, runs, i)
    copy_row(runs, i, runs, i + 1)
    runs[i, LAST] = offset - 1
    runs[i + 1, FIRST] = offset
    return i + 1


@compiled
def put(header: Ints, runs: Ints, index: int, first: int, last: int) -> int:
    """Track records that were never delivered, as a run before ``index``; return where it is."""
    i = _open_row(header, runs, index)
    runs[i, FIRST], runs[i, LAST], runs[i, STATE] = first, last, AVAILABLE
    runs[i, OWNER], runs[i, WRITE] = NOBODY, NO_WRITE
    runs[i, COUNT] = runs[i, DEADLINE] = runs[i, RESTORE] = 0
    if header[MARKS]:
        runs[i, ACQUISITION] = runs[i, PROGRESS_START] = runs[i, LAST_PROGRESS] = 0
    header[COUNTS + AVAILABLE] += last - first + 1
    return i


@compiled
def set_state(header: Ints, runs: Ints, index: int, state: int) -> None:
    """Change the state of a whole run."""
    number = runs[index, LAST] - runs[index, FIRST] + 1
    header[COUNTS + runs[index, STATE]] -= number
    header[COUNTS + state] += number
    runs[index, STATE] = state


@compiled
def drop_below(header: Ints, runs: Ints, start: int) -> None:
    """Forget the records below ``start``."""
    i = cut(header, runs, start)
    for row in range(header[HEAD], i):
        header[COUNTS + runs[row, STATE]] -= runs[row, LAST] - runs[row, FIRST] + 1
    header[HEAD] = i


@compiled
def drop_all(header: Ints) -> None:
    """Forget all records."""
    header[TAIL] = header[HEAD]
    for state in range(STATES):
        header[COUNTS + state] = 0


@compiled
def join(header: Ints, runs: Ints, first: int, last: int) -> None:
    """Make one of adjacent equal runs, wherever they meet from ``first - 1`` to ``last + 1``."""
    into = seek(header, runs, first - 1)
    tail = header[TAIL]
    i = into + 1
    while i < tail and runs[i, FIRST] <= last + 1:
        same = runs[i, FIRST] == runs[into, LAST] + 1
        for column in range(STATE, RUN_COLUMNS):
            same &= runs[i, column] == runs[into, column]
        if header[MARKS]:
            for column in range(RUN_COLUMNS, MARKED_RUN_COLUMNS):
                same &= runs[i, column] == runs[into, column]
        if same:
            runs[into, LAST] = runs[i, LAST]
        else:
            into += 1
            if into < i:
                copy_row(runs, into, runs, i)
        i += 1
    if into + 1 < i:
        _close_rows(header, runs, into + 1, i)


@compiled
def is_free(runs: Ints, index: int) -> bool:
    """Tell whether a run can be acquired: AVAILABLE, and no write of it outstanding."""
    available: bool = runs[index, STATE] == AVAILABLE and runs[index, WRITE] == NO_WRITE
    return available


@compiled
def is_held(runs: Ints, index: int) -> bool:
    """Tell whether a member holds a run: ACQUIRED or IN_PROGRESS, and no write outstanding."""
    return runs[index, STATE] in (ACQUIRED, IN_PROGRESS) and bool(runs[index, WRITE] == NO_WRITE)


@compiled
def is_finished(runs: Ints, index: int) -> bool:
    """Tell whether the start offset may pass a run: terminal, and no write of it outstanding."""
    return runs[index, STATE] in (ACKNOWLEDGED, ARCHIVED) and bool(runs[index, WRITE] == NO_WRITE)


@compiled
def terminal(header: Ints) -> int:
    """Return the number of tracked records that are ACKNOWLEDGED or ARCHIVED."""
    number: int = header[COUNTS + ACKNOWLEDGED] + header[COUNTS + ARCHIVED]
    return number


@compiled
def tracked(header: Ints) -> int:
    """Return the number of tracked records."""
    number: int = 0
    for state in range(STATES):
        number += header[COUNTS + state]
    return number
