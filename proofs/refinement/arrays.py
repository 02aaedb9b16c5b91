"""The arrays of the implementation that stand for a value of the specification.

Both sides tell their whole state as one neutral value (``model.whole_state``), and the
implementation goes on from it: so arrays are made for a value, and arrays tell what they stand for.
"""

from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from impl import layout as at
from impl.partition import FastSharePartition
from impl.rows import Ints
from impl.state import State
from judge.whole_state import whole_state
from spec.partition import SharePartition

_HELD = (int(at.ACQUIRED), int(at.IN_PROGRESS))
_NO_WRITE = int(at.NO_WRITE)
_WORN_ROWS, _WORN_SERIALS, _ROWS_BEFORE = 3, 10, 200
_Row: TypeAlias = list[int]


ArrayForm: TypeAlias = Literal["new", "worn", "full", "behind"]
"""How arrays stand for a value. ``new``: as the implementation begins, in runs as long as possible.

``worn``: as after a longer life. The runs begin further back in their array, those that wait for a
write are cut, the numbers of changes are higher, the next deadline is a lower bound, and what is
durable waits in the journal to be merged. ``full``: no array has room, so that every operation
needs larger ones. ``behind``: runs, holes and log batches have room before them alone, so that
every operation moves them to the front.
"""

_FROM_A_HEAD = {
    "runs": (at.HEAD, at.TAIL),
    "holes": (at.HOLES_HEAD, at.HOLES_TAIL),
    "log": (at.LOG_HEAD, at.LOG_TAIL),
}
_FROM_THE_FRONT = {
    "outstanding": at.OUTSTANDING_TAIL,
    "pending": at.PENDING_TAIL,
    "durable": at.DURABLE_TAIL,
    "journal": at.JOURNAL_TAIL,
    "waiting": at.WAITING_TAIL,
}
_OF_ANSWERS = ("acquired", "writes", "batches", "ranges")


def concrete(partition: SharePartition, form: ArrayForm = "new") -> FastSharePartition:
    """Return an implementation whose state stands for ``partition``."""
    impl = FastSharePartition.resumed(partition.profile, whole_state(partition))
    state = arrays_of(impl)
    if form == "worn":
        _wear(state)
    elif form == "full":
        put_back(impl, _without_room(_moved_back(state, 0)))
    elif form == "behind":
        put_back(impl, _moved_back(state, _ROWS_BEFORE))
    return impl


def arrays_of(impl: FastSharePartition) -> State:
    """Return the arrays of an implementation, which every operation replaces."""
    return impl._state  # noqa: SLF001 - the arrays are what is compared


def told(impl: FastSharePartition) -> tuple[object, ...]:
    """Return all that an implementation knows: its arrays, and the names of members."""
    return *impl._members.names, *(array.tobytes() for array in impl._state)  # noqa: SLF001 - as above


def put_back(impl: FastSharePartition, state: State) -> None:
    """Give an implementation arrays that it had, which its next operation leaves as they are."""
    impl._state, impl._spare = state, None  # noqa: SLF001


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
    for name, (head, tail) in _FROM_A_HEAD.items():
        array = getattr(state, name)
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


def _moved_back(state: State, before: int) -> State:
    """Return the state with so many rows before runs, holes and log batches, and none behind."""
    header, moved = state.header, {}
    for name, (head, tail) in _FROM_A_HEAD.items():
        array = getattr(state, name)
        empty = np.zeros((before, array.shape[1]), np.int64)
        moved[name] = np.concatenate([empty, array[header[head] : header[tail]]])
        header[head], header[tail] = before, len(moved[name])
    return state._replace(**moved)


def _without_room(state: State) -> State:
    used = {name: int(state.header[tail]) for name, tail in _FROM_THE_FRONT.items()}
    used |= dict.fromkeys(_OF_ANSWERS, 0)
    return state._replace(**{n: getattr(state, n)[:rows].copy() for n, rows in used.items()})


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
