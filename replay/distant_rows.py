"""The rows of files that Spark reads for a worker, with the file and the line of each.

Each function takes what one of Spark's readers yields. Behind the rows of a file, or of a part of
one, comes a row that says what was read, as a task of a replay of local files does.
"""

import gzip
import io
import itertools
import pickle
from collections.abc import Iterable, Iterator

import attrs
import pyarrow as pa

from model.trace_arrow import completed
from model.trace_json import MAX_LINE_BYTES
from replay.address import shown
from replay.gather import (
    STORED,
    Gathered,
    GatherTask,
    Tally,
    gathered,
    placed,
    tables_of_lines,
)
from replay.lines import Bad, BinaryFile, Line, lines_of, too_long
from replay.pieces import runs_of
from replay.sources import Form, Source

READ = pa.schema([*STORED, ("start", pa.int64()), ("summary", pa.binary())])
"""The columns: an event and its place, the byte where its part of the file begins, or a summary.

Lines count from the beginning of the part.
"""

_GZIP = b"\x1f\x8b"

CHUNK_BYTES = 1 << 14
"""How much of a compressed file a row has: Spark hands over up to 10,000 rows at a time."""


def line_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the events of plain lines, which come with file and beginning of the part."""
    for (path, start), lines in itertools.groupby(_values(batches), key=lambda each: each[:2]):
        numbered = (_line(n, content) for n, (*_, content) in enumerate(lines, 1))
        yield from _events(_task(path, Form.LINES, start), numbered)


def packed_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the events of compressed files, which come in chunks, with the file of each.

    One that is not compressed is read as it is, as everywhere.
    """
    for (path, start), chunks in itertools.groupby(_values(batches), key=lambda each: each[:2]):
        content, head = (chunk for *_, chunk in chunks), b""
        while len(head) < len(_GZIP) and (more := next(content, b"")):
            head += more
        raw: io.RawIOBase = _Chunks(itertools.chain([head], content))
        file: BinaryFile = io.BufferedReader(raw)
        if head.startswith(_GZIP):
            file = gzip.GzipFile(fileobj=file)
        yield from _events(_task(path, Form.GZIP, start), lines_of(file))


def table_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of Parquet, which come with file and number of each row, from 0."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        for first, end in runs_of(table.column("path")):
            rows = table.slice(first, end - first)
            task = _task(rows.column("path")[0].as_py(), Form.PARQUET)
            tally = Tally(task)
            nth = rows.column("nth")[0].as_py()
            yield from _batches(placed(completed(rows), nth + 1, tally), 0)
            yield _summary(task, tally)


def summary_of(row: bytes, number: int) -> Gathered:
    """Return what a row says of the part of a file that was read, as the task of this number."""
    read: Gathered = pickle.loads(row)  # noqa: S301 - written by our own workers
    return attrs.evolve(read, task=attrs.evolve(read.task, number=number))


class _Chunks(io.RawIOBase):
    """A file whose bytes come in chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override] # as Python calls it
        while not self._rest:
            try:
                self._rest = next(self._chunks)
            except StopIteration:
                return 0
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _values(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, bytes]]:
    """Yield file, beginning of the part, and content of each row."""
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("path", "start", "content"))
        yield from zip(*columns, strict=True)


def _line(number: int, content: bytes) -> Line | Bad:
    if len(content) > MAX_LINE_BYTES:
        return too_long(number, content, len(content))
    return Line(number, content)


def _task(path: str, form: Form, start: int = 0) -> GatherTask:
    return GatherTask(0, Source(shown(path), form, 0), start, None, 1, "")


def _events(task: GatherTask, lines: Iterable[Line | Bad]) -> Iterator[pa.RecordBatch]:
    tally = Tally(task)
    for table in tables_of_lines(lines, tally):
        yield from _batches(table, task.start)
    yield _summary(task, tally)


def _batches(table: pa.Table, start: int) -> Iterator[pa.RecordBatch]:
    count = table.num_rows
    table = table.append_column(READ.field("start"), pa.array([start] * count, pa.int64()))
    table = table.append_column(READ.field("summary"), pa.nulls(count, pa.binary()))
    yield from table.cast(READ).to_batches()


def _summary(task: GatherTask, tally: Tally) -> pa.RecordBatch:
    read = pickle.dumps(gathered(task, tally))
    row = {"source": tally.path, "start": task.start, "summary": read}
    return pa.RecordBatch.from_pylist([row], schema=READ)
