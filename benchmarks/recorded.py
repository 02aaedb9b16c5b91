"""The kernel on what real brokers recorded, and on share-partitions of every size.

The recorded share-partitions stand in one table many times, under other names. So do their first
events, as share-partitions that have nothing else: their time is the cost of a share-partition.
"""

import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.timing import DATA, check_kernel, median_seconds, read_parquet
from impl.kernel import replay_partition
from model.profile import KAFKA
from model.trace_arrow import SCHEMA
from replay.convert import convert
from replay.generate import Request, generate_traces
from replay.pieces import Together
from replay.sources import find_sources

FIRST = 4
"""How many events a small share-partition has."""

Spans = list[tuple[int, int]]
"""The first row of each share-partition in a table, and the number of its rows."""


def show_recorded(events: int, partitions: int) -> None:
    """Measure and print, with so many events and so many small share-partitions at least."""
    with tempfile.TemporaryDirectory(prefix="sharespec-bench-") as name:
        folder = Path(name)
        table = _recorded(folder)
        recorded = _repeated(table, events // table.num_rows + 1)
        _show("recorded by Apache Kafka", recorded, folder, "; to reach: 0.7")
        begun = _beginnings(table)
        copies = partitions // len(_spans(begun)) + 1
        small = _repeated(begun, copies)
        _show(f"{FIRST} events a share-partition", small, folder, "; to reach: 0.2")
        _show("one share-partition", _generated(folder, events), folder)


def _show(text: str, table: pa.Table, folder: Path, note: str = "") -> None:
    path = folder / "read.parquet"
    pq.write_table(table, path, compression="zstd")
    spans = _spans(table)
    reading = median_seconds(lambda: read_parquet([path]))
    replaying = median_seconds(lambda: _replay(table, spans))
    click.echo(
        f"kernel, {text}: {table.num_rows:,} events in {len(spans):,} share-partitions, "
        f"{replaying / table.num_rows * 1e6:.2f} µs an event, "
        f"{replaying / len(spans) * 1e6:,.0f} µs a share-partition, "
        f"{reading / replaying:.2f} of a Parquet read{note}"
    )


def _replay(table: pa.Table, spans: Spans) -> None:
    together = Together(table, [first for first, _count in spans])
    for first, count in spans:
        if len(spans) > 1:
            check_kernel(together.replay(first, count, KAFKA))
        else:
            check_kernel(replay_partition(table, KAFKA))


def _recorded(folder: Path) -> pa.Table:
    """Return what the tests have of Apache Kafka, each share-partition in order."""
    convert(find_sources([DATA / "traces"]).files, folder / "recorded.parquet")
    keys = [("partition", "ascending"), ("seq", "ascending")]
    return pq.read_table(folder / "recorded.parquet").select(SCHEMA.names).sort_by(keys)


def _generated(folder: Path, events: int) -> pa.Table:
    paths = generate_traces(Request(1, events, 1), folder / "generated")
    return pa.concat_tables(pq.read_table(path) for path in paths).select(SCHEMA.names)


def _beginnings(table: pa.Table) -> pa.Table:
    return pa.concat_tables(table.slice(first, FIRST) for first, _ in _spans(table))


def _repeated(table: pa.Table, copies: int) -> pa.Table:
    """Return a table so many times, each time with other names."""
    names = table.column("partition")
    place = table.schema.get_field_index("partition")
    renamed = (pc.binary_join_element_wise(f"copy-{n}", names, "-") for n in range(copies))
    tables = (table.set_column(place, table.schema.field(place), each) for each in renamed)
    return pa.concat_tables(tables).combine_chunks()


def _spans(table: pa.Table) -> Spans:
    return list(_grouped(table.column("partition").to_pylist()))


def _grouped(names: list[str]) -> Iterator[tuple[int, int]]:
    first = 0
    for _, same in groupby(names):
        count = sum(1 for _ in same)
        yield first, count
        first += count
