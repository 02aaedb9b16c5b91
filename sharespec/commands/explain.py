"""``sharespec explain``: one share-partition of a trace, step by step."""

import sys
from pathlib import Path

import click

from model.profile import profile_named
from operations.explain import ExplainError, partition_events, steps, table_of
from replay.report import finding_text
from replay.sources import NoSuchTraceError
from sharespec.commands.options import PROFILE
from sharespec.console import output
from sharespec.exit import Exit, exits_on


@click.command("explain")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--partition",
    metavar="GROUP:TOPIC:PARTITION",
    help="Which share-partition; needed if the trace has several.",
)
@click.option("--from", "first", type=click.IntRange(0), default=0, help="The first seq to show.")
@click.option("--to", "last", type=click.IntRange(0), help="The last seq to show.")
@PROFILE
@exits_on(ExplainError, NoSuchTraceError)
def explain_command(
    trace: Path, partition: str | None, first: int, last: int | None, profile: str
) -> None:
    """Step through one share-partition of TRACE, in a table as in the KIPs.

    Exits with 0, 1 if an event up to the last one shown diverges, 2 if the trace cannot be read.
    """
    events = partition_events(trace, partition)
    shown = list(steps(events[: None if last is None else last + 1], profile_named(profile)))
    console = output()
    console.print(table_of(step for step in shown if step.event.seq >= first or step.finding))
    if shown and (finding := shown[-1].finding):
        console.print(finding_text(finding))
        sys.exit(Exit.WRONG)
