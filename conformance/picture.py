"""Records around a deviation: before it, as observed, and as expected."""

from collections.abc import Sequence

import attrs

from conformance.campaign import Fault
from judge.compare import record_segments
from judge.mismatch import Segment, first_difference
from model.checks import MAX_INT64
from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState

MAX_COLUMNS = 16
"""How many offsets a picture shows."""

CODES = {
    RecordState.AVAILABLE: "AVL",
    RecordState.ACQUIRED: "ACQ",
    RecordState.ACKNOWLEDGED: "ACK",
    RecordState.ARCHIVING: "DLQ",
    RecordState.ARCHIVED: "ARC",
    RecordState.IN_PROGRESS: "INP",
}
"""The abbreviations of the states."""


@attrs.frozen
class Cell:
    """One offset in one state; ``record`` is None where no record is known to be in flight.

    ``place``: below the start offset, inside the window, or after it. ``differs``: the observed
    record is not the expected one.
    """

    offset: int
    record: RecordRange | None
    place: str
    differs: bool = False


@attrs.frozen
class Row:
    """The visible part of one state of the share-partition."""

    title: str
    state: SharePartitionSnapshot
    cells: tuple[Cell, ...]


@attrs.frozen
class Picture:
    """The columns are offsets; ``more_before`` and ``more_after``: others are not shown."""

    offsets: range
    rows: tuple[Row, ...]
    more_before: bool
    more_after: bool


def picture(fault: Fault[object]) -> Picture | None:
    """Return the picture of a deviation; None if no state is known."""
    states = _states(fault)
    if not states:
        return None
    shown = [state for _title, state in states]
    low = max(0, min(_lowest(state) for state in shown) - 1)
    end = max(_highest(state) for state in shown) + 2
    wanted = dict(states).get(_EXPECTED)
    observed = dict(states).get(_OBSERVED)
    compared = (observed, wanted) if observed and wanted else (shown[0], shown[-1])
    different = first_difference(*(_segments(state) for state in compared))
    offsets = _around(range(low, end), different and different[0])
    rows = tuple(
        Row(title, state, tuple(_cell(state, o, wanted, title) for o in offsets))
        for title, state in states
    )
    return Picture(offsets, rows, offsets.start > low, offsets.stop < end)


_BEFORE, _OBSERVED, _EXPECTED = "before", "observed", "expected"


def _states(fault: Fault[object]) -> list[tuple[str, SharePartitionSnapshot]]:
    before = next((s.state for s in reversed(fault.steps[:-1]) if s.state is not None), None)
    observed = fault.steps[-1].state if fault.steps else None
    known = {_BEFORE: before, _OBSERVED: observed, _EXPECTED: fault.deviation.state}
    return [(title, state) for title, state in known.items() if state is not None]


def _records(state: SharePartitionSnapshot) -> Sequence[RecordRange]:
    return state.records or ()


def _lowest(state: SharePartitionSnapshot) -> int:
    return min([state.start_offset, *(record.first for record in _records(state))])


def _highest(state: SharePartitionSnapshot) -> int:
    return max([state.end_offset - 1, *(record.last for record in _records(state))])


def _around(offsets: range, offset: int | None) -> range:
    """Return at most so many offsets as are shown, that one among them."""
    if len(offsets) <= MAX_COLUMNS:
        return offsets
    middle = offsets.start if offset is None else offset
    first = min(max(offsets.start, middle - MAX_COLUMNS // 2), offsets.stop - MAX_COLUMNS)
    return range(first, first + MAX_COLUMNS)


def _segments(state: SharePartitionSnapshot) -> list[Segment]:
    """Return the known state of every offset: None in the window where never delivered."""
    start, end = state.start_offset, state.end_offset
    below = [(0, start - 1, "below")] if start else []
    return [*below, *record_segments(state.records, state), (end, MAX_INT64, "after")]


def _known(state: SharePartitionSnapshot, offset: int) -> object:
    return next((what for first, last, what in _segments(state) if first <= offset <= last), None)


def _cell(
    state: SharePartitionSnapshot, offset: int, wanted: SharePartitionSnapshot | None, title: str
) -> Cell:
    compared = title == _OBSERVED and wanted is not None and state.records is not None
    differs = compared and wanted is not None and _known(state, offset) != _known(wanted, offset)
    return Cell(offset, _record(state, offset), _place(state, offset), differs)


def _record(state: SharePartitionSnapshot, offset: int) -> RecordRange | None:
    return next((r for r in _records(state) if r.first <= offset <= r.last), None)


def _place(state: SharePartitionSnapshot, offset: int) -> str:
    if offset < state.start_offset:
        return "below"
    return "after" if offset >= state.end_offset else "inside"
