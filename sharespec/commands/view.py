"""``sharespec view``: one share-partition of a trace as a page."""

import re
import sys
from functools import partial
from pathlib import Path

import click

from judge.words import many
from operations.explain import ExplainError, partition_rows
from operations.view.page import MAX_BYTES, page
from operations.view.trace import drawn_rows
from replay.pauses import FaultFileError, read_pauses
from replay.plan import Plan
from replay.sources import NoSuchTraceError
from sharespec.commands.options import FAULTS, FAULTS_CLOCK, FILE, PARTITION, PROFILE, TRACE
from sharespec.exit import Exit, exits_on
from sharespec.known_faults import default_known, known_label
from sharespec.reports import write_reports

LEAST_BYTES = 250_000
"""The least ``--max-bytes``: the page, and the names of all that it may draw, are smaller."""


@click.command("view")
@TRACE
@PARTITION
@click.option(
    "--html",
    "file",
    type=FILE,
    help="Where to write the page; default: the share-partition's name with .html, here.",
)
@click.option(
    "--around",
    type=click.IntRange(0),
    metavar="SEQ",
    help="Show each event around this one; default: around the one that diverges, or the last.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(LEAST_BYTES),
    default=MAX_BYTES,
    help="How large the page may be; it says what it leaves out.",
)
@FAULTS
@FAULTS_CLOCK
@PROFILE
@exits_on(ExplainError, NoSuchTraceError, FaultFileError)
def view_command(  # noqa: PLR0913 - one argument for each option
    *,
    trace: Path,
    partition: str | None,
    file: Path | None,
    around: int | None,
    max_bytes: int,
    fault_file: Path | None,
    faults_clock: int,
    profile: str,
) -> None:
    """Draw one share-partition of TRACE as an HTML page that needs no network.

    Offsets over time, coloured by state; lag, records in flight and delivery counts; the life of
    each offset; and what diverges, with its rule.

    Exits with 0, 1 if an event diverges, 2 if the trace cannot be read.
    """
    plan = Plan(profile, pauses=read_pauses(fault_file, faults_clock))
    known = partial(known_label, faults=default_known(profile))
    drawn = drawn_rows(partition_rows(trace, partition, plan), plan.rules, around, label=known)
    written = file or Path(f"{file_name(drawn.drawing.name)}.html")
    text = page(f"{drawn.drawing.name}, {trace.name}", drawn.drawing, drawn.verdict, max_bytes)
    if status := write_reports([(written, lambda: text)]):
        sys.exit(status)
    click.echo(f"{written}: {drawn.verdict}, {many(drawn.events, 'event')}")
    if drawn.drawing.divergence:
        sys.exit(Exit.WRONG)


def file_name(partition: str) -> str:
    """Return a share-partition's name with nothing in it that a file's name may not have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", partition).strip("-.")[:100] or "share-partition"
