"""The columns of verdicts, divergences and lag, wherever they are written.

Lag and state counts are those over time: one row for each event that was checked.

The version of these schemas is ``SCHEMA_VERSION``; it is in the metadata of every file.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from judge.finding import Finding, FindingPlace
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from model.trace_arrow import SCHEMA, completed
from model.trace_codec import record_row
from model.whole_state import WholeState
from replay.verdict import PartitionVerdict
from report.scratch import whole_file

if TYPE_CHECKING:
    from impl.kernel import KernelResult

SCHEMA_VERSION = 2
"""Changes where a column has another name, type or meaning; not where one is added."""

_WINDOW = ("start_offset", "end_offset", "delivery_complete_count")
STATES = {"state_before": "before", "state_expected": "expected", "state_recorded": "recorded"}
"""The fields of a finding that are whole states, and what columns of their records are called."""

UNWRITTEN = ("place", "last", "evidence", "cause", "vector", "pins", "rests_on")
"""Fields of a finding that are no columns: its place is several, the others are of no trace."""

_NAMED = re.compile(r"(?s)(?P<group>.*):(?P<topic>[^:]*):(?P<topic_partition>[0-9]+)")
_NAME = [("group", pa.string()), ("topic", pa.string()), ("topic_partition", pa.int64())]

_RECORDS = SCHEMA.field("after").type.field("records").type
"""Records in equal states, as a trace has them."""


def _columns(cls: type, *without: str) -> list[tuple[str, pa.DataType]]:
    return [(f.name, _type(f.type)) for f in attrs.fields(cls) if f.name not in without]


def _type(annotated: object) -> pa.DataType:
    """Return the type of a column; what is no number and no list is text."""
    if annotated == tuple[str, ...]:
        return pa.list_(pa.string())
    return pa.int64() if annotated in (int, int | None) else pa.string()


DIVERGENCES = pa.schema(
    [
        *_columns(FindingPlace),
        *_columns(Finding, *STATES, *UNWRITTEN),
        *((f"{name}_before", pa.int64()) for name in _WINDOW),
        *((f"records_{name}", _RECORDS) for name in STATES.values()),
        *_NAME,
    ]
)
"""The columns of divergences: those of a finding, its states, and the parts of its place."""

VERDICTS = pa.schema(
    [
        *_columns(PartitionVerdict, "divergence", "problem", "more"),
        ("problem", pa.string()),
        ("divergences", pa.int64()),
        *_NAME,
    ]
)
"""The columns of verdicts; ``problem`` as text, and how many divergences there are."""

RESULTS = VERDICTS.append(pa.field("diverging", pa.list_(pa.struct(list(DIVERGENCES)))))
"""The columns of verdicts, and the divergences as structs."""


COUNTED = {
    state.name.lower(): state
    for state in (
        RecordState.AVAILABLE,
        RecordState.ACQUIRED,
        RecordState.ACKNOWLEDGED,
        RecordState.ARCHIVED,
        RecordState.ARCHIVING,
        RecordState.IN_PROGRESS,
    )
}
"""The states that are counted, by their columns and in the order of these."""

_NUMBERED = ("seq", "time_ms", "start_offset", "end_offset", "lag", *COUNTED)
LAG = pa.schema([("partition", pa.string()), *((n, pa.int64()) for n in _NUMBERED), *_NAME])
"""The columns: offsets, the leader's ``lag`` in offsets, and the records of each state."""


def name_parts(partition: str) -> dict[str, Any]:
    """Return group, topic and number of a share-partition; null where its name has no such."""
    if parts := _NAMED.fullmatch(partition):
        number = int(parts["topic_partition"])
        if number < 2**31:
            return parts.groupdict() | {"topic_partition": number}
    return dict.fromkeys(name for name, _ in _NAME)


def divergence_row(finding: Finding) -> dict[str, Any]:
    """Return a row of divergences."""
    columns = set(DIVERGENCES.names)
    kept = {f.name: getattr(finding, f.name) for f in attrs.fields(Finding) if f.name in columns}
    before = finding.state_before
    window = {f"{name}_before": before and getattr(before, name) for name in _WINDOW}
    states = {to: getattr(finding, name) for name, to in STATES.items()}
    records = {
        f"records_{to}": list(map(record_row, (state and state.records) or ()))
        for to, state in states.items()
    }
    place = attrs.asdict(finding.place)
    return place | kept | window | records | name_parts(finding.place.partition)


def verdict_row(verdict: PartitionVerdict) -> dict[str, Any]:
    """Return a row of verdicts."""
    row = attrs.asdict(verdict, recurse=False, filter=lambda f, _: f.name in VERDICTS.names)
    row["problem"] = verdict.problem and verdict.problem.message
    row["divergences"] = len(verdict.divergences)
    return row | name_parts(verdict.partition)


def labelled(schema: pa.Schema, labels: tuple[tuple[str, str], ...]) -> pa.Schema:
    """Return a schema whose metadata says how its rows came to be."""
    metadata = {f"sharespec.{name}": text for name, text in labels}
    metadata["sharespec.schema"] = str(SCHEMA_VERSION)
    return schema.with_metadata(metadata)


def result_tables(
    verdicts: Sequence[PartitionVerdict], labels: tuple[tuple[str, str], ...] = ()
) -> dict[str, pa.Table]:
    """Return the tables ``verdicts`` and ``divergences``."""
    rows = {
        "verdicts": (VERDICTS, [verdict_row(v) for v in verdicts]),
        "divergences": (DIVERGENCES, [divergence_row(d) for v in verdicts for d in v.divergences]),
    }
    return {
        name: pa.Table.from_pylist(each, schema=labelled(columns, labels))
        for name, (columns, each) in rows.items()
    }


def lag_table(partition: str, events: pa.Table, result: "KernelResult") -> pa.Table:
    """Return the rows of what the kernel replayed."""
    table, counts = events.select(["seq", "time_ms"]), np.asarray(result.counts)
    numbers = {
        "start_offset": result.start_offsets,
        "end_offset": result.end_offsets,
        "lag": result.lag,
        **{name: counts[:, state] for name, state in COUNTED.items()},
    }
    arrays = {name: pa.array(np.asarray(each)[: result.events]) for name, each in numbers.items()}
    table = table.slice(0, result.events)
    return completed(table, LAG, partition=partition, **arrays, **name_parts(partition))


def lag_row(
    event: TraceEvent, state: SharePartitionSnapshot | WholeState, lag: int
) -> dict[str, Any]:
    """Return the row of an event, after which a state tells its window and its records."""
    counts = dict.fromkeys(COUNTED, 0)
    for record in state.records or ():
        counts[RecordState(record.state).name.lower()] += record.last - record.first + 1
    row = {name: getattr(event, name) for name in ("partition", "seq", "time_ms")}
    window = {name: getattr(state, name) for name in ("start_offset", "end_offset")}
    return row | window | counts | {"lag": lag} | name_parts(event.partition)


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


@contextmanager
def lag_file(
    folder: str, number: int, labels: tuple[tuple[str, str], ...] = ()
) -> Iterator[Callable[[pa.Table], None]]:
    """Write the rows that it is given to ``part-NUMBER.parquet`` in a folder.

    The file appears whole at the end, so that a task may run twice.
    """
    path, schema = Path(folder) / f"part-{number:05}.parquet", labelled(LAG, labels)
    with whole_file(path) as draft, pq.ParquetWriter(draft, schema, compression="zstd") as writer:
        yield lambda rows: writer.write_table(rows.cast(schema))
