"""Traces to test against, the choices that an event implies, and an uncompiled copy of impl."""

import gzip
import importlib
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numba
import pyarrow as pa

from model.errors import ErrorCode
from model.operations import Acknowledge, Acquire, AdvanceTime
from model.outcome import Answer, Choice, Expiry
from model.ranges import OffsetRange, RecordRange
from model.states import RecordState
from model.trace import TraceEvent
from model.trace_arrow import table_from_rows
from model.trace_codec import event_from_row, row_from_event
from model.trace_json import row_from_line

TRACES = sorted((Path(__file__).parents[1] / "data" / "traces").glob("kafka-*.jsonl.gz"))

_JUDGEMENTS = (ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE)


@cache
def rows_by_partition(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a trace file, for each share-partition in order."""
    rows: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(path, "rb") as lines:
        for line in lines:
            row = row_from_line(line)
            rows.setdefault(row["partition"], []).append(row)
    return rows


@cache
def events_by_partition(path: Path) -> dict[str, tuple[TraceEvent, ...]]:
    """Return the events of a trace file, for each share-partition in order."""
    return {
        partition: tuple(event_from_row(row) for row in rows)
        for partition, rows in rows_by_partition(path).items()
    }


def table_of(events: list[TraceEvent]) -> pa.Table:
    """Return events as a table."""
    return table_from_rows([row_from_event(event) for event in events])


def choice_of(event: TraceEvent) -> Choice:
    """Return the choices that an implementation made to give the recorded event."""
    choice = Choice(end_offset=event.after.end_offset, start_offset=event.after.start_offset)
    status = event.outcome.status
    if isinstance(event.operation, Acquire):
        taken = tuple(OffsetRange(r.first, r.last) for r in event.outcome.acquired)
        return attrs.evolve(choice, acquired=taken, entered=_entered(event))
    if isinstance(event.operation, Acknowledge):
        return attrs.evolve(choice, refusal=status if status in _JUDGEMENTS else ErrorCode.NONE)
    if isinstance(event.operation, AdvanceTime):
        return attrs.evolve(
            choice,
            expired=tuple(
                Expiry(
                    tuple(OffsetRange(b.first, b.last) for b in write.state_batches),
                    write.start_offset,
                )
                for write in event.outcome.writes
            ),
        )
    return choice


def _entered(event: TraceEvent) -> tuple[OffsetRange, ...] | None:
    batches = event.operation.log_batches if isinstance(event.operation, Acquire) else ()
    if event.after.records is None:
        return None
    low, high = (batches[0].first, batches[-1].last) if batches else (0, -1)
    clipped = (
        (max(r.first, low), min(r.last, high))
        for r in event.after.records
        if (r.state, r.delivery_count, r.pending) == (RecordState.AVAILABLE, 0, False)
    )
    return tuple(OffsetRange(first, last) for first, last in clipped if first <= last)


def answers_of(event: TraceEvent) -> tuple[Answer, ...]:
    """Return what the share coordinator answered to the recorded writes."""
    return tuple(Answer(write.status, write.id) for write in event.outcome.writes)


def by_offset(records: tuple[RecordRange, ...], start: int) -> dict[int, tuple[object, ...]]:
    """Return what is known of each offset from ``start``, leaving out what was never delivered."""
    return {
        offset: (r.state, r.delivery_count, r.owner, r.pending)
        for r in records
        for offset in range(max(r.first, start), r.last + 1)
        if (r.state, r.delivery_count, r.pending) != (RecordState.AVAILABLE, 0, False)
    }


@cache
def interpreted(name: str) -> ModuleType:
    """Return a module of impl that is not compiled, with all that it imports of impl."""
    _load_interpreted()
    return _INTERPRETED[f"impl.{name}"]


_INTERPRETED: dict[str, ModuleType] = {}


def _load_interpreted() -> None:
    if _INTERPRETED:
        return
    config: Any = numba.config
    compiled = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_impl(name)}
    before, config.DISABLE_JIT = config.DISABLE_JIT, True
    try:
        importlib.import_module("impl.kernel")
        importlib.import_module("impl.partition")
        _INTERPRETED.update(
            {name: sys.modules.pop(name) for name in list(sys.modules) if _is_impl(name)}
        )
    finally:
        config.DISABLE_JIT = before
        sys.modules.update(compiled)


def _is_impl(name: str) -> bool:
    return name == "impl" or name.startswith("impl.")
