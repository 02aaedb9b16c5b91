"""Recorded events as arrays that compiled code takes."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from impl import layout as at
from impl.encode import Members
from impl.flatten import Lists, fields_of, integers, lists_of, numbered, rows_of
from impl.jit import by_reference
from impl.rows import Ints
from model import operations as ops
from model.errors import is_thrown
from model.operation_table import OPERATION_TABLE
from model.states import AcquireMode, RecordState

MISSING = -(2**63)
"""What stands for null in a column of integers; no field allows it."""
_NAMELESS = at.NOBODY - 1

OPERATIONS = tuple(row.name for row in OPERATION_TABLE)
_NUMBERS = {row.operation: number for number, row in enumerate(OPERATION_TABLE)}
INITIALIZE = _NUMBERS[ops.Initialize]
PRODUCE = _NUMBERS[ops.Produce]
ACQUIRE = _NUMBERS[ops.Acquire]
SKIP_ACQUIRE = _NUMBERS[ops.SkipAcquire]
ACKNOWLEDGE = _NUMBERS[ops.Acknowledge]
RELEASE = _NUMBERS[ops.MemberLeaves]
ADVANCE_TIME = _NUMBERS[ops.AdvanceTime]
EXPIRE = _NUMBERS[ops.Expire]
COMPLETE_WRITE = _NUMBERS[ops.CompleteWrite]
ADVANCE_LOG_START = _NUMBERS[ops.AdvanceLogStart]
RESET_OFFSET = _NUMBERS[ops.ResetOffset]
MARK_IN_PROGRESS = _NUMBERS[ops.MarkInProgress]
FINISH_DEAD_LETTER = _NUMBERS[ops.FinishDeadLetter]
ALTER_CONFIG = _NUMBERS[ops.AlterConfig]
ARCHIVE_ABORTED = _NUMBERS[ops.ArchiveAborted]
COMPACT = _NUMBERS[ops.Compact]
CHECKPOINT = _NUMBERS[ops.Checkpoint]
GAP = _NUMBERS[ops.Gap]

STATUS_NAMES = tuple(status.name for status in at.STATUSES)
MODE_NAMES = (AcquireMode.BATCH_OPTIMIZED.value, AcquireMode.RECORD_LIMIT.value)
ENTRIES = (ops.EntryPoint.SHARE_PARTITION.value, ops.EntryPoint.REQUEST.value)
_STATE_NAMES = tuple(state.name for state in RecordState)  # In the order of the ids, from 0.

# Rows of Events.fields: one value for each event. *_FROM and *_TO delimit rows of the arrays.
(
    OP, SEQ, TIME, MEMBER, MODE, BATCH_SIZE, MAX_RECORDS, FETCH_OFFSET, ARG_LOG_START, ARG_LOG_END,
    ARG_STABLE, MS, WRITE_ID, ARG_OFFSET, ENTRY, RESULT, ACQUIRABLE, ACQUIRED_COUNT,
    RECORDED_NUMBER, DUE, CLAIM, LOST, OVERTAKEN, PAUSED, THREW,
    AFTER_START, AFTER_END, AFTER_COMPLETE,
    LOG_FROM, LOG_TO, ACQUIRED_FROM, ACQUIRED_TO, ACKS_FROM, ACKS_TO, WRITES_FROM, WRITES_TO,
    COMPLETED_FROM, COMPLETED_TO, RECORDS_FROM, RECORDS_TO, MARKED_FROM, MARKED_TO,
) = range(42)  # fmt: skip
FIELDS = 42

COLUMNS = {
    "seq": SEQ,
    "time_ms": TIME,
    "batch_size": BATCH_SIZE,
    "max_fetch_records": MAX_RECORDS,
    "fetch_offset": FETCH_OFFSET,
    "log_start_offset": ARG_LOG_START,
    "log_end_offset": ARG_LOG_END,
    "last_stable_offset": ARG_STABLE,
    "ms": MS,
    "id": WRITE_ID,
    "start_offset": ARG_OFFSET,
    "due_ms": DUE,
    "deadline_ms": CLAIM,
    "lost": LOST,
    "overtaken": OVERTAKEN,
}
"""The columns of a trace that are fields as they are."""


@by_reference
class Events(NamedTuple):
    """Events of one share-partition; of ranges both ends are inclusive.

    ``fields`` (FIELDS, events): one value each. The others have rows of these columns:
    ``log_batches``: first, last, also the ranges of Expire, CompleteWrite, FinishDeadLetter,
    ArchiveAborted and Compact.
    ``acquired``: first, last, delivery count. ``acks``: first, last and the bounds of ``types``;
    of MarkInProgress first, last, leader epoch, acquisition. ``types``: also the statuses of marks.
    ``answers``: those to writes, by the columns of ``impl.layout``; ``starts`` and ``completes``:
    start offset and delivery complete count of a write; ``write_bounds``: its rows of ``written``,
    which has first, last, state, delivery count. ``completed``: seq, status.
    ``records``: first, last, state, delivery count, owner, pending.
    """

    fields: Ints
    log_batches: Ints
    acquired: Ints
    acks: Ints
    types: Ints
    answers: Ints
    starts: Ints
    completes: Ints
    write_bounds: Ints
    written: Ints
    completed: Ints
    records: Ints


def events_of(batch: pa.RecordBatch, members: Members) -> Events:
    """Return the events of a record batch, unchecked: null and unknown values become negative."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    result, after = fields_of(columns["result"]), fields_of(columns["after"])
    fields = np.empty((FIELDS, batch.num_rows), np.int64)
    _plain(fields, columns, members)
    _observed(fields, result, after)
    log_batches = _listed(fields, LOG_FROM, columns["log_batches"])
    acquired = _listed(fields, ACQUIRED_FROM, result["acquired"])
    acks = _listed(fields, ACKS_FROM, columns["batches"])
    writes = _listed(fields, WRITES_FROM, columns["writes"])
    completed = _listed(fields, COMPLETED_FROM, columns["completed"])
    records = _listed(fields, RECORDS_FROM, after["records"])
    types, written = lists_of(acks["types"]), lists_of(writes["state_batches"])
    ranges, marks = lists_of(columns["ranges"]), lists_of(columns["progress_batches"])
    for operation in (EXPIRE, COMPLETE_WRITE, FINISH_DEAD_LETTER, ARCHIVE_ABORTED, COMPACT):
        _shared(fields, LOG_FROM, operation, ranges, len(log_batches["first"]))
    _shared(fields, ACKS_FROM, MARK_IN_PROGRESS, marks, len(types.bounds))
    marked = lists_of(result["marked"])
    batches = _rows(fields_of(written.items), "first", "last", "state", "delivery_count")
    fields[MARKED_FROM:] = (marked.bounds + len(types.items)).T
    return Events(
        fields,
        _both(_rows(log_batches, "first", "last"), _rows(fields_of(ranges.items), "first", "last")),
        _rows(acquired, "first", "last", "delivery_count"),
        _both(
            rows_of([*_integers(acks, "first", "last"), *types.bounds.T]),
            _rows(fields_of(marks.items), "first", "last", "leader_epoch", "acquisition"),
        ),
        _both(
            _copied(integers(types.items, MISSING)),
            numbered(marked.items, STATUS_NAMES),
        ),
        _answers(writes, written.bounds),
        _copied(integers(writes["start_offset"], MISSING)),
        _copied(integers(writes["delivery_complete_count"], MISSING)),
        written.bounds,
        batches,
        rows_of([*_integers(completed, "seq"), numbered(completed["status"], STATUS_NAMES)]),
        _visible(fields, _record_rows(records, members)),
    )


def _visible(fields: Ints, records: Ints) -> Ints:
    """Forget the owners that a checkpoint tells of pending records, whom nobody else sees."""
    for row in np.flatnonzero(fields[OP] == CHECKPOINT):
        own = records[fields[RECORDS_FROM, row] : fields[RECORDS_TO, row]]
        own[own[:, 5] == 1, 4] = at.NOBODY
    return records


def _answers(writes: dict[str, pa.Array], bounds: Ints) -> Ints:
    """Return the answers to writes, with what each write says; ``bounds``: of its batches."""
    id_, made_after, start, complete = _integers(
        writes, "id", "made_after", "start_offset", "delivery_complete_count"
    )
    status, released = numbered(writes["status"], STATUS_NAMES), np.zeros_like(id_)
    return rows_of([id_, status, made_after, start, complete, *bounds.T, released])


def _copied(column: Ints) -> Ints:
    """Return a copy: Arrow's own memory is read-only, which is another type to Numba."""
    return column.copy()


def _integers(columns: dict[str, pa.Array], *names: str) -> list[Ints]:
    return [integers(columns[name], MISSING) for name in names]


def _rows(columns: dict[str, pa.Array], *names: str) -> Ints:
    return rows_of(_integers(columns, *names))


def _listed(fields: Ints, begin: int, array: pa.ListArray) -> dict[str, pa.Array]:
    """Note the bounds of lists in the fields from ``begin``; return their items by field."""
    lists: Lists = lists_of(array)
    fields[begin] = lists.bounds[:, 0]
    fields[begin + 1] = lists.bounds[:, 1]
    return fields_of(lists.items)


def _shared(fields: Ints, begin: int, operation: int, lists: Lists, before: int) -> None:
    """Note the bounds of lists of one operation, whose items follow ``before`` other rows."""
    own = fields[OP] == operation
    bounds = lists.bounds[own]
    fields[begin : begin + 2, own] = np.where(bounds < 0, bounds, bounds + before).T


def _both(rows: Ints, more: Ints) -> Ints:
    return np.concatenate((rows, more)) if len(more) else rows


def _plain(fields: Ints, columns: dict[str, pa.Array], members: Members) -> None:
    for name, index in COLUMNS.items():
        fields[index] = integers(columns[name], MISSING)
    fields[PAUSED] = integers(columns["paused_ms"], 0)
    skipped = integers(columns["skipped"], 0)
    fields[OP] = numbered(columns["op"], OPERATIONS)
    fields[OP][fields[OP] == SKIP_ACQUIRE] = -1  # Not the name of an operation in a trace.
    fields[OP][(fields[OP] == ACQUIRE) & (skipped == 1)] = SKIP_ACQUIRE
    fields[MEMBER] = _member_numbers(columns["member"], members)
    fields[MODE] = numbered(columns["acquire_mode"], MODE_NAMES)
    entry = columns["entry"]
    fields[ENTRY] = numbered(entry.fill_null(ENTRIES[0]) if entry.null_count else entry, ENTRIES)


def _observed(fields: Ints, result: dict[str, pa.Array], after: dict[str, pa.Array]) -> None:
    fields[RESULT] = numbered(result["status"], STATUS_NAMES)
    fields[THREW] = result["exception"].is_valid().to_numpy(zero_copy_only=False)
    _thrown(fields, result["status"])
    fields[ACQUIRABLE] = integers(result["can_acquire"], MISSING)
    fields[ACQUIRED_COUNT] = integers(result["count"], MISSING)
    fields[RECORDED_NUMBER] = integers(result["acquisition"], MISSING)
    fields[AFTER_START] = integers(after["start_offset"], MISSING)
    fields[AFTER_END] = integers(after["end_offset"], MISSING)
    fields[AFTER_COMPLETE] = integers(after["delivery_complete_count"], MISSING)


def _thrown(fields: Ints, statuses: pa.StringArray) -> None:
    """Note where an exception stands in place of a status; a client sees UNKNOWN_SERVER_ERROR."""
    named = statuses.is_valid().to_numpy(zero_copy_only=False) & (fields[OP] != SKIP_ACQUIRE)
    for row in np.flatnonzero(named & (fields[RESULT] < 0)):
        if is_thrown(statuses[row].as_py()):
            fields[RESULT, row], fields[THREW, row] = at.S_SERVER_ERROR, 1


def _member_numbers(array: pa.StringArray, members: Members) -> Ints:
    """Return the numbers of members, NOBODY for null and _NAMELESS for a name that is empty."""
    encoded = array.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    numbers = [members.number(name) if name else _NAMELESS for name in names]
    indices = integers(encoded.indices.cast(pa.int64()), -1)
    return np.array([*numbers, at.NOBODY], np.int64)[indices]


def _record_rows(records: dict[str, pa.Array], members: Members) -> Ints:
    first, last, count = _integers(records, "first", "last", "delivery_count")
    state = numbered(records["state"], _STATE_NAMES)
    owner = _member_numbers(records["member"], members)
    return rows_of([first, last, state, count, owner, integers(records["pending"], MISSING)])
