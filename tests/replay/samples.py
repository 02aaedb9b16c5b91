"""Recorded events to replay, whole and spoiled."""

import functools
import gzip
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from model.profile import KAFKA
from model.trace import TraceEvent
from model.trace_arrow import PLACE, SCHEMA, table_from_rows
from model.trace_codec import event_from_row
from model.trace_json import line_from_row, row_from_line
from operations.local import opened_traces, share_partitions
from operations.walk import TraceTime, Walked, walk
from replay.check_sorted import check_sorted
from replay.plan import CheckedPartition, InputFacts, Plan
from replay.processes import HereRunner
from replay.run import replay_sources
from replay.sources import find_sources
from replay.verdict import PartitionVerdict, Replay
from tests.traces import rows_by_partition, trace_lines

T = TypeVar("T")
Row = dict[str, Any]
DRAFT = Path(__file__).parents[1] / "data" / "draft.jsonl"
ABORTED = DRAFT.with_name("aborted.jsonl")
TRACES = Path(__file__).parents[1] / "data" / "traces"
RECORDED = TRACES.with_name("recorded")
WHOLE = Plan()
BOTH, IMPL = ("spec", "impl"), ("impl",)
FAST = Plan(against=IMPL, invariants_every=0)


def kafka_rows(name: str = "core", partition: int = 0, count: int = 60) -> list[Row]:
    """Return the first events of one share-partition that Apache Kafka recorded."""
    mine = f'"{name}:orders:{partition}"'.encode()
    lines = (line for line in trace_lines(f"kafka-{name}.jsonl.gz") if mine in line)
    return [row_from_line(line) for line in itertools.islice(lines, count)]


def recorded(name: str) -> dict[str, list[Row]]:
    """Return the rows of each share-partition that a released broker recorded."""
    return rows_by_partition(RECORDED / f"{name}.jsonl.gz")


def draft_rows() -> list[Row]:
    """Return events of a leader with records in progress and a dead-letter queue, made by hand."""
    return [row_from_line(line) for line in DRAFT.read_bytes().splitlines()]


def aborted_rows() -> list[Row]:
    """Return events of a leader that keeps data of aborted transactions back, made by hand."""
    return [row_from_line(line) for line in ABORTED.read_bytes().splitlines()]


def events(rows: Iterable[Row]) -> list[TraceEvent]:
    return [event_from_row(row) for row in rows]


def renamed(rows: Iterable[Row], partition: str) -> list[Row]:
    return [{**row, "partition": partition} for row in rows]


def first_of(rows: list[Row], wanted: Callable[[Row], object]) -> Row:
    return next(row for row in rows if wanted(row))


def write_lines(path: Path, rows: Iterable[Row]) -> Path:
    data = b"".join(line_from_row(row) for row in rows)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_parquet(path: Path, rows: list[Row], rows_per_group: int = 1000) -> Path:
    pq.write_table(table_from_rows(rows), path, row_group_size=rows_per_group)
    return path


def write_trace(path: Path, rows: list[Row]) -> Path:
    """Write rows in the form of the name."""
    return write_parquet(path, rows) if path.suffix == ".parquet" else write_lines(path, rows)


@functools.cache
def walked_trace(name: str, moment: TraceTime) -> dict[str, Walked]:
    """Return each share-partition of a trace of Apache Kafka as it is at a moment."""
    with opened_traces([TRACES / f"kafka-{name}.jsonl.gz"]) as traces:
        return {rows.partition: walk(rows, KAFKA, moment) for rows in share_partitions(traces)}


def replayed(*paths: str | Path, plan: Plan = WHOLE, out: Path | None = None) -> Replay:
    """Replay files in this process."""
    return replay_sources(HereRunner(), find_sources(paths), plan, out)


def rows_of(*partitions: int, count: int = 40) -> list[Row]:
    """Return the first events of some share-partitions, one after another."""
    return [row for p in partitions for row in kafka_rows(partition=p, count=count)]


def led(rows: Iterable[Row], epoch: int = 4) -> list[Row]:
    """Return the events as those of a leader."""
    return [{**row, "leader_epoch": epoch, "instance": 0} for row in rows]


def check_rows(
    given: list[Row] | pa.Table, plan: Plan, facts: InputFacts | None = None
) -> CheckedPartition:
    """Check one share-partition, whose rows come piece by piece if the plan says so."""
    table = placed(given) if isinstance(given, list) else given
    tables = (table.slice(i, plan.piece_events) for i in range(0, len(table), plan.piece_events))
    (checked,) = check_sorted(tables, plan, facts)
    assert isinstance(checked, CheckedPartition)
    return checked


def places(verdict: PartitionVerdict) -> list[tuple[int, str]]:
    """Return where a share-partition diverges, and the name of what is wrong there."""
    return [(each.seq, each.name) for each in verdict.divergences]


def present(value: T | None) -> T:
    """Return what must not be missing."""
    assert value is not None
    return value


def lag_of(rows: list[Row], plan: Plan) -> pa.Table:
    """Return the lag after each event of a share-partition."""
    checked = check_sorted([placed(rows)], plan, lag=True)
    return pa.concat_tables([each for each in checked if isinstance(each, pa.Table)])


def placed(rows: list[Row], source: str = "trace.jsonl") -> pa.Table:
    """Return a table as the first stage leaves it."""
    schema = pa.schema([*SCHEMA, *PLACE])
    return table_from_rows(
        [{**row, "source": source, "line": i + 1} for i, row in enumerate(rows)], schema
    )
