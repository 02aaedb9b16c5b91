"""``sharespec verify``: check an implementation against the specification."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import click
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from conformance.campaign import Campaign, Limits, campaign
from conformance.junit import as_junit
from conformance.kit import AnyKit
from conformance.known import Known, KnownError, Replayed, read_known, replayed, unknown
from conformance.page import as_html
from conformance.report import KitVerdict, Report, as_json, as_markdown, show, show_known
from conformance.subjects import SUBJECT_NAMES, Subject, opened
from conformance.target import TargetError
from conformance.vectors.play import all_cases, play_vectors
from sharespec.commands.options import JSON
from sharespec.console import output, progress_console
from sharespec.exit import Exit, exits_on, fail


def _in_a_folder(
    _context: click.Context, _option: click.Parameter, path: Path | None
) -> Path | None:
    """Check that the file's folder exists now, not after a long search."""
    if path is not None and not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}")
    return path


def _file_option(name: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    kind = click.Path(dir_okay=False, writable=True, path_type=Path)
    return click.option(name, type=kind, metavar="FILE", callback=_in_a_folder, help=text)


@click.command("verify")
@click.argument("name", required=False, type=click.Choice(SUBJECT_NAMES))
@click.option(
    "--exec", "command", metavar="COMMAND", help="Start this command and drive it (docs/verify.md)."
)
@click.option("--bootstrap", metavar="HOST:PORT", help="Drive the broker at this address.")
@click.option(
    "--profile",
    type=click.Choice(["kip", "kafka"]),
    default="kip",
    show_default=True,
    help="With --bootstrap: the rules that the broker must follow.",
)
@click.option(
    "--lock-ms",
    type=click.IntRange(100),
    help="With --bootstrap: the lock duration to set, in ms; default: the shortest allowed.",
)
@click.option(
    "--sweep-ms",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    help="With --bootstrap: how late a lock may expire, in ms.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=60,
    show_default=True,
    help="How long to search.",
)
@click.option(
    "--sequences",
    type=click.IntRange(0),
    default=1_000_000,
    help="Try at most this many sequences.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the random sequences."
)
@click.option(
    "--silence",
    type=click.FloatRange(0, min_open=True),
    default=10,
    show_default=True,
    help="How long the target may take for one answer, in seconds.",
)
@click.option(
    "--known", type=click.Path(dir_okay=False, path_type=Path), help="File of known deviations."
)
@click.option("--only", metavar="NAME", help="Run only this known deviation and show its steps.")
@_file_option("--markdown", "Write every deviation to this file as Markdown.")
@_file_option("--junit", "Write JUnit XML to this file, one test case per rule.")
@_file_option("--html", "Write the whole report to this file as one HTML page.")
@JSON
@exits_on(TargetError, KnownError)
def verify_command(  # noqa: PLR0913 - one argument for each option
    *,
    name: str | None,
    command: str | None,
    bootstrap: str | None,
    profile: str,
    lock_ms: int | None,
    sweep_ms: int,
    seconds: float,
    sequences: int,
    seed: int,
    silence: float,
    known: Path | None,
    only: str | None,
    markdown: Path | None,
    junit: Path | None,
    html: Path | None,
    json_lines: bool,
) -> None:
    """Search an implementation, the target, for what no rule allows.

    NAME is one of the cores spec, impl and kafka, or a broker that the kit starts itself; or give
    --exec or --bootstrap. A core runs the test vectors first; with --sequences 0 nothing else.

    Exits with 0 if there is no new deviation, 1 if there is one or a known deviation is gone, 2 if
    the target could not be driven or stopped responding: results so far are still reported.
    """
    if sum(target is not None for target in (name, command, bootstrap)) != 1:
        names = ", ".join(SUBJECT_NAMES)
        raise click.UsageError(f"give one of {names}, --exec COMMAND, or --bootstrap HOST:PORT")
    subject = Subject(name, command, bootstrap, silence, profile, lock_ms, sweep_ms)
    kit = subject.kit
    limits = Limits(seconds, sequences, examples=kit.examples, shrink_seconds=kit.shrink_seconds)
    known = known or subject.known
    listed = _chosen(read_known(known, kit) if known else (), only)
    with opened(subject) as target:
        if only:
            sys.exit(_shown(replayed(target, target.hello(), listed, kit)[0]))
        report = _verified(target, listed, limits, seed, kit)
    _printed(report, json_lines=json_lines)
    for path, written in ((markdown, as_markdown), (junit, as_junit), (html, as_html)):
        if path:
            path.write_text(written(report), encoding="utf-8")
    if report.unknown:
        fail(report.unknown)
    sys.exit(Exit.WRONG if report.verdict is KitVerdict.DEVIATES else Exit.WELL)


def _chosen(listed: tuple[Known[Any], ...], only: str | None) -> tuple[Known[Any], ...]:
    chosen = tuple(known for known in listed if only in (None, known.name))
    if only and not chosen:
        names = ", ".join(known.name for known in listed) or "none"
        raise KnownError(f"{only!r} is not known; known are {names}")
    return chosen


def _shown(again: Replayed[Any]) -> Exit:
    show_known(again, output())
    return Exit.WRONG if again.fault else Exit.WELL


def _verified(
    target: Any,  # noqa: ANN401 - of the kit, which is known only at run time
    known: tuple[Known[Any], ...],
    limits: Limits,
    seed: int,
    kit: AnyKit,
) -> Report:
    hello, cases = target.hello(), all_cases() if kit.plays_vectors else ()
    played = play_vectors(target, hello, cases)
    if played.failure:
        searched: Campaign[Any] = Campaign(
            hello, (), 0, 0, 0.0, {}, seed=seed, failure=played.failure
        )
    else:
        searched = _searched(target, limits, seed, kit)
    again: list[Replayed[Any]] = []
    try:
        for deviation in known if not searched.failure else ():
            again += replayed(target, hello, (deviation,), kit)
    except TargetError as error:
        searched = attrs.evolve(searched, failure=str(error))
    new = tuple(unknown((*played.faults, *searched.faults), known))
    return Report(searched, tuple(again), new, played)


def _searched(target: object, limits: Limits, seed: int, kit: AnyKit) -> Campaign[Any]:
    text = TextColumn("{task.description}")
    with Progress(text, TimeElapsedColumn(), console=progress_console(), transient=True) as bar:
        task = bar.add_task("verify")

        def progress(sequences: int, faults: int) -> None:
            bar.update(task, description=f"{sequences:,} sequences, {faults} deviations")

        return campaign(target, limits, kit, seed, progress)


def _printed(report: Report, *, json_lines: bool) -> None:
    if json_lines:
        for line in as_json(report):
            click.echo(line)
        return
    show(report, output())
