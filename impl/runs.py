"""The tracked records as runs: find, cut, insert, drop and join ranges of offsets."""

from impl import layout as at
from impl.jit import compiled
from impl.rows import Ints, copy_row, move_rows, seek_range


@compiled
def seek(header: Ints, runs: Ints, offset: int) -> int:
    """Return the index of the first run that ends at or after ``offset``, or the tail."""
    return seek_range(runs, header[at.HEAD], header[at.TAIL], offset)


@compiled
def _open_row(header: Ints, runs: Ints, index: int) -> int:
    """Make room for one row at ``index``, moving the shorter side; return where it is now."""
    head, tail = header[at.HEAD], header[at.TAIL]
    if head > 0 and index - head < tail - index:
        move_rows(runs, head, index, at.DOWN)
        header[at.HEAD] = head - 1
        return index - 1
    move_rows(runs, index, tail, at.UP)
    header[at.TAIL] = tail + 1
    return index


@compiled
def _close_rows(header: Ints, runs: Ints, low: int, high: int) -> None:
    """Remove the rows from ``low`` up to ``high``, moving the shorter side."""
    head, tail = header[at.HEAD], header[at.TAIL]
    gone = high - low
    if low - head < tail - high:
        move_rows(runs, head, low, gone)
        header[at.HEAD] = head + gone
        return
    move_rows(runs, high, tail, -gone)
    header[at.TAIL] = tail - gone


@compiled
def cut(header: Ints, runs: Ints, offset: int) -> int:
    """Cut the run around ``offset``; return the index of the first run at or after it."""
    return _cut_row(header, runs, seek(header, runs, offset), offset)


@compiled
def cut_out(header: Ints, runs: Ints, first: int, last: int) -> int:
    """Cut the runs at both ends of a range; return the index of the first run at or after it.

    A cut may move earlier rows: that at the higher offset comes first.
    """
    i = seek(header, runs, first)
    if i < header[at.TAIL] and runs[i, at.FIRST] <= last < runs[i, at.LAST] and first <= last:
        return _cut_row(header, runs, _cut_row(header, runs, i, last + 1) - 1, first)
    cut(header, runs, last + 1)
    return cut(header, runs, first)


@compiled
def _cut_row(header: Ints, runs: Ints, index: int, offset: int) -> int:
    """Cut the run at ``index``, the first that ends at or after ``offset``; return as ``cut``."""
    if index == header[at.TAIL] or runs[index, at.FIRST] >= offset:
        return index
    i = _open_row(header, runs, index)
    copy_row(runs, i, runs, i + 1)
    runs[i, at.LAST] = offset - 1
    runs[i + 1, at.FIRST] = offset
    return i + 1


@compiled
def put(header: Ints, runs: Ints, index: int, first: int, last: int) -> int:
    """Track records that were never delivered, as a run before ``index``; return where it is."""
    i = _open_row(header, runs, index)
    runs[i, at.FIRST], runs[i, at.LAST], runs[i, at.STATE] = first, last, at.AVAILABLE
    runs[i, at.OWNER], runs[i, at.WRITE] = at.NOBODY, at.NO_WRITE
    runs[i, at.COUNT] = runs[i, at.DEADLINE] = runs[i, at.RESTORE] = 0
    if header[at.MARKS]:
        runs[i, at.ACQUISITION] = runs[i, at.PROGRESS_START] = runs[i, at.LAST_PROGRESS] = 0
    header[at.COUNTS + at.AVAILABLE] += last - first + 1
    return i


@compiled
def set_state(header: Ints, runs: Ints, index: int, state: int) -> None:
    """Change the state of a whole run."""
    number = runs[index, at.LAST] - runs[index, at.FIRST] + 1
    header[at.COUNTS + runs[index, at.STATE]] -= number
    header[at.COUNTS + state] += number
    runs[index, at.STATE] = state


@compiled
def drop_below(header: Ints, runs: Ints, start: int) -> None:
    """Forget the records below ``start``."""
    i = cut(header, runs, start)
    for row in range(header[at.HEAD], i):
        header[at.COUNTS + runs[row, at.STATE]] -= runs[row, at.LAST] - runs[row, at.FIRST] + 1
    header[at.HEAD] = i


@compiled
def drop_all(header: Ints) -> None:
    """Forget all records."""
    header[at.TAIL] = header[at.HEAD]
    for state in range(at.STATES):
        header[at.COUNTS + state] = 0


@compiled
def join(header: Ints, runs: Ints, first: int, last: int) -> None:
    """Join adjacent equal runs from ``first - 1`` to ``last + 1``."""
    into = seek(header, runs, first - 1)
    tail = header[at.TAIL]
    i = into + 1
    while i < tail and runs[i, at.FIRST] <= last + 1:
        same = runs[i, at.FIRST] == runs[into, at.LAST] + 1
        for column in range(at.STATE, at.RUN_COLUMNS):
            same &= runs[i, column] == runs[into, column]
        if header[at.MARKS]:
            for column in range(at.RUN_COLUMNS, at.MARKED_RUN_COLUMNS):
                same &= runs[i, column] == runs[into, column]
        if same:
            runs[into, at.LAST] = runs[i, at.LAST]
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
    available: bool = runs[index, at.STATE] == at.AVAILABLE and runs[index, at.WRITE] == at.NO_WRITE
    return available


@compiled
def is_held(runs: Ints, index: int) -> bool:
    """Tell whether a member holds a run: ACQUIRED or IN_PROGRESS, and no write outstanding."""
    has_no_write = bool(runs[index, at.WRITE] == at.NO_WRITE)
    return runs[index, at.STATE] in (at.ACQUIRED, at.IN_PROGRESS) and has_no_write


@compiled
def is_finished(runs: Ints, index: int) -> bool:
    """Tell whether the start offset may pass a run: terminal, and no write of it outstanding."""
    has_no_write = bool(runs[index, at.WRITE] == at.NO_WRITE)
    return runs[index, at.STATE] in (at.ACKNOWLEDGED, at.ARCHIVED) and has_no_write


@compiled
def terminal(header: Ints) -> int:
    """Return the number of tracked records that are ACKNOWLEDGED or ARCHIVED."""
    number: int = header[at.COUNTS + at.ACKNOWLEDGED] + header[at.COUNTS + at.ARCHIVED]
    return number


@compiled
def tracked(header: Ints) -> int:
    """Return the number of tracked records."""
    number: int = 0
    for state in range(at.STATES):
        number += header[at.COUNTS + state]
    return number
