"""How commands end: the exit statuses, and errors as one line on the standard error."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
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

    So too where a process of a pool was killed. Also a decorator of a command.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # The reader of the output has enough; click ends quietly.
    except errors as error:
        fail(str(error))
    except OSError as error:
        fail(problem_of(error))
    except RuntimeError as error:
        from concurrent.futures import BrokenExecutor  # noqa: PLC0415 - who has a pool has it

        if not isinstance(error, BrokenExecutor):
            raise
        fail("a process with a part of the work was killed, or had no memory")


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
    for line in problem_lines(distinct):
        click.echo(line, err=True)
    if distinct:
        sys.exit(Exit.WRONG)


def problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield a line for each of the first problems of a trace, and how many more there are."""
    for problem in problems[:MAX_PROBLEMS]:
        about = f"{printable(problem.partition, 120)}: " if problem.partition else ""
        yield f"{about}{place(problem.source, problem.line)}: {printable(problem.message, 300)}"
    if len(problems) > MAX_PROBLEMS:
        yield f"… and {len(problems) - MAX_PROBLEMS:,} more places"
