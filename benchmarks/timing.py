"""How long a piece of work takes, at its median, and that it came to what it is to come to."""

import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.parquet as pq

from impl.kernel import KernelResult
from replay.verdict import Replay

DATA = Path(__file__).parents[1] / "tests" / "data"
KAFKA_TRACE = DATA / "traces" / "kafka-core.jsonl.gz"

ROUNDS = 3
"""How often each measurement is made; the median counts."""


def median_seconds(work: Callable[[], object]) -> float:
    """Return the seconds; a first time that is not counted warms caches and compilers."""
    work()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def read_parquet(files: Iterable[Path]) -> None:
    """Read whole files on one core; ``pq.read_table`` would take a second one to fetch ahead."""
    for path in files:
        with pq.ParquetFile(path) as file:
            file.read(use_threads=False)


def check_kernel(result: KernelResult) -> None:
    """Raise RuntimeError unless the kernel has compared everything and all of it conforms."""
    if result.divergence or result.unreadable:
        raise RuntimeError(f"the kernel stops: {result.divergence or result.unreadable}")


def check_replay(result: Replay) -> None:
    """Raise RuntimeError unless all share-partitions conform."""
    if result.counts.conforms != result.counts.partitions:
        raise RuntimeError(f"the replay found something: {result.counts}")
