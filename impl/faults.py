"""What makes a row no event at all: values out of bounds, missing, or of no known name."""

from impl.events import (
    ACKNOWLEDGE,
    ACKS_FROM,
    ACKS_TO,
    ACQUIRE,
    ACQUIRED_COUNT,
    ACQUIRED_FROM,
    ACQUIRED_TO,
    ADVANCE_LOG_START,
    ADVANCE_TIME,
    AFTER_COMPLETE,
    AFTER_END,
    AFTER_START,
    ARCHIVE_ABORTED,
    ARG_LOG_END,
    ARG_LOG_START,
    ARG_OFFSET,
    BATCH_SIZE,
    CAN_ACQUIRE,
    COMPLETE_WRITE,
    COMPLETED_FROM,
    COMPLETED_TO,
    ENTRY,
    FETCH_OFFSET,
    FINISH_DEAD_LETTER,
    LOG_FROM,
    LOG_TO,
    MARK_IN_PROGRESS,
    MARKED_FROM,
    MARKED_TO,
    MAX_RECORDS,
    MEMBER,
    MISSING,
    MODE,
    MS,
    OP,
    PRODUCE,
    RECORDED_NUMBER,
    RECORDS_FROM,
    RECORDS_TO,
    RELEASE,
    RESET_OFFSET,
    RESULT,
    SEQ,
    SKIP_ACQUIRE,
    TIME,
    WRITE_ID,
    WRITES_FROM,
    WRITES_TO,
    Events,
)
from impl.jit import compiled
from impl.layout import ACQUIRED, IN_PROGRESS, MAX, NOBODY, S_PENDING
from impl.rows import Ints, sort_rows
from model.checks import MAX_RANGE

__all__ = ["FAULTS", "NO_FAULT", "SEQUENCE", "TIMES", "fault_of"]

_WHOLE = "a whole number that is not negative"
_OFFSET = "an offset"
_RANGES = f"ranges from first to last, of at most {MAX_RANGE} offsets"

FAULTS = (
    ("", ""),
    ("op", "the name of an operation"),
    ("seq", "one more than the seq before"),
    ("time_ms", "the clock after the event"),
    ("member", "a string that is not empty"),
    ("acquire_mode", "batch_optimized, record_limit"),
    ("batch_size", _WHOLE),
    ("max_fetch_records", _WHOLE),
    ("fetch_offset", _OFFSET),
    ("log_batches", f"{_RANGES}, ascending"),
    ("log_start_offset", _OFFSET),
    ("log_end_offset", "an offset past the last log batch"),
    ("ms", _WHOLE),
    ("id", _WHOLE),
    ("start_offset", _OFFSET),
    ("entry", "request, share_partition"),
    ("batches", "batches of two offsets and acknowledge types"),
    ("result.status", "the name of an error code"),
    ("result.can_acquire", "true or false"),
    ("result.acquired", f"{_RANGES}, with a delivery count of 16 bits"),
    ("result.count", "the number of acquired records"),
    ("writes", "an id, a start offset and a count from -1, state batches and an error code"),
    (
        "writes.state_batches",
        f"{_RANGES}, each offset once, in state 0 or 2 to 5, with a delivery count of 16 bits",
    ),
    ("completed", "a seq and an error code"),
    ("after", "a window that starts and ends at offsets, and a count"),
    (
        "after.records",
        f"{_RANGES}, ascending, with state, delivery count of 16 bits, member and pending",
    ),
    ("status", "NONE or an error code"),
    ("progress_batches", "batches of two offsets, a leader epoch and an acquisition"),
    ("ranges", _RANGES),
    ("result.acquisition", _WHOLE),
    ("result.marked", "names of error codes"),
)
"""The field that is wrong, and what it may be; by the number that ``fault_of`` returns."""

NO_FAULT = 0
(
    _OP, SEQUENCE, TIMES, _MEMBER, _MODE, _BATCH_SIZE, _MAX_RECORDS, _FETCH_OFFSET, _LOG_BATCHES,
    _LOG_START, _LOG_END, _MS, _ID, _START_OFFSET, _ENTRY, _BATCHES, _STATUS, _CAN_ACQUIRE,
    _ACQUIRED, _COUNT, _WRITES, _STATE_BATCHES, _COMPLETED, _AFTER, _RECORDS, _ANSWER,
    _MARKS, _RANGES_ASKED, _NUMBER, _MARKED,
) = range(1, len(FAULTS))  # fmt: skip

_MAX_OFFSET = MAX - 1
_MAX_COUNT = 2**15 - 1
_LAST_STATE = IN_PROGRESS


@compiled
def fault_of(events: Events, row: int) -> int:
    """Return the number of what is wrong with a row, by itself; NO_FAULT if it is an event."""
    f = events.fields
    if f[OP, row] < 0:
        return _OP
    if f[SEQ, row] < 0:
        return SEQUENCE
    if f[TIME, row] < 0:
        return TIMES
    fault = _fault_of_arguments(events, row)
    if fault == NO_FAULT:
        fault = _fault_of_result(events, row)
    if fault == NO_FAULT:
        fault = _fault_of_writes(events, row)
    return fault if fault != NO_FAULT else _fault_of_after(events, row)


@compiled
def _fault_of_arguments(events: Events, row: int) -> int:  # noqa: C901, PLR0911 - a table
    """Check what the operation needs; Initialize is read through the model."""
    f = events.fields
    op = f[OP, row]
    asks = op in (ACQUIRE, SKIP_ACQUIRE, ACKNOWLEDGE, RELEASE, MARK_IN_PROGRESS)
    if asks and f[MEMBER, row] < 0:
        return _MEMBER
    if op == ACQUIRE:
        return _fault_of_acquire(events, row)
    if op == ACKNOWLEDGE:
        return _fault_of_acknowledge(events, row)
    if op == PRODUCE:
        return _fault_of_produce(events, row)
    if op == MARK_IN_PROGRESS:
        return _fault_of_marks(events, row)
    if op in (FINISH_DEAD_LETTER, ARCHIVE_ABORTED):
        return _fault_of_ranges(events, row)
    if op == ADVANCE_TIME and f[MS, row] < 0:
        return _MS
    if op == COMPLETE_WRITE and f[WRITE_ID, row] < 0:
        return _ID
    if op == COMPLETE_WRITE and f[RESULT, row] == S_PENDING:
        return _ANSWER
    if op == ADVANCE_LOG_START and not 0 <= f[ARG_LOG_START, row] <= _MAX_OFFSET:
        return _LOG_START
    if op == RESET_OFFSET and not 0 <= f[ARG_OFFSET, row] <= _MAX_OFFSET:
        return _START_OFFSET
    return NO_FAULT


@compiled
def _fault_of_acquire(events: Events, row: int) -> int:
    f = events.fields
    if f[MODE, row] < 0:
        return _MODE
    if f[BATCH_SIZE, row] < 0:
        return _BATCH_SIZE
    if f[MAX_RECORDS, row] < 0:
        return _MAX_RECORDS
    if not 0 <= f[FETCH_OFFSET, row] <= _MAX_OFFSET:
        return _FETCH_OFFSET
    begin, end = f[LOG_FROM, row], f[LOG_TO, row]
    ascend = begin >= 0 and _ascend(events.log_batches, begin, end)
    return NO_FAULT if ascend else _LOG_BATCHES


@compiled
def _fault_of_produce(events: Events, row: int) -> int:
    f, batches = events.fields, events.log_batches
    begin, end = f[LOG_FROM, row], f[LOG_TO, row]
    if begin < 0 or not _ascend(batches, begin, end):
        return _LOG_BATCHES
    lowest = batches[end - 1, 1] + 1 if begin < end else 0
    return NO_FAULT if lowest <= f[ARG_LOG_END, row] <= _MAX_OFFSET else _LOG_END


@compiled
def _fault_of_acknowledge(events: Events, row: int) -> int:
    """Check that the batches are there; what is wrong in them is for the operation to refuse."""
    f = events.fields
    if f[ENTRY, row] < 0:
        return _ENTRY
    if f[ACKS_FROM, row] < 0:
        return _BATCHES
    for i in range(f[ACKS_FROM, row], f[ACKS_TO, row]):
        if MISSING in (events.acks[i, 0], events.acks[i, 1]) or events.acks[i, 2] < 0:
            return _BATCHES
        for j in range(events.acks[i, 2], events.acks[i, 3]):
            if events.types[j] == MISSING:
                return _BATCHES
    return NO_FAULT


@compiled
def _fault_of_marks(events: Events, row: int) -> int:
    """Check that the batches are there; what is wrong in them is for the operation to refuse."""
    f = events.fields
    if f[ACKS_FROM, row] < 0:
        return _MARKS
    for i in range(f[ACKS_FROM, row], f[ACKS_TO, row]):
        for column in range(events.acks.shape[1]):
            if events.acks[i, column] == MISSING:
                return _MARKS
    return NO_FAULT


@compiled
def _fault_of_ranges(events: Events, row: int) -> int:
    f = events.fields
    if f[LOG_FROM, row] < 0:
        return _RANGES_ASKED
    for i in range(f[LOG_FROM, row], f[LOG_TO, row]):
        if not _is_range(events.log_batches, i):
            return _RANGES_ASKED
    return NO_FAULT


@compiled
def _fault_of_result(events: Events, row: int) -> int:
    f, acquired = events.fields, events.acquired
    if f[OP, row] == SKIP_ACQUIRE:
        if f[CAN_ACQUIRE, row] < 0:
            return _CAN_ACQUIRE
    elif f[RESULT, row] < 0:
        return _STATUS
    number = 0
    for i in range(f[ACQUIRED_FROM, row], f[ACQUIRED_TO, row]):
        if not _is_range(acquired, i) or not 0 <= acquired[i, 2] <= _MAX_COUNT:
            return _ACQUIRED
        number += acquired[i, 1] - acquired[i, 0] + 1
    if f[ACQUIRED_COUNT, row] not in (number, MISSING):
        return _COUNT
    for i in range(f[MARKED_FROM, row], f[MARKED_TO, row]):
        if events.types[i] < 0:
            return _MARKED
    wrong = f[RECORDED_NUMBER, row] < 0 and f[RECORDED_NUMBER, row] != MISSING
    return _NUMBER if wrong else NO_FAULT


@compiled
def _fault_of_writes(events: Events, row: int) -> int:
    f, answers = events.fields, events.answers
    if f[WRITES_FROM, row] < 0:
        return _WRITES
    for i in range(f[WRITES_FROM, row], f[WRITES_TO, row]):
        start, complete = events.starts[i], events.completes[i]
        if answers[i, 0] < 0 or answers[i, 1] < 0:
            return _WRITES
        if not (-1 <= start <= _MAX_OFFSET and -1 <= complete <= _MAX_OFFSET):
            return _WRITES
        if events.write_bounds[i, 0] < 0 or not _are_state_batches(events, row, i):
            return _STATE_BATCHES
    return NO_FAULT


@compiled
def _are_state_batches(events: Events, row: int, write: int) -> bool:
    """Check the state batches of a write, and sort them, which may stand in any order.

    With the last one all writes are looked at together, except those of expired locks.
    """
    f, written, bounds = events.fields, events.written, events.write_bounds
    low, high = bounds[write, 0], bounds[write, 1]
    for i in range(low, high):
        if not 0 <= written[i, 2] <= _LAST_STATE or written[i, 2] == ACQUIRED:
            return False
        if not 0 <= written[i, 3] <= _MAX_COUNT:
            return False
    if f[OP, row] != ADVANCE_TIME:
        if write < f[WRITES_TO, row] - 1:
            return True
        low = bounds[f[WRITES_FROM, row], 0]
    sort_rows(written, low, high)
    return _ascend(written, low, high)


@compiled
def _fault_of_after(events: Events, row: int) -> int:
    f, records = events.fields, events.records
    if f[COMPLETED_FROM, row] < 0:
        return _COMPLETED
    for i in range(f[COMPLETED_FROM, row], f[COMPLETED_TO, row]):
        if events.completed[i, 0] == MISSING or events.completed[i, 1] < 0:
            return _COMPLETED
    window = 0 <= f[AFTER_START, row] <= f[AFTER_END, row] <= _MAX_OFFSET
    if not window or f[AFTER_COMPLETE, row] < 0:
        return _AFTER
    for i in range(f[RECORDS_FROM, row], f[RECORDS_TO, row]):
        if records[i, 2] < 0 or not 0 <= records[i, 3] <= _MAX_COUNT:
            return _RECORDS
        if records[i, 4] < NOBODY or records[i, 5] < 0:
            return _RECORDS
    ascend = _ascend(records, f[RECORDS_FROM, row], f[RECORDS_TO, row])
    return NO_FAULT if ascend else _RECORDS


@compiled
def _is_range(rows: Ints, index: int) -> bool:
    first, last = rows[index, 0], rows[index, 1]
    return bool(0 <= first <= last < _MAX_OFFSET and last - first < MAX_RANGE)


@compiled
def _ascend(rows: Ints, begin: int, end: int) -> bool:
    """Tell whether there are ranges only, none of which starts before the last one ended."""
    for i in range(begin, end):
        if not _is_range(rows, i) or (i > begin and rows[i, 0] <= rows[i - 1, 1]):
            return False
    return True
