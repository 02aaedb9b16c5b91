"""Lag and state counts over time, as Parquet: one row for each event that was checked."""

import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from impl.kernel import KernelResult
from judge.engine import Engine
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from replay.result_schema import labelled, name_parts

LAG = pa.schema(
    [
        ("partition", pa.string()),
        ("seq", pa.int64()),
        ("time_ms", pa.int64()),
        ("start_offset", pa.int64()),
        ("end_offset", pa.int64()),
        ("lag", pa.int64()),
        ("available", pa.int64()),
        ("acquired", pa.int64()),
        ("acknowledged", pa.int64()),
        ("archived", pa.int64()),
        ("archiving", pa.int64()),
        ("in_progress", pa.int64()),
        ("group", pa.string()),
        ("topic", pa.string()),
        ("topic_partition", pa.int64()),
    ]
)
"""The columns: offsets, the leader's ``lag`` in offsets, and the records of each state."""

COUNTED = (
    RecordState.AVAILABLE,
    RecordState.ACQUIRED,
    RecordState.ACKNOWLEDGED,
    RecordState.ARCHIVED,
    RecordState.ARCHIVING,
    RecordState.IN_PROGRESS,
)
"""The states that are counted, in the order of the columns."""


def lag_table(partition: str, events: pa.Table, result: KernelResult) -> pa.Table:
    """Return the rows of what the kernel replayed."""
    count = result.events
    columns: list[Any] = [
        pa.array([partition] * count, pa.string()),
        events.column("seq").slice(0, count),
        events.column("time_ms").slice(0, count),
        *(pa.array(np.asarray(a)[:count]) for a in (result.start_offsets, result.end_offsets)),
        pa.array(np.asarray(result.lag)[:count]),
        *(pa.array(np.asarray(result.counts)[:count, state]) for state in COUNTED),
    ]
    named = zip(name_parts(partition).values(), LAG.types[-3:], strict=True)
    columns += [pa.array([part] * count, kind) for part, kind in named]
    return pa.table(columns, names=LAG.names).cast(LAG)


class Observed:
    """The same rows, from engines that apply one event at a time."""

    def __init__(self) -> None:
        """Start with no rows."""
        self._rows: list[tuple[Any, ...]] = []

    def __call__(self, event: TraceEvent, engine: Engine, state: SharePartitionSnapshot) -> None:
        """Add the row of an event."""
        counts = dict.fromkeys(COUNTED, 0)
        for record in state.records or ():
            counts[record.state] += record.last - record.first + 1
        window = (state.start_offset, state.end_offset)
        head = (event.partition, event.seq, event.time_ms)
        names = name_parts(event.partition).values()
        self._rows.append((*head, *window, engine.lag(), *counts.values(), *names))

    def table(self) -> pa.Table:
        """Return the rows."""
        columns = zip(*self._rows, strict=True) if self._rows else [[] for _ in LAG]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, LAG, strict=True)]
        return pa.table(arrays, schema=LAG)


@attrs.frozen
class Lag:
    """The lag of a share-partition, in memory, if it is ``wanted``."""

    wanted: bool = False
    _tables: list[pa.Table] = attrs.field(factory=list)

    def add(self, table: pa.Table) -> None:
        """Keep the rows of a table."""
        self._tables.append(table)

    def taken(self) -> list[pa.Table]:
        """Return what was kept, and keep it no longer."""
        tables = list(self._tables)
        self._tables.clear()
        return tables


class LagFile:
    """A Parquet file that appears whole when it is closed, so that a task may run twice."""

    def __init__(
        self, folder: str | None, number: int, labels: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """Write ``part-NUMBER.parquet`` in the folder; nothing if there is no folder."""
        self._schema = labelled(LAG, labels)
        self._path = Path(folder) / f"part-{number:05}.parquet" if folder else None
        self._writer: pq.ParquetWriter | None = None
        self._draft = Path(f"{self._path}.{os.getpid()}.draft")

    def write(self, table: pa.Table) -> None:
        """Append the rows of one share-partition."""
        if self._path is None or not table.num_rows:
            return
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._draft, self._schema, compression="zstd")
        self._writer.write_table(table.cast(self._schema))

    def close(self) -> None:
        """Finish the file."""
        if self._writer and self._path:
            self._writer.close()
            self._draft.replace(self._path)
