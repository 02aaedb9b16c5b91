"""Which rows of a recorded trace hold an event; ``model.trace_codec`` says why another does not.

The arguments of an Initialize or AlterConfig are checked in ``impl.leaders``.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from impl import events as event
from impl import layout as at
from impl.events import Events
from impl.rows import Ints
from model.checks import MAX_RANGE
from model.operation_table import OPERATION_TABLE

Flags = npt.NDArray[np.bool_]

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


def _needed() -> Flags:
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


_FREE = np.ascontiguousarray(~_needed().T)
"""For each field and operation, whether the field may hold anything."""
_HIGHEST = np.full((event.FIELDS, 1), at.MAX, np.uint64)
_HIGHEST[_OFFSETS] = _MAX_OFFSET


def are_events(events: Events) -> Flags:
    """Tell of each row whether it holds an event, whatever the other rows hold.

    The state batches of each write are sorted, which are recorded in any order. The seq and the
    clock of an event must follow those before it, which is not checked here.
    """
    f = events.fields
    within = f.view(np.uint64) <= _HIGHEST  # What is negative is too high.
    op = f[event.OP]
    valid: Flags = (op >= 0) & (within | _FREE[:, op]).all(axis=0)
    for operation, fit in _arguments(events):
        valid &= fit | (op != operation)
    return valid & _are_results(events) & _are_writes(events) & _are_after(events)


def _arguments(events: Events) -> Iterator[tuple[int, Flags]]:
    """Yield operations, each with the rows in which its lists and dependent fields are right."""
    f, batches, bounds = events.fields, events.log_batches, _bounds(events, event.LOG_FROM)
    ranges = _every(_are_ranges(batches), bounds)
    ascend = ranges & _follow(batches, bounds)
    lasts = np.append(batches[:, 1], at.NOWHERE)
    last = lasts[np.where(bounds[0] < bounds[1], bounds[1] - 1, -1)]
    log_end, stable = f[event.ARG_LOG_END], f[event.ARG_STABLE]
    is_stable = _is_missing(stable) | ((stable >= 0) & (stable <= log_end))
    acks, acked = events.acks, _bounds(events, event.ACKS_FROM)
    typed = (acks[:, 2] >= 0) & _every(~_is_missing(events.types), acks[:, 2:].T)
    yield event.ACQUIRE, ascend
    yield event.COMPACT, ascend
    yield event.EXPIRE, ranges & _are_times(f[event.DUE])
    yield event.PRODUCE, ascend & (last < log_end) & is_stable
    yield event.FINISH_DEAD_LETTER, ranges
    yield event.ARCHIVE_ABORTED, ranges
    # The operation refuses a batch that is malformed; here none lacks a value.
    yield event.ACKNOWLEDGE, _every(typed & _are_given(acks[:, :2]), acked)
    yield event.MARK_IN_PROGRESS, _every(_are_given(acks), acked)
    yield event.GAP, _are_times(f[event.LOST])
    yield event.COMPLETE_WRITE, ranges & (f[event.RESULT] != at.S_PENDING)


def _are_results(events: Events) -> Flags:
    f, acquired, bounds = events.fields, events.acquired, _bounds(events, event.ACQUIRED_FROM)
    taken = _are_ranges(acquired) & _are_counts(acquired[:, 2])
    numbers = np.append(0, np.cumsum(acquired[:, 1] - acquired[:, 0] + 1))
    number = f[event.ACQUIRED_COUNT]
    counted = _is_missing(number) | (number == numbers[bounds[1]] - numbers[bounds[0]])
    marked: Flags = counted & _every(events.types >= 0, _bounds(events, event.MARKED_FROM))
    times = _are_times(f[event.RECORDED_NUMBER]) & _are_times(f[event.CLAIM])
    return marked & times & _every(taken, bounds)


def _are_writes(events: Events) -> Flags:
    answers, written, bounds = events.answers, events.written, _bounds(events, event.WRITES_FROM)
    own = np.maximum(events.write_bounds.T, 0)
    write = np.repeat(np.arange(len(answers)), own[1] - own[0])
    if not ((written[1:, 0] >= written[:-1, 0]) | (write[1:] > write[:-1])).all():
        written[:] = written[np.lexsort((written[:, 0], write))]
    batches = are_state_batches(written, own) & _follow(written, own)
    made_after = answers[:, at.A_MADE_AFTER]
    seq = np.repeat(events.fields[event.SEQ], bounds[1] - bounds[0])
    is_pending = answers[:, at.A_STATUS] == at.S_PENDING
    # It takes its numbers neither before its event nor after it is answered.
    moment = _is_missing(made_after) | (made_after == seq) | ((made_after > seq) & is_pending)
    starts = (events.starts >= -1) & (events.starts <= _MAX_OFFSET)
    named = (answers[:, at.A_ID] >= 0) & (answers[:, at.A_STATUS] >= 0)
    return _every(named & moment & starts & (events.write_bounds[:, 0] >= 0) & batches, bounds)


def _are_after(events: Events) -> Flags:
    f, records, completed = events.fields, events.records, events.completed
    bounds = _bounds(events, event.RECORDS_FROM)
    known = _are_ranges(records) & (records[:, 2] >= 0) & _are_counts(records[:, 3])
    known &= (records[:, 4] >= at.NOBODY) & (records[:, 5] >= 0)
    answered = ~_is_missing(completed[:, 0]) & (completed[:, 1] >= 0)
    window: Flags = f[event.AFTER_START] <= f[event.AFTER_END]
    window &= ~_is_missing(f[event.AFTER_COMPLETE])
    lists = _every(known, bounds) & _follow(records, bounds)
    return window & lists & _every(answered, _bounds(events, event.COMPLETED_FROM))


def are_state_batches(rows: Ints, bounds: Ints) -> Flags:
    """Tell of each list, by its bounds, whether all of its rows are durable states of records."""
    states = (rows[:, 2] >= 0) & (rows[:, 2] <= _LAST_STATE) & (rows[:, 2] != at.ACQUIRED)
    return _every(states & _are_counts(rows[:, 3]) & _are_ranges(rows), bounds)


def _bounds(events: Events, begin: int) -> Ints:
    """Return from where (inclusive) to where the lists of each event go; null ones are empty."""
    return np.maximum(events.fields[begin : begin + 2], 0)


def _is_missing(numbers: Ints) -> Flags:
    missing: Flags = numbers == event.MISSING
    return missing


def _are_given(rows: Ints) -> Flags:
    """Tell of each row whether it has all of its values."""
    given: Flags = rows.min(axis=1, initial=at.MAX) > event.MISSING
    return given


def _are_times(times: Ints) -> Flags:
    """Tell of each time whether it may be in an event: it is not negative, or there is none."""
    return (times >= 0) | _is_missing(times)


def _are_counts(counts: Ints) -> Flags:
    return (counts >= 0) & (counts <= _MAX_COUNT)


def _are_ranges(rows: Ints) -> Flags:
    first, last = rows[:, 0], rows[:, 1]
    return (first >= 0) & (first <= last) & (last < _MAX_OFFSET) & (last - first < MAX_RANGE)


def _every(right: Flags, bounds: Ints) -> Flags:
    """Tell of each list, by its bounds, whether all of its rows are right: of none they are."""
    wrong = np.append(0, np.cumsum(~right))
    begin, end = np.clip(bounds, 0, len(right))
    none_between: Flags = wrong[begin] == wrong[end]
    return none_between


def _follow(rows: Ints, bounds: Ints) -> Flags:
    """Tell of each list of ranges whether each starts after the one before it has ended."""
    after = np.append(True, rows[1:, 0] > rows[:-1, 1])[: len(rows)]
    return _every(after, np.stack((np.minimum(bounds[0] + 1, bounds[1]), bounds[1])))
