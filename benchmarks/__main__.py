"""Print events per second of each engine, as a ratio to a single-thread Parquet read.

Everything runs on the same files in one run, since machines differ. The events are generated; to
generate them is measured too. The specification and the implementation's object take a prefix.
Before that come, as ratios too, the times of commands from the prompt, Apache Kafka's own class in
the same work, what Apache Kafka recorded, and what is read as text.
"""

import argparse
import functools
import gzip
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.against_kafka import show_against_kafka
from benchmarks.inputs import show_inputs
from benchmarks.recorded import show_recorded
from benchmarks.startup import show_startup
from benchmarks.timing import (
    KAFKA_TRACE,
    check_kernel,
    check_replay,
    median_seconds,
    read_parquet,
)
from impl.kernel import replay_partition
from impl.partition import FastSharePartition
from judge.choices import recorded_answers, recorded_choice
from model.config import SharePartitionConfig
from model.operations import AdvanceTime, Initialize, Produce
from model.outcome import Answer, Choice
from model.profile import KAFKA
from model.ranges import OffsetRange
from model.snapshot import DurableState
from model.trace import TraceEvent
from model.trace_arrow import table_from_rows
from model.trace_codec import event_from_row, row_from_event
from model.trace_json import row_from_line
from replay.generate import Request, generate_traces
from replay.plan import Plan
from replay.processes import HereRunner, open_processes
from replay.run import replay_sources
from replay.session import SparkRunner, open_session
from replay.sources import find_sources
from replay.tables import events_of
from spec.step import apply, new_partition

Prepared = tuple[TraceEvent, Choice, tuple[Answer, ...]]

PREFIX = 50_000
"""How many events the specification and the object take."""

TICKS = 20_000
"""How many operations are measured behind a log that was read long ago."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--recorded", type=int, default=1_000_000, help="recorded events, repeated")
    parser.add_argument("--partitions", type=int, default=200_000, help="small share-partitions")
    parser.add_argument("--copies", type=int, default=50, help="of a dump and of a request log")
    options = parser.parse_args()
    show_startup()
    show_against_kafka()
    show_recorded(options.recorded, options.partitions)
    show_inputs(options.copies)
    with tempfile.TemporaryDirectory(prefix="sharespec-bench-") as name:
        folder = Path(name)
        events = options.events
        _measure(_generated(folder, events), events)


def _measure(files: list[Path], events: int) -> None:
    read = _median(lambda: read_parquet(files), events)
    _show("Parquet read, 1 thread", read, read)
    tables = list(_tables(files))  # Read before: reading is measured apart.
    kernel = _median(lambda: _kernel(tables), events)
    _show("impl kernel, 1 core", kernel, read, "to reach: 0.4")
    prefix = list(_prefix(tables))
    _show("impl object", _median(lambda: _impl(prefix), len(prefix)), read, _said(prefix))
    alone, behind = (_median(functools.partial(_ticks, batches), TICKS) for batches in (1, 4_000))
    note = f"{alone / behind:.2f} of the time behind one; to reach: 1"
    _show("impl object, 4,000 log batches", behind, read, note)
    _show("spec", _median(lambda: _spec(prefix), len(prefix)), read, _said(prefix))
    recorded = _prepared(_kafka_events())
    rate = _median(lambda: _spec(recorded), len(recorded))
    _show(f"spec, {KAFKA_TRACE.name}", rate, read, "to reach: 20,000 events/s")
    _segments(prefix)
    with open_session("local[2]") as session:
        sources = find_sources([files[0].parent])
        runner, plan = SparkRunner(session), Plan(against=("impl",))
        spark = _median(lambda: check_replay(replay_sources(runner, sources, plan)), events)
    share = f"{spark / (2 * kernel):.2f} of two kernels; to reach: 0.8"
    _show("Spark replay, impl, local[2]", spark, read, share)


def _segments(prefix: list[Prepared]) -> None:
    """Measure one share-partition in segments: in this process, and in two children of it."""
    name = prefix[0][0].partition
    rows = [row_from_event(event) for event, _, _ in prefix if event.partition == name]
    with tempfile.TemporaryDirectory(prefix="sharespec-bench-") as folder:
        pq.write_table(table_from_rows(rows), Path(folder) / "one.parquet")
        sources, plan = find_sources([folder]), Plan(segment_events=max(1, len(rows) // 8))
        one = _median(lambda: check_replay(replay_sources(HereRunner(), sources, plan)), len(rows))
        with open_processes(2, ["replay.check_sorted"]) as two:
            both = _median(lambda: check_replay(replay_sources(two, sources, plan)), len(rows))
    click.echo(f"one share-partition in segments: {both / one:.2f} × on two cores; to reach: 1.8")


def _show(name: str, rate: float, read: float, note: str = "") -> None:
    click.echo(f"{name:<30} {rate:>12,.0f} events/s {rate / read:>8.4f}  {note}")


def _said(prefix: list[Prepared]) -> str:
    return f"on the first {len(prefix):,} events, built before"


def _median(work: Callable[[], object], events: int) -> float:
    """Return events per second."""
    return events / median_seconds(work)


def _generated(folder: Path, events: int) -> list[Path]:
    """Generate files, and print how that compares with writing the same rows once more."""
    request = Request(max(1, events // 10_000), events, 1)
    begun = time.process_time()
    files = generate_traces(request, folder, 1)
    generating = time.process_time() - begun
    size = sum(path.stat().st_size for path in files) / 1e6
    writing = 0.0
    for path in files:
        with pq.ParquetFile(path) as file:
            table = file.read(use_threads=False)
        begun = time.process_time()
        pq.write_table(table, folder / "again", compression="zstd")
        writing += time.process_time() - begun
    (folder / "again").unlink()
    click.echo(
        f"generate: {events:,} events in {len(files)} files, {size:.0f} MB, "
        f"{events / generating:,.0f} events a CPU second, {writing / generating:.2f} of a "
        f"Parquet write; to reach: 1 ({events / writing:,.0f})"
    )
    return files


def _tables(files: list[Path]) -> Iterator[pa.Table]:
    """Yield one table for each share-partition."""
    for path in files:
        table = pq.read_table(path, use_threads=False)
        start = 0
        for item in table.column("partition").value_counts().to_pylist():
            yield table.slice(start, item["counts"])
            start += item["counts"]


def _kernel(tables: list[pa.Table]) -> None:
    for table in tables:
        check_kernel(replay_partition(table, KAFKA))


def _prefix(tables: list[pa.Table]) -> Iterator[Prepared]:
    count = 0
    for table in tables:
        yield from _prepared(events_of(table))
        count += table.num_rows
        if count >= PREFIX:
            return


def _kafka_events() -> Iterator[TraceEvent]:
    with gzip.open(KAFKA_TRACE) as lines:
        for line in lines:
            yield event_from_row(row_from_line(line))


def _prepared(events: Iterator[TraceEvent]) -> list[Prepared]:
    return [(event, recorded_choice(event), recorded_answers(event)) for event in events]


def _ticks(batches: int) -> None:
    """Let time pass for a share-partition behind whose start offset so many log batches lie."""
    partition = FastSharePartition(KAFKA)
    partition.apply(Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)))
    produced = tuple(OffsetRange(10 * nth, 10 * nth + 9) for nth in range(batches))
    partition.apply(Produce(produced, 10 * batches))
    for _ in range(TICKS):
        partition.apply(AdvanceTime(1))


def _spec(prepared: list[Prepared]) -> None:
    for _, events in groupby(prepared, key=lambda item: item[0].partition):
        partition = new_partition(KAFKA)
        for event, choice, answers in events:
            partition = apply(partition, event.operation, choice, answers, event.seq).partition


def _impl(prepared: list[Prepared]) -> None:
    for _, events in groupby(prepared, key=lambda item: item[0].partition):
        partition = FastSharePartition(KAFKA)
        for event, choice, answers in events:
            partition.apply(event.operation, choice, answers, event.seq)


if __name__ == "__main__":
    main()
