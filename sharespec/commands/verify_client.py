"""``sharespec verify-client``: judge a share consumer by the duties of a client."""

import shlex
from typing import Any

import attrs
import click

from clients.kit import AT_ONCE, CLIENTS
from clients.subjects import NAMES, Drivers, driver_of, known_of, release_of
from conformance.known import KnownError
from conformance.target import TargetError
from sharespec.commands.options import OneOf, silence_option
from sharespec.exit import exits_on
from sharespec.reports import file_option
from sharespec.verifying import VerifyOptions, read_plan, verify, verifying_options


@click.command("verify-client")
@click.argument("name", required=False, type=OneOf(NAMES))
@click.option(
    "--exec",
    "command",
    metavar="COMMAND",
    help="Start this command and drive it (docs/verify-client.md).",
)
@click.option(
    "--sequences",
    "--runs",
    type=click.IntRange(0),
    help=f"Play at most this many scripts; default, without --seconds: {CLIENTS.sequences}.",
)
@silence_option("the client may take for one call", 90)
@click.option(
    "--at-once",
    type=click.IntRange(1, 64),
    default=AT_ONCE,
    help="How many scripts are played at once, each with a client and a broker of its own.",
)
@click.option("--version", metavar="X.Y.Z", help="Of the named client: another release than usual.")
@file_option("--test", "Of librdkafka: write what shows to FILE.py as tests with confluent-kafka.")
@verifying_options
@exits_on(TargetError, KnownError)
def verify_client_command(
    *,
    name: str | None,
    command: str | None,
    silence: float,
    at_once: int,
    version: str | None,
    **values: Any,  # noqa: ANN401 - the values of the other options
) -> None:
    """Search a share consumer for what no client may do.

    NAME is that of a client, or give --exec. Each script has a broker of its own, whose answers the
    specification computes, and in which rare things happen that are allowed. What goes over the
    wire and what the application is told are judged together (docs/client-rules.md).

    What violates a duty is played again first: what does not come back is reported as unconfirmed.
    Exits with 0 if nothing new violates a duty, 1 if something does or a known violation is gone, 2
    if the client could not be driven, stopped responding, delivered or acknowledged no record, or
    too few duties were at stake, 130 if interrupted: results so far are still reported.
    """
    if (name is None) == (command is None):
        raise click.UsageError(f"give one of {', '.join(NAMES)}, or --exec COMMAND")
    if (test := values["test"]) and (name, test.suffix) != ("librdkafka", ".py"):
        raise click.UsageError("--test is FILE.py, for librdkafka")
    kit = attrs.evolve(CLIENTS, at_once=at_once)
    options = VerifyOptions(**values)
    plan = read_plan(kit, options, known_of(name), release_of(name, version))
    given = name or f"--exec {shlex.quote(command or '')}"
    given += f" --version {version}" if version else ""
    plan = attrs.evolve(plan, may_lack_known=version is not None)
    drivers = Drivers(driver_of(name, command, silence, version))
    try:
        verify(drivers.start, plan, f"sharespec verify-client {given}", "sharespec verify-client")
    finally:
        drivers.end()
