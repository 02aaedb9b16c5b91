"""How long a piece of work takes, at its median."""

import statistics
import time
from collections.abc import Callable

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
