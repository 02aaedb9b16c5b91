"""The arrays of the implementation that stand for a value of the specification.

Both sides tell their whole state as one neutral value (``model.whole_state``), and the
implementation goes on from it: so arrays are made for a value, and arrays tell what they stand for.
"""

from itertools import pairwise
from typing import TypeAlias

import numpy as np

from impl import layout as at
from impl.partition import FastSharePartition
from impl.rows import Ints
from impl.state import State
from judge.whole_state import whole_state
from spec.partition import SharePartition

_HELD = (int(at.ACQUIRED), int(at.IN_PROGRESS))
_NO_WRITE = int(at.NO_WRITE)
_WORN_ROWS, _WORN_SERIALS = 3, 10
_Row: TypeAlias = list[int]


def concrete(partition: SharePartition, *, worn: bool = False) -> FastSharePartition:
    """Return an implementation whose state stands for ``partition``, in runs as long as possible.

    ``worn``: as after a longer life. The runs begin further back in their array, those that wait
    for a write are cut, the numbers of changes are higher, the next deadline is a lower bound, and
    what is durable waits in the journal to be merged.
    """
    impl = FastSharePartition.resumed(partition.profile, whole_state(partition))
    if worn:
        _wear(arrays_of(impl))
    return impl


def arrays_of(impl: FastSharePartition) -> State:
    """Return the arrays of an implementation, which every operation replaces."""
    return impl._state  # noqa: SLF001 - the arrays are what is compared


def malformed(impl: FastSharePartition) -> str | None:
    """Return what the arrays break that every operation relies on, in words; None if nothing.

    Runs ascend, are disjoint and as long as possible, and the last ends with the window; what is
    counted of them is right; no lock ends before the next deadline; numbers of changes are fresh.
    """
    state = arrays_of(impl)
    header, outstanding = state.header, state.outstanding
    rows = state.runs[header[at.HEAD] : header[at.TAIL]].tolist()
    made_after = outstanding[: header[at.OUTSTANDING_TAIL], at.O_MADE_AFTER]
    faults = (
        ("the runs do not ascend", not _ascend(rows)),
        ("two runs are equal", any(_is_one(*pair) for pair in pairwise(rows))),
        ("the window does not end with a run", not _ends(header, rows)),
        ("a lock ends before the next deadline", not _is_bound(header[at.NEXT_DEADLINE], rows)),
        ("a change has no number", any(r[at.WRITE] >= header[at.NEXT_SERIAL] for r in rows)),
        ("the counts are not of the runs", _counts(header) != _counted(rows)),
        ("some writes are not made", (made_after != at.MADE).sum() != header[at.UNMADE]),
    )
    return next((f"{fault}: {rows}" for fault, is_so in faults if is_so), None)


def _wear(state: State) -> None:
    header = state.header
    for array, head, tail in (
        (state.runs, at.HEAD, at.TAIL),
        (state.holes, at.HOLES_HEAD, at.HOLES_TAIL),
        (state.log, at.LOG_HEAD, at.LOG_TAIL),
    ):
        rows = array[header[head] : header[tail]].tolist()
        rows = _cut(rows) if array is state.runs else rows
        header[head], header[tail] = _WORN_ROWS, _WORN_ROWS + len(rows)
        array[_WORN_ROWS : header[tail]] = np.array(rows, np.int64).reshape(-1, array.shape[1])
    for numbers in (
        state.runs[_WORN_ROWS : header[at.TAIL], at.WRITE],
        state.outstanding[: header[at.OUTSTANDING_TAIL], at.O_SERIAL],
    ):
        numbers[numbers != at.NO_WRITE] += _WORN_SERIALS
    header[at.NEXT_SERIAL] += _WORN_SERIALS
    header[at.NEXT_DEADLINE] = 0
    count = header[at.DURABLE_TAIL]
    state.journal[:count] = state.durable[:count]
    header[at.JOURNAL_TAIL], header[at.DURABLE_TAIL] = count, 0


def _cut(rows: list[_Row]) -> list[_Row]:
    """Return the runs with each record that waits for a write alone."""
    return [
        [first, last, *row[at.STATE :]]
        for row in rows
        for first, last in (
            [(row[at.FIRST], row[at.LAST])]
            if row[at.WRITE] == _NO_WRITE
            else [(offset, offset) for offset in range(row[at.FIRST], row[at.LAST] + 1)]
        )
    ]


def _ascend(rows: list[_Row]) -> bool:
    return all(row[at.FIRST] <= row[at.LAST] for row in rows) and all(
        run[at.LAST] < following[at.FIRST] for run, following in pairwise(rows)
    )


def _is_one(first: _Row, second: _Row) -> bool:
    """Tell whether two runs must be one. Those of an outstanding write are joined at its end."""
    alike = first[at.LAST] + 1 == second[at.FIRST] and first[at.STATE :] == second[at.STATE :]
    return alike and first[at.WRITE] == _NO_WRITE


def _ends(header: Ints, rows: list[_Row]) -> bool:
    if header[at.START] == header[at.END]:
        return not rows
    return bool(rows) and rows[-1][at.LAST] + 1 == header[at.END]


def _is_bound(deadline: int, rows: list[_Row]) -> bool:
    locked = (row for row in rows if row[at.STATE] in _HELD and row[at.WRITE] == _NO_WRITE)
    return all(row[at.DEADLINE] >= deadline for row in locked)


def _counts(header: Ints) -> list[int]:
    counts: list[int] = header[at.COUNTS : at.COUNTS + at.STATES].tolist()
    return counts


def _counted(rows: list[_Row]) -> list[int]:
    counts = [0] * at.STATES
    for row in rows:
        counts[row[at.STATE]] += row[at.LAST] - row[at.FIRST] + 1
    return counts
