"""How commands end: the exit statuses, and errors as one line on the standard error."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

import click

from judge.words import printable
from replay.verdict import Problem, place

MAX_PROBLEMS = 20
"""How many problems of a trace are printed."""


class Exit(IntEnum):
    """The exit statuses, the same for every command.

    ``WRONG``: something diverges, deviates, is not proved or cannot be read. ``COULD_NOT_RUN``
    also where too little was judged, and for bad arguments, as click has it. ``UNFINISHED``: it
    ended before all was visited.
    """

    WELL = 0
    WRONG = 1
    COULD_NOT_RUN = 2
    UNFINISHED = 3
    INTERRUPTED = 130


@contextmanager
def exits_on(*errors: type[Exception]) -> Iterator[None]:
    """Exit with one line on the standard error for these errors, and for any OSError.

    Also a decorator of a command.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # The reader of the output has enough; click ends quietly.
    except errors as error:
        fail(str(error))
    except OSError as error:
        fail(problem_of(error))


def problem_of(error: OSError) -> str:
    """Return the file that an error names, if it does, and what is wrong."""
    parts = (error.filename, os.strerror(error.errno) if error.errno else error)
    return printable(": ".join(str(part) for part in parts if part))


def fail(message: str) -> NoReturn:
    """Print why the command could not run, and exit."""
    click.echo(f"sharespec: {printable(message)}", err=True)
    sys.exit(Exit.COULD_NOT_RUN)


def report_problems(problems: Iterable[Problem]) -> None:
    """Print what is wrong with a trace to the standard error, a line each; exit if anything is."""
    distinct = sorted(dict.fromkeys(problems), key=lambda problem: problem.partition or "")
    for problem in distinct[:MAX_PROBLEMS]:
        about = f"{printable(problem.partition, 120)}: " if problem.partition else ""
        where = place(problem.source, problem.line)
        click.echo(f"{about}{where}: {printable(problem.message, 300)}", err=True)
    if len(distinct) > MAX_PROBLEMS:
        click.echo(f"… and {len(distinct) - MAX_PROBLEMS} more places", err=True)
    if distinct:
        sys.exit(Exit.WRONG)
