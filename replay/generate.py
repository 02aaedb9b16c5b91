"""Large synthetic traces as Parquet, for tests of scale.

The results in them come from the implementation, so its agreement with them proves nothing. The
files do not depend on how many processes make them.
"""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from model.profile import KAFKA
from model.trace_arrow import SCHEMA, table_from_rows
from model.trace_codec import row_from_event
from replay.gather import GENERATED, gathered
from replay.sources import in_lots
from report.scratch import whole_file

EVENTS_PER_FILE = 250_000
"""About how many events one file holds."""

MAX_FILES = 100_000
"""How many files are written: each is planned in memory."""

ROWS_PER_GROUP = 50_000
"""About how many rows a row group holds; it ends where a share-partition ends, if it can."""

ROWS_AT_ONCE = 2000
"""How many rows are Python objects at a time."""


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
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise TargetNotEmptyError(f"{target} is not empty")
    files = list(_files(request))
    paths = [target / f"part-{i:05}.parquet" for i in range(len(files))]
    if len(files) == 1 or processes == 1:
        for path, indexes in zip(paths, files, strict=True):
            progress(_write(request, path, indexes))
        return paths
    # A fresh interpreter for each process: threads of a library do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes or os.cpu_count(), context) as pool:
        jobs = [
            pool.submit(_write, request, path, indexes)
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


def _write(request: Request, path: Path, indexes: range) -> int:
    """Write one file, whole or not at all, and return how many events it has."""
    note = json.dumps({"by": "impl", "seed": request.seed}).encode()
    schema = SCHEMA.with_metadata({GENERATED: note})
    total = 0
    partitions = (pa.concat_tables(_tables(request, index)) for index in indexes)
    with (
        whole_file(path) as draft,
        pq.ParquetWriter(draft, schema, compression="zstd") as writer,
    ):
        for group in gathered(partitions, ROWS_PER_GROUP, len):
            writer.write_table(group.cast(schema), row_group_size=2 * ROWS_PER_GROUP)
            total += len(group)
    return total


def _tables(request: Request, index: int) -> Iterator[pa.Table]:
    from replay.synthetic import SyntheticPartition  # noqa: PLC0415 - with it comes Numba

    name = f"generated-{request.seed}:topic-{index // 100}:{index % 100}"
    partition = SyntheticPartition(name, request.seed, KAFKA)
    rows = map(row_from_event, partition.events(request.of_partition(index)))
    return map(table_from_rows, in_lots(rows, ROWS_AT_ONCE))
