"""Options and endings that the commands over traces share."""

import functools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn, ParamSpec

import click

from judge.words import printable
from model.errors import InvalidValueError
from model.profile import PROFILES
from operations.naming import SharePartitionName, parsed_name
from replay.load import PartitionRows
from replay.report import place
from replay.sources import NoSuchTraceError
from replay.verdict import Problem

__all__ = ["AT", "GROUP", "PROFILE", "SEQ", "TRACES", "ends_well", "in_group", "named", "tell"]

INCOMPLETE = 1
COULD_NOT_RUN = 2
INTERRUPTED = 130
"""Exit statuses other than 0; 1: something diverges or cannot be read, the rest is shown."""

MAX_PROBLEMS = 20
"""How many problems are shown."""

P_ = ParamSpec("P_")

TRACES = click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path))
GROUP = click.option("--group", help="Only this group.")
AT = click.option(
    "--at",
    type=click.IntRange(0),
    metavar="MS",
    help="As of the last event up to this time, on the trace's clock in ms; default: the end.",
)
SEQ = click.option(
    "--seq", type=click.IntRange(0), help="As of this event of each share-partition."
)
PROFILE = click.option(
    "--profile",
    type=click.Choice(sorted(PROFILES)),
    default="kafka",
    show_default=True,
    help="Which rules apply where the KIPs and Apache Kafka differ.",
)


def in_group(group: str | None) -> Callable[[str], bool]:
    """Return what says whether a share-partition belongs to the group; None: any group."""
    return lambda name: group is None or name.rsplit(":", 2)[0] == group


def ends_well(command: Callable[P_, list[Problem]]) -> Callable[P_, None]:
    """Make a command end in one line, and in the exit status that its problems ask for."""

    @functools.wraps(command)
    def run(*arguments: P_.args, **options: P_.kwargs) -> None:
        try:
            problems = command(*arguments, **options)
        except NoSuchTraceError as error:
            _fail(str(error))
        except BrokenPipeError:
            raise
        except OSError as error:
            _fail(f"{error.filename or ''}: {error.strerror or error}")
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        if problems:
            tell(problems)
            sys.exit(INCOMPLETE)

    return run


def named(rows: PartitionRows, problems: list[Problem]) -> SharePartitionName | None:
    """Return the name of a share-partition that has events; None, with a problem, if it is none."""
    if not rows.table.num_rows:
        return None
    try:
        return parsed_name(rows.partition)
    except InvalidValueError as error:
        problems.append(Problem(*rows.place(0), str(error), rows.partition))
        return None


def tell(problems: Iterable[Problem]) -> None:
    """Print what is wrong with a trace to the standard error, a line each."""
    found = sorted(dict.fromkeys(problems), key=lambda problem: problem.partition or "")
    for problem in found[:MAX_PROBLEMS]:
        about = f"{printable(problem.partition, 120)}: " if problem.partition else ""
        where = place(problem.source, problem.line)
        click.echo(f"{about}{where}: {printable(problem.message, 300)}", err=True)
    if len(found) > MAX_PROBLEMS:
        click.echo(f"… and {len(found) - MAX_PROBLEMS} more places", err=True)


def _fail(message: str) -> NoReturn:
    click.echo(f"sharespec: {printable(message)}", err=True)
    sys.exit(COULD_NOT_RUN)
