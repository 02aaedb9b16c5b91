"""Large synthetic traces as Parquet, for tests of scale.

The results in them come from the implementation, so its agreement with them proves nothing. Each
share-partition is a sequence of histories drawn from a pool (``replay.histories``). The files do
not depend on how many processes make them.
"""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import repeat
from pathlib import Path

import attrs
import pyarrow.parquet as pq

from model.trace_arrow import SCHEMA
from replay.gather import GENERATED
from replay.histories import (
    HISTORIES,
    Piece,
    Pool,
    draw_history,
    numbers_needed,
    pieces_of,
    pool_of,
    repetitive,
    rows_of,
)
from report.scratch import made_folder, whole_file

EVENTS_PER_FILE = 250_000
"""About how many events one file holds."""

MAX_FILES = 100_000
"""How many files are written: each is planned in memory."""

ROWS_PER_GROUP = 50_000
"""About how many rows a row group holds: it ends with a share-partition, or with twice as many."""


@attrs.frozen
class Request:
    """How many share-partitions and, over all of them, how many events; and the seed."""

    partitions: int = attrs.field(validator=attrs.validators.ge(1))
    events: int = attrs.field()
    seed: int = 0

    @events.validator
    def _enough(self, _attribute: object, value: int) -> None:
        if value < self.partitions:
            raise ValueError(f"events is {value}; allowed: at least one for each partition")

    def of_partition(self, index: int) -> int:
        """Return how many events a share-partition has: all about the same."""
        each, more = divmod(self.events, self.partitions)
        return each + (index < more)


class TargetNotEmptyError(ValueError):
    """The folder to write to has something in it."""


def generate_traces(
    request: Request,
    target: Path,
    processes: int | None = None,
    progress: Callable[[int], None] = lambda _events: None,
) -> list[Path]:
    """Write the traces into a folder that is empty or new, and return the files in order.

    ``progress`` is told how many events each finished file has. Raises TargetNotEmptyError, and
    ValueError for too many files.
    """
    number = -(-request.partitions // _partitions_per_file(request))
    if number > MAX_FILES:
        text = f"{request.events} events of {request.partitions} partitions take {number} files"
        raise ValueError(f"{text}; allowed: at most {MAX_FILES}")
    with made_folder(target):
        if any(target.iterdir()):
            raise TargetNotEmptyError(f"{target} is not empty")
        return _generate(request, target, processes, progress)


def _generate(
    request: Request, target: Path, processes: int | None, progress: Callable[[int], None]
) -> list[Path]:
    """Write the traces into a folder that is there."""
    files = list(_files(request))
    paths = [target / f"part-{i:05}.parquet" for i in range(len(files))]
    most = request.of_partition(0)
    numbers = numbers_needed(request.seed, request.partitions, most)
    histories = repeat(request.seed), numbers, repeat(most)
    if len(files) == 1 or processes == 1:
        pool = pool_of(numbers, map(draw_history, *histories))
        for path, indexes in zip(paths, files, strict=True):
            progress(_write(request, pool, path, indexes))
        return paths
    # A fresh interpreter for each process: threads of a library do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes or os.cpu_count(), context) as workers:
        pool = pool_of(numbers, workers.map(draw_history, *histories))
        jobs = [
            workers.submit(_write, request, pool, path, indexes)
            for path, indexes in zip(paths, files, strict=True)
        ]
        for job in as_completed(jobs):
            progress(job.result())
    return paths


def _partitions_per_file(request: Request) -> int:
    return max(1, EVENTS_PER_FILE // max(1, request.events // request.partitions))


def _files(request: Request) -> Iterator[range]:
    """Yield which share-partitions, by index, stand in each file."""
    each = _partitions_per_file(request)
    for first in range(0, request.partitions, each):
        yield range(first, min(first + each, request.partitions))


def _write(request: Request, pool: Pool, path: Path, indexes: range) -> int:
    """Write one file, whole or not at all, and return how many events it has."""
    note = json.dumps({"by": "impl", "seed": request.seed, "histories": HISTORIES}).encode()
    schema = SCHEMA.with_metadata({GENERATED: note})
    encoded = [path for field in SCHEMA for path in repetitive(field)]
    total = 0
    with (
        whole_file(path) as draft,
        pq.ParquetWriter(draft, schema, compression="zstd", use_dictionary=encoded) as writer,
    ):
        for group in _groups(request, pool, indexes):
            table = rows_of(group, pool).cast(schema)
            writer.write_table(table, row_group_size=len(table))
            total += len(table)
    return total


def _groups(request: Request, pool: Pool, indexes: range) -> Iterator[Sequence[Piece]]:
    """Yield the pieces of each row group: whole share-partitions, if it has room for them."""
    held: list[Piece] = []
    rows = 0
    for index in indexes:
        name = f"generated-{request.seed}:topic-{index // 100}:{index % 100}"
        events = request.of_partition(index)
        for piece in pieces_of(name, request.seed, index, events, pool):
            held.append(piece)
            rows, is_last = rows + piece.rows, piece.seq + piece.rows == events
            if rows >= ROWS_PER_GROUP * (1 if is_last else 2):
                yield held
                held, rows = [], 0
    if held:
        yield held
