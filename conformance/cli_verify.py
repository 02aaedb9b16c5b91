"""``sharespec verify``: check an implementation against the specification."""

import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from conformance.builtin import EngineTarget
from conformance.campaign import Campaign, Limits, campaign
from conformance.junit import as_junit
from conformance.kafka import KNOWN, kafka_target
from conformance.known import Known, KnownError, Replayed, read_known, replayed, unknown
from conformance.page import as_html
from conformance.process import ProcessTarget
from conformance.report import Report, Verdict, as_json, as_markdown, show, show_known
from conformance.target import Target, TargetError
from conformance.vectors.play import all_cases, play_vectors
from replay.words import printable

__all__ = ["verify_command"]

DEVIATES, COULD_NOT_RUN = 1, 2
_WIDTH = 180


def _in_a_folder(
    _context: click.Context, _option: click.Parameter, path: Path | None
) -> Path | None:
    """Refuse a file that could not be written, before and not after a long search."""
    if path is not None and not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}")
    return path


def _file_option(name: str, said: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    kind = click.Path(dir_okay=False, writable=True, path_type=Path)
    return click.option(name, type=kind, metavar="FILE", callback=_in_a_folder, help=said)


@click.command("verify")
@click.argument("name", required=False, type=click.Choice(["spec", "impl", "kafka"]))
@click.option("--exec", "command", metavar="COMMAND", help="Drive this command (docs/verify.md).")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=60, show_default=True)
@click.option("--sequences", type=click.IntRange(0), default=1_000_000, help="At most so many.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Another seed, another search."
)
@click.option(
    "--silence",
    type=click.FloatRange(0, min_open=True),
    default=10,
    show_default=True,
    help="How many seconds a driver may take for an answer.",
)
@click.option("--known", type=click.Path(dir_okay=False, path_type=Path), help="Known deviations.")
@click.option("--only", metavar="NAME", help="Play only this known deviation, and show its steps.")
@_file_option("--markdown", "Write every deviation here, as Markdown.")
@_file_option("--junit", "Write JUnit XML here, a test case for each rule.")
@_file_option("--html", "Write a page here that shows everything.")
@click.option("--json", "json_lines", is_flag=True, help="Print JSON, one object to a line.")
def verify_command(  # noqa: PLR0913 - one argument for each option
    *,
    name: str | None,
    command: str | None,
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
    """Search for what an implementation does that no rule allows: spec, impl, kafka or --exec.

    The test vectors are played first; with --sequences 0 they only.

    Exits with 0 if nothing new was found, 1 if something was or a known deviation is gone, 2 if
    the implementation could not be driven.
    """
    if (name is None) == (command is None):
        raise click.UsageError("give one of spec, impl, kafka, or --exec COMMAND")
    known = known or (KNOWN if name == "kafka" else None)
    limits = Limits(seconds=seconds, sequences=sequences)
    try:
        listed = read_known(known) if known else ()
        listed = _chosen(listed, only)
        target = _target(name, command, silence)
        try:
            if only:
                sys.exit(_shown(replayed(target, target.hello(), listed)[0]))
            report = _verified(target, listed, limits, seed)
        finally:
            target.close()
    except (TargetError, KnownError) as error:
        click.echo(f"sharespec: {printable(str(error))}", err=True)
        sys.exit(COULD_NOT_RUN)
    _printed(report, json_lines=json_lines)
    for path, written in ((markdown, as_markdown), (junit, as_junit), (html, as_html)):
        if path:
            path.write_text(written(report), encoding="utf-8")
    if report.verdict is Verdict.UNKNOWN:
        click.echo("sharespec: nothing was tried, so nothing is known", err=True)
        sys.exit(COULD_NOT_RUN)
    sys.exit(DEVIATES if report.verdict is Verdict.DEVIATES else 0)


def _chosen(listed: tuple[Known, ...], only: str | None) -> tuple[Known, ...]:
    chosen = tuple(one for one in listed if only in (None, one.name))
    if only and not chosen:
        names = ", ".join(one.name for one in listed) or "none"
        raise KnownError(f"{only!r} is not known; known are {names}")
    return chosen


def _shown(one: Replayed) -> int:
    show_known(one, _console())
    return DEVIATES if one.fault else 0


def _target(name: str | None, command: str | None, silence: float) -> Target:
    if command is not None:
        return ProcessTarget(command, silence)
    if name == "kafka":
        return kafka_target(silence)
    return EngineTarget(str(name))


def _verified(target: Target, known: tuple[Known, ...], limits: Limits, seed: int) -> Report:
    played = play_vectors(target, target.hello(), all_cases())
    found = _searched(target, limits, seed)
    return Report(
        found,
        tuple(replayed(target, found.hello, known)),
        tuple(unknown((*played.faults, *found.faults), known)),
        played,
    )


def _searched(target: Target, limits: Limits, seed: int) -> Campaign:
    text = TextColumn("{task.description}")
    with Progress(text, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("verify")

        def progress(sequences: int, faults: int) -> None:
            bar.update(task, description=f"{sequences:,} sequences, {faults} deviations")

        return campaign(target, limits, seed, progress)


def _printed(report: Report, *, json_lines: bool) -> None:
    if json_lines:
        for line in as_json(report):
            click.echo(line)
        return
    show(report, _console())


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDTH)
