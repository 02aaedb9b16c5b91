"""Where a replay runs: small inputs in this process and its children, others on Spark."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from replay.processes import HereRunner, open_processes
from replay.runner import Runner

SMALL_BYTES = 48 << 20
"""Up to so much text runs without Spark, which takes longer to start than that saves."""

CHILD_BYTES = 1 << 20
"""How much text is worth a child: for less, its imports take longer than its tasks."""

DEFAULT_MASTER = "local[*]"


@contextmanager
def open_runner(
    text: int, master: str | None = None, modules: Sequence[str] = ()
) -> Iterator[Runner]:
    """Choose what runs the tasks over so many bytes of text, and close it at the end.

    That is always Spark if a master is given, and under ``spark-submit``. Children import
    ``modules`` ahead of their tasks. Raises SessionError if Spark does not start.
    """
    chosen = master is not None or "PYSPARK_GATEWAY_PORT" in os.environ
    if not chosen and text <= SMALL_BYTES:
        children = min(processors(), text // CHILD_BYTES)
        if children > 1:
            with open_processes(children, modules) as runner:
                yield runner
        else:
            yield HereRunner()
        return
    from replay.session import SparkRunner, open_session  # noqa: PLC0415 - small inputs need no Spark

    with open_session(master or DEFAULT_MASTER) as session:
        yield SparkRunner(session)


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
