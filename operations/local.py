"""The share-partitions of traces one after another, in this process and without Spark.

What is held in memory is one bucket of share-partitions, or a row group, however long the trace.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import attrs

from model.trace_arrow import SCHEMA
from replay.gather import gather
from replay.inputs import Inputs, first_problems, inputs_of
from replay.load import BucketTask, OrderedTask, PartitionRows, loaded
from replay.plan import bucket_count, bucket_tasks, find_conflicts, gather_tasks, ordered_tasks
from replay.sources import Form, find_sources
from replay.survey import survey
from replay.verdict import Problem

__all__ = ["Traces", "opened_traces", "share_partitions"]


@attrs.frozen
class Traces:
    """Traces that have been read once. ``problems`` are those that belong to no share-partition."""

    inputs: Inputs
    problems: tuple[Problem, ...]


@contextlib.contextmanager
def opened_traces(paths: Iterable[str | Path]) -> Iterator[Traces]:
    """Read files and folders; what has to be sorted lies in a temporary folder meanwhile.

    Raises NoSuchTraceError, and OSError if there is no room.
    """
    sources = find_sources(paths)
    with tempfile.TemporaryDirectory(prefix="sharespec-") as folder:
        surveys = [survey(s) for s in sources.files if s.form is Form.PARQUET]
        unsorted = [s.source for s in surveys if s.runs is None and s.problem is None]
        lines = [s for s in sources.files if s.form is not Form.PARQUET]
        buckets = bucket_count(sources.files, 1)
        tasks = gather_tasks([*lines, *unsorted], buckets, folder, 0)
        inputs = inputs_of([gather(task) for task in tasks], surveys)
        problems = [*sources.problems, *(p for p in inputs.problems if p.partition is None)]
        yield Traces(inputs, tuple(problems))


def share_partitions(
    traces: Traces, wanted: Callable[[str], bool] = lambda _name: True
) -> Iterator[PartitionRows]:
    """Yield the events of each share-partition whose name is wanted, in any order.

    One of which nothing can be read has no rows, and a problem that says why.
    """
    inputs = traces.inputs
    bad, conflicts = first_problems(inputs.problems), find_conflicts(inputs.places)
    chosen = frozenset(filter(wanted, inputs.places))
    tasks: list[BucketTask | OrderedTask] = []
    tasks += bucket_tasks(inputs.gathered, bad, conflicts, chosen, 0)
    tasks += ordered_tasks(inputs.surveys, chosen - conflicts.keys(), 1, len(tasks))
    done = set()
    for rows in (rows for task in tasks for rows in loaded(task)):
        yield rows
        done.add(rows.partition)
    for name, problem in (bad | conflicts).items():
        if name not in done and wanted(name):
            yield PartitionRows(name, SCHEMA.empty_table(), 0, problem)
