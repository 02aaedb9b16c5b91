"""``sharespec replay``: check recorded traces with Spark."""

import math
import sys
from pathlib import Path

import click

from judge.words import printable
from replay.check import Plan
from replay.report import Bar, json_line, show
from replay.run import replay_sources
from replay.session import SessionError, open_session
from replay.sources import NoSuchTraceError, find_sources
from replay.verdict import Replay
from sharespec.commands.options import JSON, PROFILE, TRACES
from sharespec.console import output, progress_console
from sharespec.exit import Exit, exits_on, fail


def _against(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    names = {name.strip() for name in value.split(",")}
    if not names <= {"spec", "impl"}:
        raise click.BadParameter("allowed: spec, impl or spec,impl")
    return tuple(name for name in ("spec", "impl") if name in names)


def _fraction(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and 0 < value <= 1):
        raise click.BadParameter("allowed: more than 0, at most 1")
    return value


@click.command("replay")
@TRACES
@PROFILE
@click.option(
    "--against",
    default="spec,impl",
    show_default=True,
    callback=_against,
    help="What to compare the traces with: spec, impl or both.",
)
@click.option(
    "--sample",
    default=1.0,
    callback=_fraction,
    metavar="FRACTION",
    help="Check only this fraction of the share-partitions; every run chooses the same ones.",
)
@click.option(
    "--invariants",
    default=1,
    type=click.IntRange(0),
    metavar="EVENTS",
    show_default=True,
    help="How many events lie between two checks of the specification's invariants; 0: no check.",
)
@click.option(
    "--offered-within",
    type=click.IntRange(1),
    metavar="FETCHES",
    help="How many fetches may pass over an available record, or find the window full of what is "
    "finished; default: as the profile has it.",
)
@click.option("--master", default="local[*]", show_default=True, help="The Spark master.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write divergences and lag as Parquet into this folder; all workers must see it.",
)
@JSON
@exits_on(NoSuchTraceError, SessionError)
def replay_command(  # noqa: PLR0913 - one argument for each option
    *,
    traces: tuple[Path, ...],
    profile: str,
    against: tuple[str, ...],
    sample: float,
    invariants: int,
    offered_within: int | None,
    master: str,
    out: Path | None,
    json_lines: bool,
) -> None:
    """Check every recorded event of TRACES against the specification and the implementation.

    TRACES are files or folders: JSON lines (gzip or not) or Parquet.

    Exits with 0 if every share-partition that was checked conforms, 1 if one diverges or cannot
    be read, 2 if the replay could not run or had nothing to check, 130 if interrupted.
    """
    plan = Plan(profile, against, sample, invariants, offered_within=offered_within)
    result = _replayed(traces, plan, master, out)
    if json_lines:
        click.echo(json_line(result))
    else:
        show(result, output())
    sys.exit(_status(result))


def _replayed(traces: tuple[Path, ...], plan: Plan, master: str, out: Path | None) -> Replay:
    sources = find_sources(traces)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        out = out.absolute()
    with open_session(master) as session, Bar(progress_console()) as bar:
        return replay_sources(session, sources, plan, out, bar)


def _status(result: Replay) -> Exit:
    if result.interrupted:
        return Exit.INTERRUPTED
    if result.counts.diverged or (result.counts.unreadable and result.counts.checked):
        return Exit.WRONG
    if not result.counts.checked:
        for problem in result.problems[:3]:
            click.echo(f"{printable(problem.source)}: {printable(problem.message)}", err=True)
        fail("nothing was checked, so nothing is known")
    return Exit.WELL
