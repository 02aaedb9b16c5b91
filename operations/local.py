"""The share-partitions of traces and their names, in this process and without Spark.

Memory holds one bucket of share-partitions, or one row group, however long the trace is.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import attrs

from model.errors import InvalidValueError
from replay.gather import STORED, gather
from replay.pieces import PartitionRows
from replay.plan import Plan
from replay.result_schema import name_parts
from replay.sources import NoSuchTraceError, find_sources
from replay.tasks import (
    Inputs,
    bucket_count,
    check_tasks,
    facts_of,
    gather_tasks,
    inputs_of,
    problems_of,
    whole_rows,
)
from replay.verdict import Problem
from report.scratch import scratch_folder

_PLAN = Plan()

MAX_NAMES = 10
"""How many share-partitions an error names."""


@attrs.frozen
class Traces:
    """Traces that have been read once, to be checked by a plan.

    ``problems`` are those that belong to no share-partition.
    """

    inputs: Inputs
    problems: tuple[Problem, ...]
    plan: Plan


@contextlib.contextmanager
def opened_traces(paths: Iterable[str | Path], plan: Plan = _PLAN) -> Iterator[Traces]:
    """Read files and folders; what has to be sorted lies in a temporary folder meanwhile.

    Raises NoSuchTraceError, and OSError if there is no room.
    """
    sources = find_sources(paths)
    with scratch_folder() as folder:
        tasks = gather_tasks(sources.files, bucket_count(sources.files, 1), folder)
        inputs = inputs_of(list(gather(tasks)))
        problems = [*sources.problems, *(p for p in inputs.problems if p.partition is None)]
        yield Traces(inputs, tuple(problems), plan)


def share_partitions(
    traces: Traces, wanted: Callable[[str], bool] = lambda _name: True
) -> Iterator[PartitionRows]:
    """Yield the events of each share-partition whose name is wanted, in any order.

    A share-partition that cannot be read has no rows, and a problem with the cause. Raises
    FaultFileError for a pause of a broker that wrote none of the files.
    """
    inputs = traces.inputs
    tasks = check_tasks(
        inputs, filter(wanted, inputs.places), 1, facts_of(inputs, plan=traces.plan)
    )
    done = set()
    for rows in (rows for task in tasks for rows in whole_rows(task)):
        yield rows
        done.add(rows.partition)
    for name, problem in problems_of(inputs).items():
        if name not in done and wanted(name):
            yield PartitionRows(name, STORED.empty_table(), 0, problem)


@attrs.frozen(order=True)
class SharePartitionName:
    """A group, a topic and a partition of the topic. Names order as Kafka's commands list them."""

    group: str
    topic: str
    partition: int


def parsed_name(text: str) -> SharePartitionName:
    """Return the parts of group:topic:partition; a group may hold colons, a topic may not.

    Raises InvalidValueError.
    """
    parts = name_parts(text)
    if not (parts["group"] and parts["topic"]):
        raise InvalidValueError("partition", text, "group:topic:partition")
    return SharePartitionName(*parts.values())


def chosen(
    traces: Traces, group: str | None, partition: str | None = None
) -> Callable[[str], bool]:
    """Return a test whether a share-partition, by name, is of the group, or the one; None: any.

    Raises NoSuchTraceError where the traces have none such and all of them can be read.
    """

    def wanted(name: str) -> bool:
        return partition in (None, name) and group in (None, name.rsplit(":", 2)[0])

    names = sorted({*traces.inputs.places, *problems_of(traces.inputs)})
    if not (traces.problems or any(map(wanted, names))):
        raise NoSuchTraceError(
            f"no share-partition is {partition or f'of the group {group}'}; "
            f"there are: {', '.join(names[:MAX_NAMES])}"
        )
    return wanted


def named(rows: PartitionRows, problems: list[Problem]) -> SharePartitionName | None:
    """Return the name of a share-partition that has events; None, with a problem, if it is none."""
    if not rows.table.num_rows:
        return None
    try:
        return parsed_name(rows.partition)
    except InvalidValueError as error:
        problems.append(Problem(*rows.place(0), str(error), rows.partition))
        return None
