"""Records around a deviation as a table: before it, as observed, and as expected."""

from conformance.campaign import Fault
from judge.compare import record_segments
from judge.mismatch import Segment, first_difference
from model.checks import MAX_INT64
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState
from report.document import Grid, Toned, Words

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

_BELOW, _AFTER, _UNTOUCHED, _UNTOLD = "–", "", "·", "?"
_LEGEND = (
    "AVL available, ACQ acquired, ACK acknowledged, DLQ archiving, ARC archived, INP in progress; "
    "× delivery count, … being written, ≠ differs, – below the start offset, · never delivered, "
    "? not told."
)


def picture(fault: Fault[object]) -> Grid | None:
    """Return a column for each offset, at most ``MAX_COLUMNS`` around the first difference.

    None if no state is known. The cells of what was observed say where they differ.
    """
    states = _states(fault)
    if not states:
        return None
    shown = list(states.values())
    low = max(0, min(_lowest(state) for state in shown) - 1)
    end = max(_highest(state) for state in shown) + 2
    wanted, observed = states.get("expected"), states.get("observed")
    compared = (observed, wanted) if observed and wanted else (shown[0], shown[-1])
    different = first_difference(*map(_segments, compared))
    offsets = _around(range(low, end), different and different[0])
    rows = []
    for title, state in states.items():
        due = wanted if title == "observed" and state.records is not None else None
        cells = (_cell(_at(state, o), _at(due, o) if due else None) for o in offsets)
        rows.append((_titled(title, state), *cells))
    cut = offsets.start > low or offsets.stop < end
    legend = _LEGEND + (" Offsets further away are left out." if cut else "")
    columns = ("offset", *map(str, offsets))
    return Grid(columns, tuple(rows), kind="picture", caption=legend, most=0)


def _states(fault: Fault[object]) -> dict[str, SharePartitionSnapshot]:
    before = next((s.state for s in reversed(fault.steps[:-1]) if s.state is not None), None)
    observed = fault.steps[-1].state if fault.steps else None
    known = {"before": before, "observed": observed, "expected": fault.deviation.state_expected}
    return {title: state for title, state in known.items() if state is not None}


def _titled(title: str, state: SharePartitionSnapshot) -> str:
    complete = state.delivery_complete_count
    return f"{title}: start {state.start_offset}, end {state.end_offset}, complete {complete}"


def _lowest(state: SharePartitionSnapshot) -> int:
    return min([state.start_offset, *(record.first for record in state.records or ())])


def _highest(state: SharePartitionSnapshot) -> int:
    return max([state.end_offset - 1, *(record.last for record in state.records or ())])


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
    below = [(0, start - 1, _BELOW)] if start else []
    return [*below, *record_segments(state.records, state), (end, MAX_INT64, _AFTER)]


def _at(state: SharePartitionSnapshot, offset: int) -> tuple[str, str]:
    """Return an offset of a state in a few words, and the class of its cell on a page."""
    for first, last, known in _segments(state):
        if first <= offset <= last:
            if isinstance(known, str):
                return known, "below" if known is _BELOW else "after"
            record, count, owner, pending = known
            waits = "…" if pending else ""
            return f"{CODES[record]} ×{count}{waits} {(owner or '')[:12]}".strip(), CODES[record]
    return (_UNTOLD if state.records is None else _UNTOUCHED), "inside"


def _cell(known: tuple[str, str], due: tuple[str, str] | None) -> Words:
    text, kind = known
    differs = due is not None and known != due
    return Toned(f"≠ {text}" if differs else text, f"{kind} differs" if differs else kind)
