"""Between a trace event and its row: a dictionary of plain values in the shape of the schema."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import lru_cache, partial
from itertools import starmap
from operator import itemgetter
from typing import Any, TypeVar

import attrs

from model import operations as ops
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError, is_thrown
from model.operation_table import OPERATION_TABLE, operation_row
from model.outcome import Completion, Outcome, Write
from model.ranges import (
    AcquiredRange,
    OffsetRange,
    RecordRange,
    StateBatch,
    number_of_offsets,
    record_range,
)
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import AcquireMode, RecordState
from model.trace import TraceEvent
from model.trace_schema import EVENT, OPERATION_FIELDS

_CONFIG = next(field.parts for field in EVENT if field.name == "config")
Row = Mapping[str, Any]
E_ = TypeVar("E_", bound=Enum)
T_ = TypeVar("T_")


def event_from_row(row: Row) -> TraceEvent:
    """Build the event that a row describes, which has the shape of the schema.

    Raises InvalidValueError for an operation that does not exist, an argument that it needs and
    lacks, and every value that the model does not allow.
    """
    return TraceEvent(
        row["partition"],
        row["seq"],
        row["time_ms"],
        operation_from_row(row),
        _outcome(row),
        _visible(row["op"], _after(row["after"])),
        row.get("leader_epoch"),
        row.get("instance"),
        row.get("paused_ms") or 0,
    )


def row_from_event(event: TraceEvent) -> dict[str, Any]:
    """Return the row of an event; ``event_from_row`` of it is the event again."""
    row: dict[str, Any] = {
        "partition": event.partition,
        "leader_epoch": event.leader_epoch,
        "instance": event.instance,
        "seq": event.seq,
        "time_ms": event.time_ms,
        "paused_ms": event.paused_ms or None,
        "op": operation_row(event.operation).op,
        **_arguments(event.operation),
        "deadline_ms": event.outcome.deadline_ms,
        "result": _result(event),
    }
    for name, values in ("writes", event.outcome.writes), ("completed", event.outcome.completed):
        row[name] = [attrs.asdict(value, value_serializer=_plain) for value in values]
    for write in row["writes"]:
        if not write.pop("counted"):
            write["delivery_complete_count"] = None
    after = event.operation.state if isinstance(event.operation, ops.Checkpoint) else event.after
    records = after.records and list(map(record_row, after.records))
    row["after"] = attrs.asdict(after, recurse=False) | {"records": records}
    return row


def record_row(record: RecordRange) -> dict[str, Any]:
    """Return records in equal states as a row of a trace has them."""
    return {
        "first": record.first,
        "last": record.last,
        "state": record.state.name,
        "delivery_count": record.delivery_count,
        "member": record.owner,
        "pending": record.pending,
    }


def _arguments(operation: ops.Operation) -> dict[str, Any]:
    described = operation_row(operation)
    values = attrs.asdict(operation, value_serializer=_plain)
    named = {_RENAMED.get((described.operation, k), k): value for k, value in values.items()}
    named["skipped"] = True
    if isinstance(operation, ops.CompleteWrite):  # Late timers alone are told, and late answers.
        named |= {"ranges": named["ranges"] or None, "overtaken": operation.overtaken or None}
    if not values.get("count_known", True):
        named["persisted"]["delivery_complete_count"] = None
    for write in values.get("outstanding", ()):
        if not write["counted"]:
            write["delivery_complete_count"] = None
    return {field: named[field] for field in described.fields}


def _plain(_instance: object, _attribute: object, value: object) -> object:
    if isinstance(value, ErrorCode):
        return value.name
    return value.value if isinstance(value, Enum) else value


def _result(event: TraceEvent) -> dict[str, Any]:
    if isinstance(event.operation, ops.SkipAcquire):
        return {"can_acquire": event.outcome.can_acquire}
    result: dict[str, Any] = {"status": event.outcome.status.name}
    if event.outcome.exception is not None:
        result["exception"] = event.outcome.exception
    if isinstance(event.operation, ops.MarkInProgress):
        result["marked"] = [code.name for code in event.outcome.marked]
    if isinstance(event.operation, ops.Acquire):
        acquired = event.outcome.acquired
        result["acquired"] = [attrs.asdict(taken) for taken in acquired]
        result["count"] = number_of_offsets(acquired)
        result["acquisition"] = event.outcome.acquisition
    return result


def _named(kind: type[E_], name: str, value: object) -> E_:
    try:
        return kind[str(value)]
    except KeyError:
        raise InvalidValueError(name, value, ", ".join(kind.__members__)) from None


def _valued(kind: type[E_], name: str, value: object) -> E_:
    try:
        return kind(value)
    except ValueError:
        raise InvalidValueError(name, value, ", ".join(str(m.value) for m in kind)) from None


def _rows_of(kind: Callable[..., T_], *names: str) -> Callable[[Iterable[Row]], tuple[T_, ...]]:
    """Return how rows are read of which these fields are the attributes of a class, in order."""
    read = itemgetter(*names)
    return lambda rows: tuple(starmap(kind, map(read, rows)))


_ranges = _rows_of(OffsetRange, "first", "last")
_acquired = _rows_of(AcquiredRange, "first", "last", "delivery_count")
_RANGE_STATE = itemgetter("first", "last", "state", "delivery_count")


def _state_batches(rows: Iterable[Row]) -> tuple[StateBatch, ...]:
    return tuple(starmap(_state_batch, map(_RANGE_STATE, rows)))


def _state_batch(first: int, last: int, state: int, count: int) -> StateBatch:
    return StateBatch(first, last, _valued(RecordState, "state", state), count)


def _config(config: Row) -> SharePartitionConfig:
    return _config_of(*(config.get(part.name) for part in _CONFIG))


@lru_cache(typed=True)
def _config_of(*values: object) -> SharePartitionConfig:
    """Return a configuration, of which a cluster has few, from the values of its parts in order."""
    told = zip(_CONFIG, values, strict=True)
    settings: dict[str, Any] = {
        part.name: value for part, value in told if not part.optional or value is not None
    }
    for name, kind in (("auto_offset_reset", AutoOffsetReset), ("isolation_level", IsolationLevel)):
        settings[name] = _valued(kind, name, settings[name])
    return SharePartitionConfig(**settings)


def _is_counted(numbers: Row) -> bool:
    return numbers.get("delivery_complete_count") is not None


def _numbers(row: Row, unknown: int = 0) -> tuple[int, int, tuple[StateBatch, ...]]:
    """Return start offset, delivery complete count or ``unknown``, and state batches."""
    count = row["delivery_complete_count"] if _is_counted(row) else unknown
    return row["start_offset"], count, _state_batches(row["state_batches"])


def _durable(persisted: Row) -> DurableState:
    epochs = (persisted.get(name) or 0 for name in ("state_epoch", "leader_epoch"))
    return DurableState(*_numbers(persisted, -1), *epochs)


def _acknowledgement(first: int, last: int, types: list[int]) -> ops.AcknowledgementBatch:
    return ops.AcknowledgementBatch(first, last, tuple(types))


def _outstanding(rows: Iterable[Row]) -> tuple[ops.OutstandingWrite, ...]:
    return tuple(
        ops.OutstandingWrite(row["id"], *_numbers(row), row.get("seq"), counted=_is_counted(row))
        for row in rows
    )


def _visible(op: str, after: SharePartitionSnapshot) -> SharePartitionSnapshot:
    """Return a state without the owners that a checkpoint tells of records that are pending."""
    if op != "checkpoint":
        return after
    records = (attrs.evolve(r, owner=None) if r.pending else r for r in after.records or ())
    return attrs.evolve(after, records=tuple(records))


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "config": _config,
    "persisted": _durable,
    "deadlines": _rows_of(ops.LockEnd, "first", "last", "deadline_ms"),
    "outstanding": _outstanding,
    "log_batches": _ranges,
    "acquire_mode": partial(_valued, AcquireMode, "acquire_mode"),
    "batches": _rows_of(_acknowledgement, "first", "last", "types"),
    "entry": partial(_valued, ops.EntryPoint, "entry"),
    "progress_batches": _rows_of(ops.ProgressBatch, "first", "last", "leader_epoch", "acquisition"),
    "ranges": _ranges,
}
"""How the fields of a row become arguments that are not plain values."""

_DERIVED: dict[str, Callable[[Row], Any]] = {
    "time_ms": itemgetter("time_ms"),
    "state": lambda row: _after(row["after"]),
    "count_known": lambda row: _is_counted(row["persisted"]),
    "status": lambda row: _answered(row["result"])[0],
}
"""How the arguments are read that are no arguments of a row."""

_RENAMED: dict[tuple[type[Any], str], str] = {
    (ops.MarkInProgress, "batches"): "progress_batches",
    (ops.CompleteWrite, "held"): "ranges",
}
"""The fields of a trace that have another name than the attribute which they describe."""


def _reader(operation: type[Any], attribute: "attrs.Attribute[Any]") -> Callable[[Row], Any]:
    """Return how an attribute of an operation is read; null stands for its default, if any."""
    name = _RENAMED.get((operation, attribute.name), attribute.name)
    convert, default = _CONVERSIONS.get(name), attribute.default
    if name in _DERIVED:
        return _DERIVED[name]
    if default is attrs.NOTHING:
        return (lambda row: convert(row[name])) if convert else itemgetter(name)

    def read(row: Row) -> object:
        value = row.get(name)
        if value is None:
            return default
        return convert(value) if convert else value

    return read


def _readers(operation: type[Any]) -> tuple[Callable[[Row], Any], ...]:
    """Return how each attribute of an operation is read, in order."""
    return tuple(_reader(operation, attribute) for attribute in attrs.fields(operation))


_BUILDERS = {row.name: (row.operation, _readers(row.operation)) for row in OPERATION_TABLE}


def operation_from_row(row: Row) -> ops.Operation:
    """Build the operation alone; raises as ``event_from_row`` does."""
    name = "skip_acquire" if row["op"] == "acquire" and row.get("skipped") else row["op"]
    if row["op"] == "skip_acquire" or name not in _BUILDERS:
        allowed = dict.fromkeys(described.op for described in OPERATION_TABLE)
        raise InvalidValueError("op", row["op"], ", ".join(allowed))
    for field in OPERATION_FIELDS[name]:
        if row.get(field) is None:
            raise InvalidValueError(field, None, f"a value, which {row['op']} needs")
    operation, readers = _BUILDERS[name]
    return operation(*(read(row) for read in readers))


def _answered(result: Row) -> tuple[ErrorCode, str | None]:
    """Return the status of a result, and the text of what was thrown in place of an answer.

    The status may be that text: what a client sees of it is UNKNOWN_SERVER_ERROR.
    """
    status, text = result.get("status"), result.get("exception")
    if status is not None and is_thrown(status):
        text = status if text is None else f"{status}: {text}"
        return ErrorCode.UNKNOWN_SERVER_ERROR, text
    return _named(ErrorCode, "result.status", status), text


def _outcome(row: Row) -> Outcome:
    result = row["result"]
    skipped = row["op"] == "acquire" and bool(row.get("skipped"))
    if skipped and result.get("can_acquire") is None:
        raise InvalidValueError("result.can_acquire", None, "true or false")
    acquired = _acquired(result.get("acquired") or ())
    total = number_of_offsets(acquired)
    if result.get("count") not in (None, total):
        raise InvalidValueError("result.count", result["count"], f"the acquired records, {total}")
    status, thrown = (ErrorCode.NONE, result.get("exception")) if skipped else _answered(result)
    return Outcome(
        status,
        acquired,
        tuple(_write(write) for write in row["writes"]),
        tuple(
            Completion(c["seq"], _named(ErrorCode, "completed.status", c["status"]))
            for c in row["completed"]
        ),
        can_acquire=bool(result["can_acquire"]) if skipped else True,
        acquisition=result.get("acquisition"),
        marked=tuple(_named(ErrorCode, "result.marked", m) for m in result.get("marked") or ()),
        deadline_ms=row.get("deadline_ms"),
        exception=thrown,
    )


def _write(write: Row) -> Write:
    status = _named(ErrorCode, "writes.status", write["status"])
    made_after, counted = write.get("made_after"), _is_counted(write)
    return Write(write["id"], *_numbers(write), status, made_after, counted)


_RECORD = itemgetter("first", "last", "state", "delivery_count", "member", "pending")


@lru_cache(maxsize=1 << 14, typed=True)
def _record(first: int, last: int, state: str, *more: Any) -> RecordRange:  # noqa: ANN401 - as in the row
    """Return a range of records; most stay as they are from event to event."""
    return record_range(first, last, _named(RecordState, "after.records.state", state), *more)


def _after(after: Row) -> SharePartitionSnapshot:
    rows = after.get("records")
    records = None
    if rows is not None:
        records = tuple(starmap(_record, map(_RECORD, rows)))
    return SharePartitionSnapshot(
        after["start_offset"], after["end_offset"], after["delivery_complete_count"], records
    )
