"""Between a trace event and its row: a dictionary of plain values in the shape of the schema."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

import attrs

from model import operations as ops
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.outcome import Completion, Outcome, Write
from model.ranges import AcquiredRange, OffsetRange, RecordRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import AcquireMode, RecordState
from model.trace import TraceEvent
from model.trace_schema import OPERATION_FIELDS

__all__ = ["Row", "event_from_row", "operation_from_row", "row_from_event"]

_OPTIONAL = (
    "renew_acknowledge_enable",
    "dead_letter_queue",
    "in_progress_staleness_threshold_ms",
    "in_progress_max_lock_extension_ms",
    "in_progress_rebalance_grace_ms",
)
Row = Mapping[str, Any]
E_ = TypeVar("E_", bound=Enum)


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
        _after(row["after"]),
    )


def row_from_event(event: TraceEvent) -> dict[str, Any]:
    """Return the row of an event; ``event_from_row`` of it is the event again."""
    name = _NAMES[type(event.operation)]
    arguments = attrs.asdict(event.operation, value_serializer=_plain)
    if isinstance(event.operation, ops.Initialize):
        del arguments["time_ms"]
    if isinstance(event.operation, ops.CompleteWrite):
        del arguments["status"]
    if isinstance(event.operation, ops.SkipAcquire):
        arguments["skipped"] = True
    if isinstance(event.operation, ops.MarkInProgress):
        arguments["progress_batches"] = arguments.pop("batches")
    row: dict[str, Any] = {
        "partition": event.partition,
        "seq": event.seq,
        "time_ms": event.time_ms,
        "op": "acquire" if name == "skip_acquire" else name,
        **arguments,
        "result": _result(event),
    }
    outcome = attrs.asdict(event.outcome, value_serializer=_plain)
    row["writes"], row["completed"] = outcome["writes"], outcome["completed"]
    row["after"] = attrs.asdict(event.after, value_serializer=_plain)
    for record in row["after"]["records"] or ():
        record["state"] = RecordState(record["state"]).name
        record["member"] = record.pop("owner")
    return row


def _plain(_instance: object, _attribute: object, value: object) -> object:
    if isinstance(value, ErrorCode):
        return value.name
    return value.value if isinstance(value, Enum) else value


def _result(event: TraceEvent) -> dict[str, Any]:
    if isinstance(event.operation, ops.SkipAcquire):
        return {"can_acquire": event.outcome.can_acquire}
    result: dict[str, Any] = {"status": event.outcome.status.name}
    if isinstance(event.operation, ops.MarkInProgress):
        result["marked"] = [code.name for code in event.outcome.marked]
    if isinstance(event.operation, ops.Acquire):
        acquired = event.outcome.acquired
        result["acquired"] = [attrs.asdict(taken) for taken in acquired]
        result["count"] = sum(taken.last - taken.first + 1 for taken in acquired)
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


def _ranges(rows: list[Row]) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(row["first"], row["last"]) for row in rows)


def _state_batches(rows: list[Row]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(
            row["first"],
            row["last"],
            _valued(RecordState, "state", row["state"]),
            row["delivery_count"],
        )
        for row in rows
    )


def _config(config: Row) -> SharePartitionConfig:
    said = {name: config[name] for name in _OPTIONAL if config.get(name) is not None}
    return SharePartitionConfig(
        config["delivery_count_limit"],
        config["partition_max_record_locks"],
        config["record_lock_duration_ms"],
        _valued(AutoOffsetReset, "auto_offset_reset", config["auto_offset_reset"]),
        _valued(IsolationLevel, "isolation_level", config["isolation_level"]),
        **said,
    )


def _initialize(row: Row) -> ops.Initialize:
    persisted = row["persisted"]
    return ops.Initialize(
        _config(row["config"]),
        row["log_start_offset"],
        row["log_end_offset"],
        DurableState(
            persisted["start_offset"],
            persisted["delivery_complete_count"],
            _state_batches(persisted["state_batches"]),
            persisted.get("state_epoch") or 0,
            persisted.get("leader_epoch") or 0,
        ),
        row["time_ms"],
        row.get("reset_offset"),
    )


def _acquire(row: Row) -> ops.Acquire:
    return ops.Acquire(
        row["member"],
        _valued(AcquireMode, "acquire_mode", row["acquire_mode"]),
        row["batch_size"],
        row["max_fetch_records"],
        row["fetch_offset"],
        _ranges(row["log_batches"]),
    )


def _acknowledge(row: Row) -> ops.Acknowledge:
    batches = tuple(
        ops.AcknowledgementBatch(batch["first"], batch["last"], tuple(batch["types"]))
        for batch in row["batches"]
    )
    entry = row.get("entry")
    if entry is None:
        return ops.Acknowledge(row["member"], batches)
    return ops.Acknowledge(row["member"], batches, _valued(ops.EntryPoint, "entry", entry))


def _complete_write(row: Row) -> ops.CompleteWrite:
    return ops.CompleteWrite(row["id"], _named(ErrorCode, "status", row["result"].get("status")))


def _mark_in_progress(row: Row) -> ops.MarkInProgress:
    return ops.MarkInProgress(
        row["member"],
        tuple(
            ops.ProgressBatch(b["first"], b["last"], b["leader_epoch"], b["acquisition"])
            for b in row["progress_batches"]
        ),
    )


_BUILDERS: dict[str, Callable[[Row], ops.Operation]] = {
    "initialize": _initialize,
    "produce": lambda row: ops.Produce(_ranges(row["log_batches"]), row["log_end_offset"]),
    "acquire": _acquire,
    "skip_acquire": lambda row: ops.SkipAcquire(row["member"]),
    "acknowledge": _acknowledge,
    "release": lambda row: ops.Release(row["member"]),
    "advance_time": lambda row: ops.AdvanceTime(row["ms"]),
    "complete_write": _complete_write,
    "advance_log_start": lambda row: ops.AdvanceLogStart(row["log_start_offset"]),
    "reset_offset": lambda row: ops.ResetOffset(row["start_offset"]),
    "mark_in_progress": _mark_in_progress,
    "finish_dead_letter": lambda row: ops.FinishDeadLetter(_ranges(row["ranges"])),
    "alter_config": lambda row: ops.AlterConfig(_config(row["config"])),
    "archive_aborted": lambda row: ops.ArchiveAborted(_ranges(row["ranges"])),
}

_NAMES: dict[type[Any], str] = {
    ops.Initialize: "initialize",
    ops.Produce: "produce",
    ops.Acquire: "acquire",
    ops.SkipAcquire: "skip_acquire",
    ops.Acknowledge: "acknowledge",
    ops.Release: "release",
    ops.AdvanceTime: "advance_time",
    ops.CompleteWrite: "complete_write",
    ops.AdvanceLogStart: "advance_log_start",
    ops.ResetOffset: "reset_offset",
    ops.MarkInProgress: "mark_in_progress",
    ops.FinishDeadLetter: "finish_dead_letter",
    ops.AlterConfig: "alter_config",
    ops.ArchiveAborted: "archive_aborted",
}


def operation_from_row(row: Row) -> ops.Operation:
    """Build the operation alone; raises as ``event_from_row`` does."""
    name = "skip_acquire" if row["op"] == "acquire" and row.get("skipped") else row["op"]
    if row["op"] == "skip_acquire" or name not in _BUILDERS:
        allowed = ", ".join(n for n in OPERATION_FIELDS if n != "skip_acquire")
        raise InvalidValueError("op", row["op"], allowed)
    for field in OPERATION_FIELDS[name]:
        if row.get(field) is None:
            raise InvalidValueError(field, None, f"a value, which {row['op']} needs")
    return _BUILDERS[name](row)


def _outcome(row: Row) -> Outcome:
    result = row["result"]
    skipped = row["op"] == "acquire" and bool(row.get("skipped"))
    if skipped and result.get("can_acquire") is None:
        raise InvalidValueError("result.can_acquire", None, "true or false")
    acquired = tuple(
        AcquiredRange(r["first"], r["last"], r["delivery_count"])
        for r in result.get("acquired") or ()
    )
    total = sum(r.last - r.first + 1 for r in acquired)
    if result.get("count") not in (None, total):
        raise InvalidValueError("result.count", result["count"], f"the acquired records, {total}")
    return Outcome(
        ErrorCode.NONE if skipped else _named(ErrorCode, "result.status", result.get("status")),
        acquired,
        tuple(
            Write(
                w["id"],
                w["start_offset"],
                w["delivery_complete_count"],
                _state_batches(w["state_batches"]),
                _named(ErrorCode, "writes.status", w["status"]),
            )
            for w in row["writes"]
        ),
        tuple(
            Completion(c["seq"], _named(ErrorCode, "completed.status", c["status"]))
            for c in row["completed"]
        ),
        can_acquire=bool(result["can_acquire"]) if skipped else True,
        acquisition=result.get("acquisition"),
        marked=tuple(_named(ErrorCode, "result.marked", m) for m in result.get("marked") or ()),
    )


def _after(after: Row) -> SharePartitionSnapshot:
    rows = after.get("records")
    records = None
    if rows is not None:
        records = tuple(
            RecordRange(
                r["first"],
                r["last"],
                _named(RecordState, "after.records.state", r["state"]),
                r["delivery_count"],
                r["member"],
                r["pending"],
            )
            for r in rows
        )
    return SharePartitionSnapshot(
        after["start_offset"], after["end_offset"], after["delivery_complete_count"], records
    )
