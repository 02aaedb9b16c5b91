"""``sharespec in-flight``: the records in flight at some time of a trace, and who holds them."""

import json
from collections.abc import Iterator
from pathlib import Path

import attrs
import click
from rich.table import Table
from rich.text import Text

from judge.words import printable, span
from model.profile import profile_named
from model.states import RecordState
from operations.in_flight import Holds, InFlight, Query, in_flight
from operations.local import SharePartitionName, chosen, named, opened_traces, share_partitions
from operations.walk import TraceTime, walk
from replay.sources import NoSuchTraceError
from sharespec.commands.options import AT, GROUP, JSON, PROFILE, SEQ, TRACES, OneOf
from sharespec.console import output
from sharespec.exit import exits_on, report_problems

_HEAD = (
    "GROUP", "TOPIC", "PARTITION", "OFFSETS", "STATE", "MEMBER", "DELIVERY-COUNT", "HELD-MS",
    "PROGRESS-AGE-MS", "",
)  # fmt: skip
_NUMBERS = ("PARTITION", "DELIVERY-COUNT", "HELD-MS", "PROGRESS-AGE-MS")
_MS = click.IntRange(0)


@click.command("in-flight")
@TRACES
@AT
@SEQ
@GROUP
@click.option("--partition", metavar="GROUP:TOPIC:PARTITION", help="Only this share-partition.")
@click.option(
    "--held-longer-than-ms", type=_MS, help="Only records that a member has held for longer."
)
@click.option(
    "--progress-stale-longer-than-ms",
    type=_MS,
    help="Only records whose member has shown no progress for longer.",
)
@click.option(
    "--only-state",
    type=OneOf([state.name for state in RecordState]),
    help="Only records in this state.",
)
@JSON
@PROFILE
@exits_on(NoSuchTraceError)
def in_flight_command(  # noqa: PLR0913 - one argument for each option
    *,
    traces: tuple[Path, ...],
    at_ms: int | None,
    seq: int | None,
    group: str | None,
    partition: str | None,
    held_longer_than_ms: int | None,
    progress_stale_longer_than_ms: int | None,
    only_state: str | None,
    json_lines: bool,
    profile: str,
) -> None:
    """Show the records in flight after TRACES; STALE marks those whose consumer seems stuck.

    A consumer shows progress by an acquisition, a renewal or a progress mark.

    Exits with 0, 1 if a share-partition diverges or cannot be read, 2 if there is no trace.
    """
    state = None if only_state is None else RecordState[only_state]
    query = Query(held_longer_than_ms, progress_stale_longer_than_ms, state)
    shown: dict[SharePartitionName, list[InFlight]] = {}
    with opened_traces(traces) as opened:
        problems = list(opened.problems)
        for rows in share_partitions(opened, chosen(opened, group, partition)):
            holds = Holds()
            walked = walk(rows, profile_named(profile), TraceTime(at_ms, seq), holds)
            if walked.problem:
                problems.append(walked.problem)
            if name := named(rows, problems):
                shown[name] = in_flight(walked.state, holds.of, query)
    if json_lines:
        for name, record in _sorted(shown):
            fields = {**attrs.asdict(name), **attrs.asdict(record), "state": record.state.name}
            click.echo(json.dumps(fields))
    else:
        output().print(_table(shown))
    report_problems(problems)


def _sorted(
    shown: dict[SharePartitionName, list[InFlight]],
) -> Iterator[tuple[SharePartitionName, InFlight]]:
    return ((name, record) for name in sorted(shown) for record in shown[name])


def _table(shown: dict[SharePartitionName, list[InFlight]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in _HEAD:
        table.add_column(title, justify="right" if title in _NUMBERS else "left")
    for name, record in _sorted(shown):
        style = "bold red" if record.stale else ""
        place = printable(name.group, 120), printable(name.topic, 120), str(name.partition)
        table.add_row(*(Text(cell, style) for cell in (*place, *_cells(record))))
    return table


def _cells(record: InFlight) -> tuple[str, ...]:
    return (
        span(record.first, record.last),
        record.state.name + (", pending" if record.pending else ""),
        "-" if record.member is None else printable(record.member, 120),
        str(record.delivery_count),
        "-" if record.held_ms is None else str(record.held_ms),
        "-" if record.progress_age_ms is None else str(record.progress_age_ms),
        "STALE" if record.stale else "",
    )
