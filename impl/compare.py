"""Compare a recorded event with what the share-partition did, offset by offset."""

from typing import NamedTuple

from impl import events as event
from impl import layout as at
from impl.events import Events
from impl.jit import compiled
from impl.leadership import LeaderStart
from impl.rows import Ints, sort_rows
from impl.state import State
from impl.writes import call_answered
from impl.written import WRITTEN_COMPLETE, WRITTEN_START, Earlier, compare_writes
from model.guards import Difference

_STATUS = at.verdict(Difference.STATUS)
_ACQUIRED = at.verdict(Difference.ACQUIRED)
_ACQUISITION = at.verdict(Difference.ACQUISITION)
_MARKED = at.verdict(Difference.MARKED)
_COMPLETED = at.verdict(Difference.COMPLETED)
_START = at.verdict(Difference.START_OFFSET)
_END = at.verdict(Difference.END_OFFSET)
_COMPLETE_COUNT = at.verdict(Difference.DELIVERY_COMPLETE_COUNT)
_RECORDS = at.verdict(Difference.RECORDS)


class RowSpan(NamedTuple):
    """Rows (first, last, values...) from ``low`` up to ``high``, ascending."""

    rows: Ints
    low: int
    high: int


@compiled
def _same_values(rows: Ints, row: int, other: Ints, other_row: int) -> bool:
    for column in range(2, rows.shape[1]):  # noqa: SIM110 - Numba compiles no generators
        if rows[row, column] != other[other_row, column]:
            return False
    return True


@compiled
def _first_denied(expected: RowSpan, recorded: Ints, row: int, first: int) -> int:
    """Return the first offset from ``first`` of a recorded range that was not expected, or -1."""
    offset, e = first, expected.low
    while offset <= recorded[row, 1]:
        while e < expected.high and expected.rows[e, 1] < offset:
            e += 1
        if e == expected.high or expected.rows[e, 0] > offset:
            return offset
        if not _same_values(expected.rows, e, recorded, row):
            return offset
        offset = int(expected.rows[e, 1]) + 1
    return at.NOWHERE


@compiled
def first_difference(expected: RowSpan, recorded: RowSpan, start: int) -> int:
    """Return the first offset from ``start`` of which two lists of ranges differ, or -1.

    A recorded range that repeats the one before it does not count.
    """
    e, offset = expected.low, start
    for r in range(recorded.low, recorded.high):
        first = max(int(recorded.rows[r, 0]), offset)
        if recorded.rows[r, 1] < first:
            continue
        while e < expected.high and expected.rows[e, 1] < offset:
            e += 1
        if e < expected.high and max(offset, expected.rows[e, 0]) < first:
            return max(offset, int(expected.rows[e, 0]))
        rest = RowSpan(expected.rows, e, expected.high)
        where = _first_denied(rest, recorded.rows, r, first)
        if where != at.NOWHERE:
            return where
        offset = int(recorded.rows[r, 1]) + 1
    while e < expected.high and expected.rows[e, 1] < offset:
        e += 1
    return max(offset, int(expected.rows[e, 0])) if e < expected.high else at.NOWHERE


@compiled
def compare(state: State, events: Events, row: int, before: Earlier, complete: int) -> int:
    """Return the verdict on a recorded event that no guard refused.

    ``complete``: the delivery complete count after it.
    """
    h, f = state.header, events.fields
    if f[event.OP, row] == event.SKIP_ACQUIRE:
        status_agrees = f[event.ACQUIRABLE, row] == 0
    else:
        status_agrees = f[event.RESULT, row] == h[at.STATUS]
    if not status_agrees:
        return _STATUS
    result = _compare_answers(state, events, row)
    if result == at.FINE:
        result = compare_writes(state, events, row, before)
    if result == at.FINE and not _completed_agree(h, events, row):
        result = _COMPLETED
    if result == at.FINE and f[event.AFTER_START, row] != h[at.START]:
        result = _START
    if result == at.FINE and f[event.AFTER_END, row] != h[at.END]:
        result = _END
    if result == at.FINE and f[event.AFTER_COMPLETE, row] != complete:
        result = _COMPLETE_COUNT
    if result == at.FINE and f[event.RECORDS_FROM, row] >= 0:
        recorded = RowSpan(events.records, f[event.RECORDS_FROM, row], f[event.RECORDS_TO, row])
        h[at.WHERE] = _records_differ(state, recorded)
        result = at.FINE if h[at.WHERE] == at.NOWHERE else _RECORDS
    return result


@compiled
def _compare_answers(state: State, events: Events, row: int) -> int:
    """Compare the rest of a member's answer: acquired records, acquisition number, marks."""
    h, f = state.header, events.fields
    recorded = RowSpan(events.acquired, f[event.ACQUIRED_FROM, row], f[event.ACQUIRED_TO, row])
    sort_rows(recorded.rows, recorded.low, recorded.high)
    taken = RowSpan(state.acquired, at.NOTHING, h[at.ACQUIRED_TAIL])
    where = first_difference(taken, recorded, at.LOWEST)
    if where != at.NOWHERE:
        h[at.WHERE] = where
        return _ACQUIRED
    if f[event.RECORDED_NUMBER, row] not in (event.MISSING, h[at.NUMBER]):
        return _ACQUISITION
    return at.FINE if _marked_agree(state, events, row) else _MARKED


@compiled
def _marked_agree(state: State, events: Events, row: int) -> bool:
    begin, number = events.fields[event.MARKED_FROM, row], state.header[at.MARKED_TAIL]
    if events.fields[event.MARKED_TO, row] - begin != number:
        return False
    for i in range(number):  # noqa: SIM110 - Numba compiles no generators
        if events.types[begin + i] != state.ranges[i, 0]:
            return False
    return True


@compiled
def compare_composed(state: State) -> int:
    """Return the verdict on the numbers of the writes that the latest call has made."""
    rows = state.outstanding
    if state.header[at.UNMADE] == 0:
        return at.FINE
    for row in range(state.header[at.OUTSTANDING_TAIL]):
        if rows[row, at.O_MADE_AFTER] != at.MADE_NOW:
            continue
        if rows[row, at.O_SAID_START] != rows[row, at.O_START]:
            return WRITTEN_START
        if rows[row, at.O_SAID_COMPLETE] not in (at.UNSAID, rows[row, at.O_COMPLETE]):
            return WRITTEN_COMPLETE
    return at.FINE


@compiled
def _completed_agree(header: Ints, events: Events, row: int) -> bool:
    begin, end = events.fields[event.COMPLETED_FROM, row], events.fields[event.COMPLETED_TO, row]
    call = call_answered(header, events.completed[begin, 0] if begin < end else at.NO_CALL)
    if call == at.NO_CALL:
        return bool(begin == end)
    for i in range(begin, end):
        if events.completed[i, 0] != call:
            return False
        if events.completed[i, 1] != header[at.ANSWERED_STATUS]:
            return False
    return bool(begin < end)


@compiled
def _records_differ(state: State, recorded: RowSpan) -> int:
    """Return the first offset of the window of which the records differ, or -1.

    A record that was never delivered may be recorded as AVAILABLE or not at all.
    """
    h, runs, records = state.header, state.runs, recorded.rows
    offset, i, r = h[at.START], h[at.HEAD], recorded.low
    while offset < h[at.END]:
        while r < recorded.high and records[r, 1] < offset:
            r += 1
        # There is such a run: the window ends with a record.
        is_tracked = runs[i, at.FIRST] <= offset
        ours = runs[i, at.LAST] + 1 if is_tracked else runs[i, at.FIRST]
        is_recorded, theirs = False, h[at.END]
        if r < recorded.high:
            is_recorded = records[r, 0] <= offset
            theirs = records[r, 1] + 1 if is_recorded else records[r, 0]
        run, record = i if is_tracked else at.NOWHERE, r if is_recorded else at.NOWHERE
        if not _same_record(runs, run, records, record):
            return int(offset)
        offset = min(ours, theirs)
        if is_tracked and offset == ours:
            i += 1
    return at.NOWHERE


@compiled
def _same_record(runs: Ints, run: int, records: Ints, record: int) -> bool:
    """Compare a run with a recorded range; -1 stands for one that was never delivered."""
    status, count, owner, pending = at.AVAILABLE, at.NOTHING, at.NOBODY, False
    if run >= 0:
        status, count = runs[run, at.STATE], runs[run, at.COUNT]
        held = status in (at.ACQUIRED, at.IN_PROGRESS)
        owner = runs[run, at.OWNER] if held else at.NOBODY
        pending = runs[run, at.WRITE] != at.NO_WRITE
    if record < 0:  # What is pending has been delivered.
        return bool(status == at.AVAILABLE and count == 0)
    return bool(
        records[record, 2] == status
        and records[record, 3] == count
        and records[record, 4] == owner
        and records[record, 5] == pending
    )


@compiled
def differs_from_durable(state: State, leader: LeaderStart) -> bool:
    """Tell whether a leader that reads its state is in another than the share coordinator holds.

    The journal must have been merged. There is nothing to compare before the first leader. The
    batches that a leader reads must ascend.
    """
    h = state.header
    if not h[at.DURABLE_KNOWN]:
        return False
    for i in range(1, leader.batches.shape[0]):
        if leader.batches[i, at.FIRST] <= leader.batches[i - 1, at.LAST]:
            return True
    held = RowSpan(state.durable, at.NOTHING, h[at.DURABLE_TAIL])
    read = RowSpan(leader.batches, at.NOTHING, leader.batches.shape[0])
    start, count, held = _recovered(h[at.DURABLE_START], h[at.DURABLE_COMPLETE], held)
    read_start, read_count, read = _recovered(leader.start, leader.complete, read)
    if start != read_start or (leader.complete != at.UNSET and count != read_count):
        return True
    return first_difference(held, read, max(at.LOWEST, start)) != at.NOWHERE


@compiled
def _recovered(start: int, complete: int, batches: RowSpan) -> tuple[int, int, RowSpan]:
    """Return a durable state once its start offset has passed what is finished there.

    A count that is not known stays so.
    """
    rows, low, passed = batches.rows, batches.low, 0
    while low < batches.high and rows[low, 1] < start:
        low += 1
    while (
        low < batches.high
        and rows[low, 0] <= start
        and (rows[low, 2] == at.ACKNOWLEDGED or rows[low, 2] == at.ARCHIVED)
    ):
        passed += rows[low, 1] - start + 1
        start = rows[low, 1] + 1
        low += 1
    left = complete if complete < 0 else complete - passed
    return start, left, RowSpan(rows, low, batches.high)
