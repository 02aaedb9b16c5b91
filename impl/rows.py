"""Rows of an array: copied, moved and sorted in place, and found by offset."""

import numpy as np
import numpy.typing as npt

from impl.jit import compiled

Ints = npt.NDArray[np.int64]


@compiled
def copy_row(target: Ints, to: int, source: Ints, row: int) -> None:
    """Copy a row of one array over that of another, which has at least as many columns.

    Column by column: of a whole row Numba would make a view, which costs more than the copy.
    """
    for column in range(source.shape[1]):
        target[to, column] = source[row, column]


@compiled
def move_rows(rows: Ints, low: int, high: int, by: int) -> None:
    """Move the rows from ``low`` up to ``high`` by so many rows, up or down."""
    if by < 0:
        for row in range(low, high):
            copy_row(rows, row + by, rows, row)
    else:
        for row in range(high - 1, low - 1, -1):
            copy_row(rows, row + by, rows, row)


@compiled
def seek_range(rows: Ints, low: int, high: int, offset: int) -> int:
    """Return the first of the rows from ``low`` that ends at or after ``offset``, or ``high``.

    Of ascending ranges: the first two columns are the first and the last offset of each.
    """
    if low == high or rows[high - 1, 1] < offset:
        return high
    end = high
    while low < end:
        middle = (low + end) >> 1
        if rows[middle, 1] < offset:
            low = middle + 1
        else:
            end = middle
    return low


@compiled
def sort_rows(rows: Ints, low: int, high: int) -> None:
    """Sort the rows from ``low`` up to ``high`` by their first column: fast if they are sorted."""
    is_sorted = True
    for row in range(low + 1, high):
        is_sorted &= rows[row - 1, 0] <= rows[row, 0]
    step = high - low
    while not is_sorted and step > 1:
        step = max(1, (5 * step) // 11)
        for i in range(low + step, high):
            j = i
            while j >= low + step and rows[j - step, 0] > rows[j, 0]:
                for column in range(rows.shape[1]):
                    moved = rows[j, column]
                    rows[j, column] = rows[j - step, column]
                    rows[j - step, column] = moved
                j -= step
