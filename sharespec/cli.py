"""The command ``sharespec``."""

import math
import sys
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console
from rich.progress import Progress

from judge.words import printable
from model.profile import PROFILES, profile_named
from operations.explain import ExplainError, partition_events, steps, table_of
from replay.check import Plan
from replay.generate import Request, TargetNotEmptyError, generate_traces
from replay.report import Bar, finding_text, json_line, show
from replay.run import Replay, replay_sources
from replay.session import SessionError, open_session
from replay.sources import NoSuchTraceError, find_sources
from sharespec.commands.describe import describe_command
from sharespec.commands.explore import explore_command
from sharespec.commands.hazards import hazards_command
from sharespec.commands.in_flight import in_flight_command
from sharespec.commands.metrics import metrics_command
from sharespec.commands.prove import prove_command
from sharespec.commands.state_topic import state_topic_command
from sharespec.commands.vectors import vectors_command
from sharespec.commands.verify import verify_command

__all__ = ["main"]

DIVERGES = 1
COULD_NOT_RUN = 2
INTERRUPTED = 130
"""Exit statuses other than 0; 1 also where something could not be read."""

TEXT_WIDTH = 180
"""How wide a table is where there is no terminal, in characters."""

_PROFILE = click.option(
    "--profile",
    type=click.Choice(sorted(PROFILES)),
    default="kafka",
    show_default=True,
    help="Which rules apply where the KIPs and Apache Kafka differ.",
)


def main() -> None:
    """Run the command line; the entry point of the console script."""
    cli.main(prog_name="sharespec")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Check share groups of Apache Kafka against an executable specification."""


cli.add_command(prove_command)
cli.add_command(describe_command)
cli.add_command(in_flight_command)
cli.add_command(metrics_command)
cli.add_command(state_topic_command)
cli.add_command(hazards_command)
cli.add_command(verify_command)
cli.add_command(explore_command)
cli.add_command(vectors_command)


def _against(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",")))
    if not names or not set(names) <= {"spec", "impl"}:
        raise click.BadParameter("allowed: spec, impl or spec,impl")
    return tuple(name for name in ("spec", "impl") if name in names)


def _fraction(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and 0 < value <= 1):
        raise click.BadParameter("allowed: more than 0, at most 1")
    return value


@cli.command()
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path))
@_PROFILE
@click.option(
    "--against",
    default="spec,impl",
    show_default=True,
    callback=_against,
    help="What to check against.",
)
@click.option(
    "--sample",
    default=1.0,
    callback=_fraction,
    metavar="FRACTION",
    help="Check only this fraction of the share-partitions; the choice is the same every time.",
)
@click.option(
    "--invariants",
    default=1,
    type=click.IntRange(0),
    metavar="EVERY",
    show_default=True,
    help="Check the specification's invariants after every so many events; 0: never.",
)
@click.option("--master", default="local[*]", show_default=True, help="The Spark master.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for divergences and lag as Parquet; on a cluster, one that all workers see.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the totals as one line of JSON.")
def replay(  # noqa: PLR0913 - one argument for each option
    *,
    traces: tuple[Path, ...],
    profile: str,
    against: tuple[str, ...],
    sample: float,
    invariants: int,
    master: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Replay recorded TRACES (files or folders; JSON lines, gzip or not, or Parquet).

    Exits with 0 if every share-partition that was checked conforms, 1 if one diverges or cannot
    be read, 2 if the replay could not run or had nothing to check.
    """
    plan = Plan(profile, against, sample, invariants)
    try:
        result = _replayed(traces, plan, master, out)
    except (NoSuchTraceError, SessionError) as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or ''}: {error.strerror or error}")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    if as_json:
        click.echo(json_line(result))
    else:
        show(result, _console())
    sys.exit(_status(result))


@cli.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--partition", help="Which share-partition; needed if there are several.")
@click.option("--from", "first", type=click.IntRange(0), default=0, help="The first seq to show.")
@click.option("--to", "last", type=click.IntRange(0), help="The last seq to show.")
@_PROFILE
def explain(trace: Path, partition: str | None, first: int, last: int | None, profile: str) -> None:
    """Step through one share-partition of a TRACE, as the KIPs' own tables do.

    Exits with 0, 1 if an event up to the last one shown diverges, 2 if the trace cannot be read.
    """
    console = _console()
    try:
        events = partition_events(trace, partition)
        shown = list(steps(events[: None if last is None else last + 1], profile_named(profile)))
    except (ExplainError, NoSuchTraceError) as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or ''}: {error.strerror or error}")
    console.print(table_of(step for step in shown if step.event.seq >= first or step.finding))
    if shown and (finding := shown[-1].finding):
        console.print(finding_text(finding))
        sys.exit(DIVERGES)


@cli.command()
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option("--partitions", type=click.IntRange(1), default=100, show_default=True)
@click.option(
    "--events",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    help="How many in all share-partitions together.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--processes", type=click.IntRange(1), help="How many at a time; default: all cores.")
def generate(out: Path, partitions: int, events: int, seed: int, processes: int | None) -> None:
    """Write large synthetic traces as Parquet into the folder OUT, which is empty or new.

    The same seed gives the same files. Their results come from the implementation, so its
    agreement with them proves nothing.
    """
    try:
        request = Request(partitions, events, seed)
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("generate", total=events)
            files = generate_traces(request, out, processes, lambda n: bar.advance(task, n))
    except (TargetNotEmptyError, ValueError) as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or out}: {error.strerror or error}")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    click.echo(
        f"{events:,} events of {partitions:,} share-partitions in {len(files):,} files in {out}"
    )


def _replayed(traces: tuple[Path, ...], plan: Plan, master: str, out: Path | None) -> Replay:
    sources = find_sources(traces)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        out = out.absolute()
    errors = Console(stderr=True)
    with open_session(master) as session, Bar(errors) as bar:
        return replay_sources(session, sources, plan, out, bar)


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=TEXT_WIDTH)


def _status(result: Replay) -> int:
    if result.interrupted:
        return INTERRUPTED
    if result.counts.diverged or (result.counts.unreadable and result.counts.checked):
        return DIVERGES
    if not result.counts.checked:
        for problem in result.problems[:3]:
            click.echo(f"{printable(problem.source)}: {printable(problem.message)}", err=True)
        _fail("nothing was checked, so nothing is known")
    return 0


def _fail(message: str) -> NoReturn:
    click.echo(f"sharespec: {printable(message)}", err=True)
    sys.exit(COULD_NOT_RUN)
