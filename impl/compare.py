"""What was recorded of an event against what the share-partition did, offset by offset."""

from typing import NamedTuple

from impl.events import (
    ACQUIRED_FROM,
    ACQUIRED_TO,
    ADVANCE_TIME,
    AFTER_COMPLETE,
    AFTER_END,
    AFTER_START,
    CAN_ACQUIRE,
    COMPLETED_FROM,
    COMPLETED_TO,
    MARKED_FROM,
    MARKED_TO,
    MISSING,
    OP,
    RECORDED_NUMBER,
    RECORDS_FROM,
    RECORDS_TO,
    RESULT,
    SKIP_ACQUIRE,
    WRITES_FROM,
    WRITES_TO,
    Events,
)
from impl.jit import compiled
from impl.layout import (
    ACQUIRED,
    ACQUIRED_TAIL,
    ANSWERED_CALL,
    ANSWERED_STATUS,
    AVAILABLE,
    BATCHES_TAIL,
    COUNT,
    DURABLE_COMPLETE,
    DURABLE_KNOWN,
    DURABLE_START,
    DURABLE_TAIL,
    END,
    FINE,
    FIRST,
    HEAD,
    IN_PROGRESS,
    LAST,
    LOWEST,
    MARKED_TAIL,
    NO_CALL,
    NO_WRITE,
    NOBODY,
    NOTHING,
    NOWHERE,
    NUMBER,
    OWNER,
    START,
    STATE,
    STATUS,
    W_COMPLETE,
    W_FROM,
    W_GROUP,
    W_START,
    W_TO,
    WHERE,
    WRITE,
    WRITES_TAIL,
    verdict,
)
from impl.leadership import Leader
from impl.rows import Ints, sort_rows
from impl.state import State
from model.guards import Difference

__all__ = ["Part", "compare", "differs_from_durable", "first_difference"]

_STATUS = verdict(Difference.STATUS)
_ACQUIRED = verdict(Difference.ACQUIRED)
_ACQUISITION = verdict(Difference.ACQUISITION)
_MARKED = verdict(Difference.MARKED)
_WRITTEN_STATE = verdict(Difference.WRITTEN_STATE)
_WRITTEN_START = verdict(Difference.WRITTEN_START_OFFSET)
_WRITTEN_COMPLETE = verdict(Difference.WRITTEN_DELIVERY_COMPLETE_COUNT)
_COMPLETED = verdict(Difference.COMPLETED)
_START = verdict(Difference.START_OFFSET)
_END = verdict(Difference.END_OFFSET)
_COMPLETE_COUNT = verdict(Difference.DELIVERY_COMPLETE_COUNT)
_RECORDS = verdict(Difference.RECORDS)


class Part(NamedTuple):
    """Rows (first, last, values...) from ``low`` up to ``high``, ascending."""

    rows: Ints
    low: int
    high: int


@compiled
def _same_values(one: Ints, row: int, other: Ints, other_row: int) -> bool:
    for column in range(2, one.shape[1]):  # noqa: SIM110 - Numba compiles no generators
        if one[row, column] != other[other_row, column]:
            return False
    return True


@compiled
def _first_denied(expected: Part, recorded: Ints, row: int, first: int) -> int:
    """Return the first offset from ``first`` of a recorded range that was not expected, or -1."""
    at, e = first, expected.low
    while at <= recorded[row, 1]:
        while e < expected.high and expected.rows[e, 1] < at:
            e += 1
        if e == expected.high or expected.rows[e, 0] > at:
            return at
        if not _same_values(expected.rows, e, recorded, row):
            return at
        at = int(expected.rows[e, 1]) + 1
    return NOWHERE


@compiled
def first_difference(expected: Part, recorded: Part, start: int) -> int:
    """Return the first offset from ``start`` of which two lists of ranges differ, or -1.

    A recorded range that says again what the one before it said is as good as none.
    """
    e, at = expected.low, start
    for r in range(recorded.low, recorded.high):
        first = max(int(recorded.rows[r, 0]), at)
        if recorded.rows[r, 1] < first:
            continue
        while e < expected.high and expected.rows[e, 1] < at:
            e += 1
        if e < expected.high and max(at, expected.rows[e, 0]) < first:
            return max(at, int(expected.rows[e, 0]))
        rest = Part(expected.rows, e, expected.high)
        where = _first_denied(rest, recorded.rows, r, first)
        if where != NOWHERE:
            return where
        at = int(recorded.rows[r, 1]) + 1
    while e < expected.high and expected.rows[e, 1] < at:
        e += 1
    return max(at, int(expected.rows[e, 0])) if e < expected.high else NOWHERE


@compiled
def compare(state: State, events: Events, row: int, before: int, complete: int) -> int:
    """Return the verdict on a recorded event that no guard refused.

    ``before``: the start offset before it. ``complete``: the delivery complete count after it.
    """
    h, f = state.header, events.fields
    if f[OP, row] == SKIP_ACQUIRE:
        status_agrees = f[CAN_ACQUIRE, row] == 0
    else:
        status_agrees = f[RESULT, row] == h[STATUS]
    if not status_agrees:
        return _STATUS
    result = _compare_answers(state, events, row)
    if result == FINE:
        result = _compare_writes(state, events, row, before)
    if result == FINE and not _completed_agree(h, events, row):
        result = _COMPLETED
    if result == FINE and f[AFTER_START, row] != h[START]:
        result = _START
    if result == FINE and f[AFTER_END, row] != h[END]:
        result = _END
    if result == FINE and f[AFTER_COMPLETE, row] != complete:
        result = _COMPLETE_COUNT
    if result == FINE and f[RECORDS_FROM, row] >= 0:
        recorded = Part(events.records, f[RECORDS_FROM, row], f[RECORDS_TO, row])
        h[WHERE] = _records_differ(state, recorded)
        result = FINE if h[WHERE] == NOWHERE else _RECORDS
    return result


@compiled
def _compare_answers(state: State, events: Events, row: int) -> int:
    """Compare what a member was told beside the status."""
    h, f = state.header, events.fields
    recorded = Part(events.acquired, f[ACQUIRED_FROM, row], f[ACQUIRED_TO, row])
    sort_rows(recorded.rows, recorded.low, recorded.high)
    taken = Part(state.acquired, NOTHING, h[ACQUIRED_TAIL])
    where = first_difference(taken, recorded, LOWEST)
    if where != NOWHERE:
        h[WHERE] = where
        return _ACQUIRED
    if f[RECORDED_NUMBER, row] not in (MISSING, h[NUMBER]):
        return _ACQUISITION
    return FINE if _marked_agree(state, events, row) else _MARKED


@compiled
def _marked_agree(state: State, events: Events, row: int) -> bool:
    begin, number = events.fields[MARKED_FROM, row], state.header[MARKED_TAIL]
    if events.fields[MARKED_TO, row] - begin != number:
        return False
    for i in range(number):  # noqa: SIM110 - Numba compiles no generators
        if events.types[begin + i] != state.ranges[i, 0]:
            return False
    return True


@compiled
def _compare_writes(state: State, events: Events, row: int, before: int) -> int:
    """Compare the writes: those of expired locks one by one, all others taken together."""
    h, f = state.header, events.fields
    begin, end = f[WRITES_FROM, row], f[WRITES_TO, row]
    made = h[WRITES_TAIL]
    if begin == end and made == 0:
        return FINE
    expired = f[OP, row] == ADVANCE_TIME
    if expired:
        result = _compare_groups(state, events, begin)
    else:
        result = _compare_together(state, events, row, before)
    if result != FINE or begin == end:
        return result
    for i in range(made):
        recorded = begin + state.writes[i, W_GROUP] if expired else end - 1
        if events.starts[recorded] != state.writes[i, W_START]:
            return _WRITTEN_START
        if events.completes[recorded] != state.writes[i, W_COMPLETE]:
            return _WRITTEN_COMPLETE
    return FINE


@compiled
def _compare_together(state: State, events: Events, row: int, before: int) -> int:
    h, f = state.header, events.fields
    begin, end = f[WRITES_FROM, row], f[WRITES_TO, row]
    low, high = NOTHING, NOTHING
    if begin < end:
        low, high = events.write_bounds[begin, 0], events.write_bounds[end - 1, 1]
    made = Part(state.batches, NOTHING, h[BATCHES_TAIL])
    where = first_difference(made, Part(events.written, low, high), before)
    if where == NOWHERE:
        return FINE
    h[WHERE] = where
    return _WRITTEN_STATE


@compiled
def _compare_groups(state: State, events: Events, begin: int) -> int:
    for i in range(state.header[WRITES_TAIL]):
        group = begin + state.writes[i, W_GROUP]
        made = Part(state.batches, state.writes[i, W_FROM], state.writes[i, W_TO])
        low, high = events.write_bounds[group, 0], events.write_bounds[group, 1]
        recorded = Part(events.written, low, high)
        where = first_difference(made, recorded, state.writes[i, W_START])
        if where != NOWHERE:
            state.header[WHERE] = where
            return _WRITTEN_STATE
    return FINE


@compiled
def _completed_agree(header: Ints, events: Events, row: int) -> bool:
    begin, end = events.fields[COMPLETED_FROM, row], events.fields[COMPLETED_TO, row]
    if header[ANSWERED_CALL] == NO_CALL:
        return bool(begin == end)
    for i in range(begin, end):
        if events.completed[i, 0] != header[ANSWERED_CALL]:
            return False
        if events.completed[i, 1] != header[ANSWERED_STATUS]:
            return False
    return bool(begin < end)


@compiled
def _records_differ(state: State, recorded: Part) -> int:
    """Return the first offset of the window of which the records differ, or -1.

    A record that was never delivered may be recorded as AVAILABLE or not at all.
    """
    h, runs, records = state.header, state.runs, recorded.rows
    at, i, r = h[START], h[HEAD], recorded.low
    while at < h[END]:
        while r < recorded.high and records[r, 1] < at:
            r += 1
        is_tracked = runs[i, FIRST] <= at  # There is such a run: the window ends with a record.
        ours = runs[i, LAST] + 1 if is_tracked else runs[i, FIRST]
        is_recorded, theirs = False, h[END]
        if r < recorded.high:
            is_recorded = records[r, 0] <= at
            theirs = records[r, 1] + 1 if is_recorded else records[r, 0]
        run, record = i if is_tracked else NOWHERE, r if is_recorded else NOWHERE
        if not _same_record(runs, run, records, record):
            return int(at)
        at = min(ours, theirs)
        if is_tracked and at == ours:
            i += 1
    return NOWHERE


@compiled
def _same_record(runs: Ints, run: int, records: Ints, record: int) -> bool:
    """Compare a run with a recorded range; -1 stands for one that was never delivered."""
    status, count, owner, pending = AVAILABLE, NOTHING, NOBODY, False
    if run >= 0:
        status, count = runs[run, STATE], runs[run, COUNT]
        held = status in (ACQUIRED, IN_PROGRESS)
        owner = runs[run, OWNER] if held else NOBODY
        pending = runs[run, WRITE] != NO_WRITE
    if record < 0:  # What is pending has been delivered.
        return bool(status == AVAILABLE and count == 0)
    return bool(
        records[record, 2] == status
        and records[record, 3] == count
        and records[record, 4] == owner
        and records[record, 5] == pending
    )


@compiled
def differs_from_durable(state: State, leader: Leader) -> bool:
    """Tell whether a leader reads what the share coordinator does not hold, which ascends.

    The journal must have been merged. Nothing can be said before the first leader, nor of a
    state without a start offset, which says nothing.
    """
    h = state.header
    if not h[DURABLE_KNOWN] or leader.start < 0:
        return False
    if h[DURABLE_START] != leader.start or h[DURABLE_COMPLETE] != leader.complete:
        return True
    for i in range(1, leader.batches.shape[0]):
        if leader.batches[i, FIRST] <= leader.batches[i - 1, LAST]:
            return True
    held = Part(state.durable, NOTHING, h[DURABLE_TAIL])
    read = Part(leader.batches, NOTHING, leader.batches.shape[0])
    return first_difference(held, read, LOWEST) != NOWHERE
