"""``sharespec verify``: check an implementation against the specification."""

import shlex
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import attrs
import click
from click.core import ParameterSource

from conformance.campaign import Campaign, Limits, alone, campaign
from conformance.junit import as_junit
from conformance.kit import AnyKit, Hello
from conformance.known import (
    Known,
    KnownError,
    Replayed,
    read_known,
    read_sequence,
    replayed,
    unknown,
)
from conformance.markdown import as_markdown
from conformance.page import as_html
from conformance.plain import as_json
from conformance.report import KitVerdict, Report
from conformance.subjects import SUBJECT_NAMES, Subject, opened
from conformance.target import TargetError
from conformance.terminal import show, show_known
from conformance.vectors.play import Played, all_cases, play_vectors, reason_to_skip
from conformance.vectors.source import Case
from conformance.write_known import as_toml, known_now
from report.terminal import shown_progress
from sharespec.commands.options import JSON, SECONDS
from sharespec.console import output, progress_console
from sharespec.exit import Exit, exits_on, fail
from sharespec.reports import writable_file, write_reports


def _file_option(name: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    kind = click.Path(dir_okay=False, writable=True, path_type=Path)
    return click.option(name, type=kind, metavar="FILE", callback=writable_file, help=text)


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
    "--offered-within",
    type=click.IntRange(1),
    metavar="FETCHES",
    help="With a core: how many fetches may pass over an available record, or find the window full "
    "of what is finished; default: as its profile has it.",
)
@click.option(
    "--seconds",
    type=SECONDS,
    help="How long to search at most.",
)
@click.option(
    "--sequences",
    type=click.IntRange(0),
    help="Try at most this many sequences; default, without another limit: 3000 for a core, "
    "100 for a broker.",
)
@click.option(
    "--operations",
    type=click.IntRange(1),
    help="Begin no further sequence after so many operations: the same search on any machine.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the random sequences."
)
@click.option(
    "--silence",
    type=SECONDS,
    default=10,
    show_default=True,
    help="How long the target may take for one answer, in seconds.",
)
@click.option(
    "--known", type=click.Path(dir_okay=False, path_type=Path), help="File of known deviations."
)
@_file_option("--write-known", "Write what shows as a file for --known: nothing in it is new then.")
@click.option("--only", metavar="NAME", help="Run only this known deviation and show its steps.")
@click.option("--vector", metavar="NAME", help="Play only this vector, and take nothing as known.")
@click.option("--play", metavar="JSON", help="Play only this sequence, as reports have it.")
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
    offered_within: int | None,
    seconds: float | None,
    sequences: int | None,
    operations: int | None,
    seed: int,
    silence: float,
    known: Path | None,
    write_known: Path | None,
    only: str | None,
    vector: str | None,
    play: str | None,
    markdown: Path | None,
    junit: Path | None,
    html: Path | None,
    json_lines: bool,
) -> None:
    """Search an implementation, the target, for what no rule allows.

    NAME is one of the cores spec, impl and kafka, or a broker that the kit starts itself; or give
    --exec or --bootstrap. A core runs the test vectors first; with --sequences 0 nothing else.

    Exits with 0 if there is no new deviation, 1 if there is one or a known deviation is gone, 2 if
    the target could not be driven or stopped responding, 130 if interrupted: results so far are
    still reported.
    """
    if sum(target is not None for target in (name, command, bootstrap)) != 1:
        names = ", ".join(SUBJECT_NAMES)
        raise click.UsageError(f"give one of {names}, --exec COMMAND, or --bootstrap HOST:PORT")
    _check_profile(bootstrap)
    subject = Subject(name, command, bootstrap, silence, profile, lock_ms, sweep_ms, offered_within)
    kit = subject.kit
    limits = _limits(kit, seconds, sequences, operations)
    _check_alone((only, vector, play), write_known)
    cases = _cases(vector, kit)
    sequence = read_sequence(play, kit) if play is not None else None
    path = known or subject.known
    listed = _chosen(read_known(path, kit) if path else (), only)
    with opened(subject) as target:
        if only:
            sys.exit(_shown(replayed(target, target.hello(), listed, kit)[0]))
        if sequence is not None:
            report = _one(alone(target, sequence, kit), kit)
        elif vector is not None:
            report = _one_vector(target, cases, kit)
        else:
            report = _verified(target, _Plan(listed, cases, limits, seed), kit)
    option = f" --known {shlex.quote(str(known))}" if known else ""
    report = attrs.evolve(report, command=subject.command_line, known_option=option)
    wanted = [(markdown, as_markdown), (junit, as_junit), (html, as_html)]
    if not report.unknown:
        wanted.append((write_known, _as_known))
    status = write_reports((file, partial(written, report)) for file, written in wanted)
    _printed(report, json_lines=json_lines)
    if report.campaign.interrupted:
        sys.exit(Exit.INTERRUPTED)
    if report.unknown:
        fail(report.unknown)
    sys.exit(Exit.WRONG if report.verdict is KitVerdict.DEVIATES else status)


def _as_known(report: Report) -> str:
    return as_toml(known_now(report))


def _check_profile(bootstrap: str | None) -> None:
    given = click.get_current_context().get_parameter_source("profile")
    if bootstrap is None and given is not ParameterSource.DEFAULT:
        raise click.UsageError("--profile is for --bootstrap: other targets have their own")


def _check_alone(alone: Sequence[str | None], write_known: Path | None) -> None:
    given = sum(name is not None for name in alone)
    if given > 1:
        raise click.UsageError("give one of --only, --vector and --play")
    if given and write_known:
        raise click.UsageError("--write-known is for a whole run, without --only, --vector, --play")


def _limits(
    kit: AnyKit, seconds: float | None, sequences: int | None, operations: int | None
) -> Limits:
    """Return the limits of a search: the kit's number of sequences where nothing else ends it."""
    if sequences is None:
        sequences = kit.sequences if seconds is operations is None else 1_000_000
    return Limits(
        inf if seconds is None else seconds,
        sequences,
        inf if operations is None else operations,
        examples=kit.examples,
        shrink_seconds=kit.shrink_seconds,
    )


def _cases(vector: str | None, kit: AnyKit) -> tuple[Case, ...]:
    """Return the vectors to play: all, or the one of this name."""
    cases = all_cases() if kit.plays_vectors else ()
    if vector is None:
        return cases
    chosen = tuple(case for case in cases if case.name == vector)
    if not chosen:
        names = [case.name for case in cases]
        near = ", ".join(get_close_matches(vector, names, 3, 0.3)) or f"{len(names)} others"
        raise KnownError(f"there is no vector {vector!r} for this target; there is {near}")
    return chosen


def _one(searched: Campaign[Any], kit: AnyKit) -> Report:
    return Report(searched, (), searched.faults, bounds=kit.bounds(searched.hello))


def _one_vector(target: Any, cases: tuple[Case, ...], kit: AnyKit) -> Report:  # noqa: ANN401 - a core
    hello = target.hello()
    if reason := reason_to_skip(cases[0], hello):
        raise KnownError(f"it cannot play {cases[0].name}: the vector {reason}")
    played = play_vectors(target, hello, cases)
    return Report(_nothing(hello), (), played.faults, played, kit.bounds(hello))


def _chosen(listed: tuple[Known[Any], ...], only: str | None) -> tuple[Known[Any], ...]:
    chosen = tuple(known for known in listed if only in (None, known.name))
    if only and not chosen:
        names = ", ".join(known.name for known in listed) or "none"
        raise KnownError(f"{only!r} is not known; known are {names}")
    return chosen


def _shown(again: Replayed[Any]) -> Exit:
    show_known(again, output())
    return Exit.WRONG if again.fault else Exit.WELL


@attrs.frozen
class _Plan:
    """What is known, the vectors to play, and how to search."""

    known: tuple[Known[Any], ...]
    cases: tuple[Case, ...]
    limits: Limits
    seed: int


def _verified(target: Any, plan: _Plan, kit: AnyKit) -> Report:  # noqa: ANN401 - of the kit
    hello, known, seed = target.hello(), plan.known, plan.seed
    again: list[Replayed[Any]] = []
    played, searched = Played(), _nothing(hello, seed)
    try:
        played = play_vectors(target, hello, plan.cases)
        searched = attrs.evolve(searched, failure=played.failure)
        if not played.failure:
            searched = _searched(target, plan.limits, seed, kit)
        if not (searched.failure or searched.interrupted):
            failure = _replayed(target, hello, known, kit, again)
            searched = attrs.evolve(searched, failure=failure)
    except KeyboardInterrupt:
        searched = attrs.evolve(searched, interrupted=True)
    new = tuple(unknown((*played.faults, *searched.faults), known))
    return Report(searched, tuple(again), new, played, kit.bounds(hello))


def _replayed(
    target: object,
    hello: Hello,
    known: tuple[Known[Any], ...],
    kit: AnyKit,
    again: list[Replayed[Any]],
) -> str:
    """Add what became of each known deviation; return why the target stopped responding, if so."""
    try:
        for deviation in known:
            again += replayed(target, hello, (deviation,), kit)
    except TargetError as error:
        return str(error)
    return ""


def _nothing(hello: Hello, seed: int = 0) -> Campaign[Any]:
    return Campaign(hello, (), 0, 0, 0.0, {}, seed=seed)


def _searched(target: object, limits: Limits, seed: int, kit: AnyKit) -> Campaign[Any]:
    with shown_progress(progress_console(), "verify") as say:

        def progress(sequences: int, faults: int) -> None:
            say(f"{sequences:,} sequences, {faults} deviations")

        return campaign(target, limits, kit, seed, progress)


def _printed(report: Report, *, json_lines: bool) -> None:
    if json_lines:
        for line in as_json(report):
            click.echo(line)
        return
    show(report, output())
