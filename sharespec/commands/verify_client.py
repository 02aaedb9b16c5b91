"""``sharespec verify-client``: judge a share consumer by the duties of a client."""

import shlex
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path

import click

from clients.campaign import Campaign, Limits, alone, campaign
from clients.drivers import Driver
from clients.known import Known, KnownError, read_known
from clients.report import json_lines as as_json_lines
from clients.report import lines
from clients.scripts import Script, ScriptError, from_json
from clients.subjects import NAMES, driver_of, known_of
from conformance.target import TargetError
from report.terminal import shown_progress
from sharespec.commands.options import JSON, SECONDS
from sharespec.console import progress_console
from sharespec.exit import Exit, exits_on, fail

RUNS = 100
"""How many scripts a search plays that is told nothing else: some ten have many records."""


def _script(_context: click.Context, _option: click.Parameter, text: str | None) -> Script | None:
    try:
        return None if text is None else from_json(text)
    except ScriptError as error:
        raise click.BadParameter(str(error)) from None


@click.command("verify-client")
@click.argument("name", required=False, type=click.Choice(NAMES))
@click.option(
    "--exec",
    "command",
    metavar="COMMAND",
    help="Start this command and drive it (docs/verify-client.md).",
)
@click.option(
    "--seconds",
    type=SECONDS,
    help="How long to search at most.",
)
@click.option(
    "--runs",
    type=click.IntRange(0),
    help=f"Play at most this many scripts; default, without --seconds: {RUNS}.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random scripts.")
@click.option(
    "--silence",
    type=SECONDS,
    default=90,
    show_default=True,
    help="How long the client may take for one call, in seconds.",
)
@click.option(
    "--known",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of known violations; default: that of the client named.",
)
@click.option(
    "--play",
    metavar="JSON",
    callback=_script,
    help="Play only this script, and take nothing as known.",
)
@JSON
@exits_on(TargetError, KnownError)
def verify_client_command(  # noqa: PLR0913 - one for each option
    *,
    name: str | None,
    command: str | None,
    seconds: float | None,
    runs: int | None,
    seed: int,
    silence: float,
    known: Path | None,
    play: Script | None,
    json_lines: bool,
) -> None:
    """Search a share consumer for what no client may do.

    NAME is librdkafka, kafka or kafkats; or give --exec. Each script has a broker of its own, whose
    answers the specification computes, and in which rare things happen that are allowed. What goes
    over the wire and what the application is told are judged together (docs/client-rules.md).

    Exits with 0 if nothing new violates a duty, 1 if something does or a known violation is gone, 2
    if the client could not be driven, stopped responding, delivered or acknowledged no record, or
    too few duties were at stake, 130 if interrupted: results so far are still reported.
    """
    if (name is None) == (command is None):
        raise click.UsageError(f"give one of {', '.join(NAMES)}, or --exec COMMAND")
    if known and play:
        raise click.UsageError("--known is for a whole run, without --play")
    path = known or known_of(name)
    listed = read_known(path) if path else ()
    driver = driver_of(name, command, silence)
    if runs is None:
        runs = RUNS if seconds is None else 1_000_000
    limits = Limits(inf if seconds is None else seconds, runs)
    try:
        result = (
            _searched(lambda: driver, limits, seed, listed)
            if play is None
            else alone(lambda: driver, play)
        )
    finally:
        driver.end()
    given = name or f"--exec {shlex.quote(command or '')}"
    again = f"sharespec verify-client {given}"
    for line in as_json_lines(result) if json_lines else lines(result, again):
        click.echo(line)
    if result.interrupted:
        sys.exit(Exit.INTERRUPTED)
    if result.failure:
        fail(result.failure)
    if play is None and result.lack:
        fail(f"nothing was shown of {result.client.name}: {result.lack}")
    if result.light:
        fail(f"{result.client.name} is unknown: {result.light}")
    sys.exit(Exit.WELL if result.is_as_known else Exit.WRONG)


def _searched(
    start: Callable[[], Driver], limits: Limits, seed: int, known: tuple[Known, ...]
) -> Campaign:
    with shown_progress(progress_console(), "verify-client") as say:

        def progress(runs: int, shown: int) -> None:
            say(f"{runs:,} scripts, {shown} duties violated")

        return campaign(start, limits, seed, known=known, progress=progress)
