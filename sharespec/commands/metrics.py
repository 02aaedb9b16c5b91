"""``sharespec metrics``: the share group metrics of a broker, computed from a trace."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import click
from rich.table import Table
from rich.text import Text

from judge.words import printable
from model.profile import profile_named
from operations.local import SharePartitionName, chosen, named, opened_traces, share_partitions
from operations.metrics import METRICS, NOT_DETERMINED, Interval, Measured, measured
from replay.sources import NoSuchTraceError
from sharespec.commands.options import GROUP, JSON, PROFILE, TRACES
from sharespec.console import output
from sharespec.exit import exits_on, report_problems

LATE = "of records whose write was outstanding"


@click.command("metrics")
@TRACES
@click.option(
    "--from",
    "first",
    type=click.IntRange(0),
    default=0,
    metavar="MS",
    help="Count events from this time on.",
)
@click.option(
    "--to",
    "--at",
    "last",
    type=click.IntRange(0),
    metavar="MS",
    help="Count events up to this time.",
)
@GROUP
@click.option("--partitions", is_flag=True, help="Show each share-partition, too.")
@JSON
@PROFILE
@exits_on(NoSuchTraceError)
def metrics_command(  # noqa: PLR0913 - one argument for each option
    *,
    traces: tuple[Path, ...],
    first: int,
    last: int | None,
    group: str | None,
    partitions: bool,
    json_lines: bool,
    profile: str,
) -> None:
    """Compute from TRACES the metrics that a broker should report of its share groups.

    Times are in ms on the trace's clock, inclusive. Column "recorded" counts what the trace holds;
    "expected" has the figure of the specification where that differs. Both count the same events:
    nothing from a divergence on.

    Exits with 0, 1 if a share-partition diverges or cannot be read, 2 if there is no trace.
    """
    if last is not None and first > last:
        raise click.UsageError("--to is less than --from")
    measured_of: dict[SharePartitionName, Measured] = {}
    with opened_traces(traces) as opened:
        problems = list(opened.problems)
        for rows in share_partitions(opened, chosen(opened, group)):
            measures, problem = measured(rows, profile_named(profile), Interval(first, last))
            if problem:
                problems.append(problem)
            if name := named(rows, problems):
                measured_of[name] = measures
    lines = list(_lines(measured_of, partitions=partitions))
    if json_lines:
        for of, figures in lines:
            click.echo(json.dumps(_as_json(of, figures)))
    else:
        _show(lines)
    report_problems(problems)


def _lines(
    measured_of: dict[SharePartitionName, Measured], *, partitions: bool
) -> Iterator[tuple[str | SharePartitionName, Measured]]:
    """Yield each group with its figures, and before it its share-partitions if they are wanted."""
    for group in sorted({name.group for name in measured_of}):
        names = sorted(name for name in measured_of if name.group == group)
        if partitions:
            yield from ((name, measured_of[name]) for name in names)
        yield group, Measured.together([measured_of[name] for name in names])


def _values(figures: Measured) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield each metric by name, as recorded and as expected."""
    for metric in METRICS:
        yield metric.name, metric.value(figures.recorded), metric.value(figures.expected)
    yield f"AcquisitionLockTimeout count, {LATE}", None, figures.pending_locks


def _as_json(name: str | SharePartitionName, figures: Measured) -> dict[str, Any]:
    place = {"group": name} if isinstance(name, str) else attrs.asdict(name)
    values = {metric: (recorded, expected) for metric, recorded, expected in _values(figures)}
    return {
        **place,
        "recorded": {metric: recorded for metric, (recorded, _) in values.items()},
        "expected": {metric: expected for metric, (_, expected) in values.items()},
    }


def _show(lines: list[tuple[str | SharePartitionName, Measured]]) -> None:
    console = output()
    for name, figures in lines:
        text = name if isinstance(name, str) else f"{name.group}:{name.topic}:{name.partition}"
        table = Table(box=None, pad_edge=False)
        table.add_column(Text(printable(text, 120)), min_width=60)
        table.add_column("recorded", justify="right", min_width=10)
        table.add_column("expected", justify="right", min_width=10)
        for metric, recorded, expected in _values(figures):
            differs = "" if expected == recorded else _number(expected)
            table.add_row(Text(metric), _number(recorded), differs)
        console.print(table)
        console.print()
    groups = sum(isinstance(name, str) for name, _ in lines)
    console.print(f"group-count {groups}. Not determined by a trace:")
    for metric, reason in NOT_DETERMINED.items():
        console.print(Text(f"  {metric}: {reason}"), soft_wrap=True)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
