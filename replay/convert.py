"""Recorded events from one form to another: JSON lines, gzip or not, and Parquet."""

import contextlib
import gzip
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from model.trace_arrow import SCHEMA
from model.trace_json import line_from_row
from replay.gather import DEADLY, GENERATED, Gathered, GatherTask, gathered, surveyed, tables_of
from replay.sources import Form, Source
from replay.verdict import Problem, Recording
from report.scratch import whole_file

if TYPE_CHECKING:
    from io import BufferedWriter

ROWS_PER_GROUP = 50_000
"""How many rows a row group has: so many are read at once."""


@attrs.frozen
class Converted:
    """How many events were written, and the lines and rows that hold none.

    ``generated``: the implementation computed results of them; ``recording`` is what a recorder
    says of the files, which no other form has.
    """

    events: int
    problems: tuple[Problem, ...]
    generated: bool
    recording: Recording


def convert(files: Sequence[Source], out: Path) -> Converted:
    """Write the events of the files, one after another in their order, in the form of the name.

    A name that ends in ``.parquet`` is Parquet, ``.gz`` compressed lines, any other plain lines.
    The file appears whole when all is written, and not without an event. Raises OSError if it
    cannot be written.
    """
    surveys = list(surveyed([source for source in files if source.form is Form.PARQUET]))
    deadly = [s.problem for s in surveys if s.problem and s.problem.message == DEADLY]
    closed = {problem.source for problem in deadly}
    tasks = (GatherTask(0, each, 0, None, 1, "") for each in files if each.path not in closed)
    parts = [Gathered(task) for task in tasks]
    generated = any(each.generated for each in surveys)
    rows = 0

    def events() -> Iterator[pa.Table]:
        nonlocal rows
        for table in itertools.chain.from_iterable(map(tables_of, parts)):
            rows += table.num_rows
            yield table.select(SCHEMA.names)

    with whole_file(out) as draft:
        if out.suffix == ".parquet":
            _write_parquet(draft, events(), generated=generated)
        else:
            _write_lines(draft, events(), compressed=out.suffix == ".gz")
        if not rows:
            draft.unlink()
    recording = sum((part.recording for part in parts), Recording())
    problems = (*deadly, *(problem for part in parts for problem in part.problems))
    return Converted(rows, problems, generated, recording)


def _write_parquet(path: Path, tables: Iterable[pa.Table], *, generated: bool) -> None:
    metadata = {GENERATED: b"true"} if generated else None
    with pq.ParquetWriter(path, SCHEMA.with_metadata(metadata), compression="zstd") as writer:
        for table in gathered(tables, ROWS_PER_GROUP, len):
            writer.write_table(table.replace_schema_metadata(metadata))


def _write_lines(path: Path, tables: Iterable[pa.Table], *, compressed: bool) -> None:
    with contextlib.ExitStack() as stack:
        file = raw = stack.enter_context(path.open("wb"))
        if compressed:
            # Without a name and a time equal events give equal files.
            opened = gzip.GzipFile("", "wb", fileobj=raw, mtime=0)
            file = cast("BufferedWriter", stack.enter_context(opened))
        for table in tables:
            file.writelines(map(line_from_row, table.to_pylist()))
