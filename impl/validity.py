"""Which rows of a recorded trace hold an event; ``model.trace_codec`` says why another does not.

Only the model reads the arguments of an Initialize or AlterConfig; they are not checked here.
"""

import numpy as np
import numpy.typing as npt

from impl import events as event
from impl import layout as at
from impl.events import Events
from impl.jit import compiled
from impl.rows import Ints, sort_rows
from model.checks import MAX_RANGE
from model.operation_table import OPERATION_TABLE

_MAX_OFFSET = at.MAX - 1
_MAX_COUNT = 2**15 - 1
_LAST_STATE = at.IN_PROGRESS

_ALWAYS = (
    event.SEQ, event.TIME, event.WRITES_FROM, event.COMPLETED_FROM,
    event.AFTER_START, event.AFTER_END,
)  # fmt: skip
_ARGUMENTS = {
    **event.COLUMNS,
    "member": event.MEMBER,
    "acquire_mode": event.MODE,
    "log_batches": event.LOG_FROM,
    "ranges": event.LOG_FROM,
    "batches": event.ACKS_FROM,
    "progress_batches": event.ACKS_FROM,
}
_OFFSETS = [
    event.FETCH_OFFSET, event.ARG_LOG_START, event.ARG_LOG_END, event.ARG_OFFSET,
    event.AFTER_START, event.AFTER_END,
]  # fmt: skip


def _needed() -> npt.NDArray[np.bool_]:
    """Return for each operation the fields of Events that may not be negative."""
    needed = np.zeros((len(event.OPERATIONS), event.FIELDS), np.bool_)
    needed[:, [*_ALWAYS, event.RESULT]] = True
    needed[event.SKIP_ACQUIRE, [event.RESULT, event.ACQUIRABLE]] = False, True
    needed[event.ACKNOWLEDGE, event.ENTRY] = True
    for number, operation in enumerate(OPERATION_TABLE):
        if number not in (event.INITIALIZE, event.ALTER_CONFIG):
            columns = [_ARGUMENTS[name] for name in operation.needs if name in _ARGUMENTS]
            needed[number, columns] = True
    return needed


_NEEDED = _needed()
_HIGHEST = np.full(event.FIELDS, at.MAX, np.int64)
_HIGHEST[_OFFSETS] = _MAX_OFFSET


@compiled
def is_event(events: Events, row: int) -> bool:
    """Tell whether a row holds an event, whatever the rows before it hold; sort its state batches.

    The seq and the clock of an event must follow those before it, which is not checked here.
    """
    f = events.fields
    if f[event.OP, row] < 0:
        return False
    for field in range(event.FIELDS):
        if _NEEDED[f[event.OP, row], field] and not 0 <= f[field, row] <= _HIGHEST[field]:
            return False
    return (
        _are_arguments(events, row)
        and _is_result(events, row)
        and _are_writes(events, row)
        and _is_after(events, row)
    )


@compiled
def _are_arguments(events: Events, row: int) -> bool:  # noqa: PLR0911 - one for each operation
    """Check the lists of an operation, and the fields that depend on each other."""
    f, batches = events.fields, events.log_batches
    op, begin, end = f[event.OP, row], f[event.LOG_FROM, row], f[event.LOG_TO, row]
    if op in (event.ACQUIRE, event.COMPACT):
        return _ascend(batches, begin, end)
    if op == event.EXPIRE:
        return _is_time(f[event.DUE, row]) and _are_ranges(batches, begin, end)
    if op == event.PRODUCE:
        last = batches[end - 1, 1] if begin < end else at.NOWHERE
        log_end, stable = f[event.ARG_LOG_END, row], f[event.ARG_STABLE, row]
        is_stable = stable == event.MISSING or 0 <= stable <= log_end
        return _ascend(batches, begin, end) and bool(last < log_end and is_stable)
    if op in (event.FINISH_DEAD_LETTER, event.ARCHIVE_ABORTED):
        return _are_ranges(batches, begin, end)
    if op == event.ACKNOWLEDGE:
        return _are_batches(events, row)
    if op == event.MARK_IN_PROGRESS:
        return _are_marks(events, row)
    if op == event.GAP:
        return _is_time(f[event.LOST, row])
    if op == event.COMPLETE_WRITE:
        return bool(f[event.RESULT, row] != at.S_PENDING) and _are_ranges(batches, begin, end)
    return True


@compiled
def _is_time(time: int) -> bool:
    """Tell whether a time may be in an event: it is not negative, or there is none."""
    return bool(time >= 0 or time == event.MISSING)


@compiled
def _are_batches(events: Events, row: int) -> bool:
    """Check that no batch lacks a value; the operation refuses a malformed one."""
    f, acks = events.fields, events.acks
    for i in range(f[event.ACKS_FROM, row], f[event.ACKS_TO, row]):
        if event.MISSING in (acks[i, 0], acks[i, 1]) or acks[i, 2] < 0:
            return False
        for j in range(acks[i, 2], acks[i, 3]):
            if events.types[j] == event.MISSING:
                return False
    return True


@compiled
def _are_marks(events: Events, row: int) -> bool:
    """Check that no batch lacks a value; the operation refuses a malformed one."""
    for i in range(events.fields[event.ACKS_FROM, row], events.fields[event.ACKS_TO, row]):
        for column in range(events.acks.shape[1]):
            if events.acks[i, column] == event.MISSING:
                return False
    return True


@compiled
def _is_result(events: Events, row: int) -> bool:
    f, acquired = events.fields, events.acquired
    number = 0
    for i in range(f[event.ACQUIRED_FROM, row], f[event.ACQUIRED_TO, row]):
        if not _is_range(acquired, i) or not 0 <= acquired[i, 2] <= _MAX_COUNT:
            return False
        number += acquired[i, 1] - acquired[i, 0] + 1
    if f[event.ACQUIRED_COUNT, row] not in (number, event.MISSING):
        return False
    for i in range(f[event.MARKED_FROM, row], f[event.MARKED_TO, row]):
        if events.types[i] < 0:
            return False
    acquisition = f[event.RECORDED_NUMBER, row]
    is_number = bool(acquisition >= 0 or acquisition == event.MISSING)
    return is_number and _is_time(f[event.CLAIM, row])


@compiled
def _are_writes(events: Events, row: int) -> bool:
    f, answers = events.fields, events.answers
    for i in range(f[event.WRITES_FROM, row], f[event.WRITES_TO, row]):
        if answers[i, at.A_ID] < 0 or answers[i, at.A_STATUS] < 0:
            return False
        made_after = answers[i, at.A_MADE_AFTER]
        if made_after != event.MISSING and not _is_moment(events, row, i):
            return False
        if not -1 <= events.starts[i] <= _MAX_OFFSET:
            return False
        if events.write_bounds[i, 0] < 0 or not _are_state_batches(events, i):
            return False
    return True


@compiled
def _is_moment(events: Events, row: int, write: int) -> bool:
    """Tell whether a write may take its numbers when it says: neither too early nor too late."""
    made_after, seq = events.answers[write, at.A_MADE_AFTER], events.fields[event.SEQ, row]
    is_pending = events.answers[write, at.A_STATUS] == at.S_PENDING
    return bool(made_after == seq or (made_after > seq and is_pending))


@compiled
def _are_state_batches(events: Events, write: int) -> bool:
    """Check the state batches of a write and sort them: they are recorded in any order."""
    written, bounds = events.written, events.write_bounds
    low, high = bounds[write, 0], bounds[write, 1]
    sort_rows(written, low, high)
    for i in range(low, high):
        if not 0 <= written[i, 2] <= _LAST_STATE or written[i, 2] == at.ACQUIRED:
            return False
        if not 0 <= written[i, 3] <= _MAX_COUNT:
            return False
    return _ascend(written, low, high)


@compiled
def _is_after(events: Events, row: int) -> bool:
    f, records = events.fields, events.records
    if f[event.AFTER_START, row] > f[event.AFTER_END, row]:
        return False
    if f[event.AFTER_COMPLETE, row] == event.MISSING:
        return False
    for i in range(f[event.COMPLETED_FROM, row], f[event.COMPLETED_TO, row]):
        if events.completed[i, 0] == event.MISSING or events.completed[i, 1] < 0:
            return False
    for i in range(f[event.RECORDS_FROM, row], f[event.RECORDS_TO, row]):
        if records[i, 2] < 0 or not 0 <= records[i, 3] <= _MAX_COUNT:
            return False
        if records[i, 4] < at.NOBODY or records[i, 5] < 0:
            return False
    return _ascend(records, f[event.RECORDS_FROM, row], f[event.RECORDS_TO, row])


@compiled
def _is_range(rows: Ints, index: int) -> bool:
    first, last = rows[index, 0], rows[index, 1]
    return bool(0 <= first <= last < _MAX_OFFSET and last - first < MAX_RANGE)


@compiled
def _are_ranges(rows: Ints, begin: int, end: int) -> bool:
    for i in range(begin, end):  # noqa: SIM110 - Numba compiles no generators
        if not _is_range(rows, i):
            return False
    return True


@compiled
def _ascend(rows: Ints, begin: int, end: int) -> bool:
    """Tell whether rows are ranges, each of which starts after the one before it ended."""
    for i in range(begin, end):
        if not _is_range(rows, i) or (i > begin and rows[i, 0] <= rows[i - 1, 1]):
            return False
    return True
