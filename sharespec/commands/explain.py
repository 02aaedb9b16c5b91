"""``sharespec explain``: one share-partition of a trace, step by step."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import attrs
import click
from rich.text import Text

from judge.follower import rules_shown
from judge.words import clock_text
from model.profile import Profile
from model.trace import TraceEvent
from operations.explain import (
    ExplainError,
    chosen_steps,
    partition_events,
    step_json,
    step_text,
    steps,
    window_text,
    wrapped,
)
from operations.frames import Frame
from operations.life import LifeEvent, life
from replay.pauses import FaultFileError, read_pauses
from replay.plan import Plan
from replay.report import finding_text
from replay.sources import NoSuchTraceError
from sharespec.commands.options import FAULTS, FAULTS_CLOCK, JSON, PARTITION, PROFILE, TRACE
from sharespec.console import output
from sharespec.exit import Exit, exits_on, fail
from sharespec.known_faults import default_known, known_label

WIDTH = 80
"""How wide lines are where there is no terminal, in characters."""

MAX_WIDTH = 120
"""How wide they are at most."""

AROUND = 5
"""How many events ``--around`` shows before an event, and after it."""


@click.command("explain")
@TRACE
@PARTITION
@click.option("--from", "first", type=click.IntRange(0), help="The first seq to show.")
@click.option("--to", "last", type=click.IntRange(0), help="The last seq to show.")
@click.option(
    "--around",
    type=click.IntRange(0),
    metavar="SEQ",
    help=f"Show this event, {AROUND} before it and {AROUND} after it.",
)
@click.option("--last", "count", type=click.IntRange(1), metavar="N", help="The last N steps.")
@click.option(
    "--offset",
    type=click.IntRange(0),
    help="The life of the record at this offset: what each event did to it, and by which rule.",
)
@click.option("--full", is_flag=True, help="The whole window after each step, not what changed.")
@JSON
@FAULTS
@FAULTS_CLOCK
@PROFILE
@exits_on(ExplainError, NoSuchTraceError, FaultFileError)
def explain_command(  # noqa: C901, PLR0913 - one argument for each option, and what it excludes
    *,
    trace: Path,
    partition: str | None,
    first: int | None,
    last: int | None,
    around: int | None,
    count: int | None,
    offset: int | None,
    full: bool,
    json_lines: bool,
    fault_file: Path | None,
    faults_clock: int,
    profile: str,
) -> None:
    """Step through one share-partition of TRACE: what each event answered and changed.

    Exits with 0, 1 if an event up to the last one shown diverges, 2 if the trace cannot be read.
    """
    if around is not None and (first, last, count) != (None, None, None):
        raise click.UsageError("--around goes without --from, --to and --last")
    if offset is not None and (full or (first, last, around, count) != (None,) * 4):
        raise click.UsageError(
            "--offset shows the whole life of a record; it goes with --json only"
        )
    if around is not None:
        first, last = max(0, around - AROUND), around + AROUND
    if last is not None and (first or 0) > last:
        raise click.UsageError("--to is less than --from")
    plan = Plan(profile, pauses=read_pauses(fault_file, faults_clock))
    events = partition_events(trace, partition, plan)
    rules = rules_shown(lambda: events, plan.rules)
    if offset is not None:
        sys.exit(_show_life(events, rules, offset, json_lines=json_lines))
    shown = list(steps(_up_to(events, last), rules))
    chosen = chosen_steps(shown, first or 0, last, count)
    if not chosen:
        most = max(event.seq for event in events)
        fail(f"no event has such a seq; the last one is {most}")
    finding = shown[-1].finding
    known = known_label(finding, default_known(profile)) if finding else ""
    if json_lines:
        for frame in chosen:
            click.echo(json.dumps(step_json(frame, known, full=full)))
    else:
        _show(chosen, full=full)
    if finding:
        if not json_lines:
            output().print(finding_text(finding, _width(), known), soft_wrap=True)
        sys.exit(Exit.WRONG)


def _up_to(events: list[TraceEvent], last: int | None) -> Iterable[TraceEvent]:
    """Return the events up to the last with such a seq: each leader may count anew."""
    ends = [i for i, event in enumerate(events) if last is None or event.seq <= last]
    return events[: ends[-1] + 1] if ends else []


def _show(shown: list[Frame], *, full: bool) -> None:
    console, width = output(), _width()
    if shown and shown[0].before.end_offset and not full:
        console.print(Text(window_text(shown[0].before, width)), soft_wrap=True)
    for frame in shown:
        style = "bold red" if frame.finding else ""
        console.print(Text(step_text(frame, width, full=full), style), soft_wrap=True)


def _show_life(events: list[TraceEvent], rules: Profile, offset: int, *, json_lines: bool) -> Exit:
    known = list(life(events, rules, offset))
    end = max(event.after.end_offset for event in events)
    # That an event diverges is told of every offset, also of one that the trace does not reach.
    if not known or (offset >= end and all(each.diverges for each in known)):
        fail(f"no event concerns offset {offset}; those of the trace end before {end}")
    for each in known:
        if json_lines:
            click.echo(json.dumps(attrs.asdict(each)))
        else:
            click.echo(_life_text(each))
    return Exit.WELL if all(each.is_checked and not each.diverges for each in known) else Exit.WRONG


def _life_text(event: LifeEvent) -> str:
    """Return one event of a record's life in a few lines."""
    time = clock_text(event.time_ms, real=bool(event.time))
    note = "" if event.is_checked else " (recorded after the divergence, not checked)"
    lines = (
        wrapped(f"seq {event.seq}, {time}: {event.what}", _width(), "", " " * 4),
        wrapped(f"{event.state}{note}", _width(), "    now   ", " " * 10),
        wrapped(event.rule, _width(), "    rule  ", " " * 10),
    )
    return "\n".join(lines)


def _width() -> int:
    console = output()
    return min(console.width, MAX_WIDTH) if console.is_terminal else WIDTH
