"""``sharespec verify``: check an implementation against the specification."""

from pathlib import Path
from typing import Any

import attrs
import click
from click.core import ParameterSource

from conformance.java import NoTestError, class_name
from conformance.known import KnownError
from conformance.releases import NEWEST
from conformance.subjects import IN_JAVA, NAMED, SUBJECT_NAMES, VERSIONED, TargetChoice, opened
from conformance.target import TargetError
from sharespec.commands.options import OneOf, silence_option
from sharespec.exit import exits_on
from sharespec.reports import writable_file
from sharespec.verifying import VerifyOptions, read_plan, verify, verifying_options


def _java_file(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Check that the file can be written and can have a class of its name."""
    try:
        class_name(path) if path else None
    except NoTestError as error:
        raise click.BadParameter(str(error)) from None
    return writable_file(context, option, path)


@click.command("verify")
@click.argument("name", required=False, type=OneOf(SUBJECT_NAMES))
@click.option(
    "--exec", "command", metavar="COMMAND", help="Start this command and drive it (docs/verify.md)."
)
@click.option("--bootstrap", metavar="HOST:PORT", help="Drive the broker at this address.")
@click.option(
    "--profile",
    type=OneOf(["kip", "kafka"]),
    default=TargetChoice().profile,
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
    "--version",
    metavar="X.Y.Z",
    default="",
    show_default=False,
    help=f"Of {', '.join(VERSIONED)}: another version than the newest.",
)
@silence_option("the target may take for one answer", 10)
@click.option(
    "--junit-test",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE.java",
    callback=_java_file,
    help=f"Of {', '.join(IN_JAVA)}: write what shows as tests beside Apache Kafka's, "
    "a method each.",
)
@click.option("--vector", metavar="NAME", help="Play only this vector, and take nothing as known.")
@verifying_options
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
    version: str,
    silence: float,
    **values: Any,  # noqa: ANN401 - the values of the other options
) -> None:
    """Search an implementation, the target, for what no rule allows.

    NAME is one of the cores spec, impl and kafka, a coordinator of Apache Kafka, or a broker that
    the kit starts itself; or give --exec or --bootstrap. A core runs the test vectors first; with
    --sequences 0 nothing else.

    Exits with 0 if there is no new deviation, 1 if there is one or a known deviation is gone, 2 if
    the target could not be driven or stopped responding, 130 if interrupted: results so far are
    still reported.
    """
    if sum(target is not None for target in (name, command, bootstrap)) != 1:
        names = ", ".join(SUBJECT_NAMES)
        raise click.UsageError(f"give one of {names}, --exec COMMAND, or --bootstrap HOST:PORT")
    _check_options(name, bootstrap, version)
    subject = TargetChoice(
        name, command, bootstrap, silence, profile, lock_ms, sweep_ms, offered_within, version
    )
    plan = read_plan(subject.kit, VerifyOptions(**values), subject.known)
    plan = attrs.evolve(plan, may_lack_known=_is_older(version), java=subject.java)
    with opened(subject) as target:
        verify(target, plan, subject.command_line, "sharespec verify")


def _is_older(version: str) -> bool:
    return version not in ("", NEWEST)


def _check_options(name: str | None, bootstrap: str | None, version: str) -> None:
    source_of = click.get_current_context().get_parameter_source
    if bootstrap is None and source_of("profile") is not ParameterSource.DEFAULT:
        raise click.UsageError("--profile is for --bootstrap: other targets have their own")
    if name not in VERSIONED and source_of("version") is not ParameterSource.DEFAULT:
        raise click.UsageError(f"--version is for {', '.join(VERSIONED)}")
    if source_of("junit_test") is ParameterSource.DEFAULT:
        return
    java = NAMED[name].java if name else None
    if java is None:
        raise click.UsageError(f"--junit-test is for {', '.join(IN_JAVA)}")
    if _is_older(version) and not java.older:
        raise click.UsageError(f"--junit-test of {name} is for {NEWEST}, the newest release")
