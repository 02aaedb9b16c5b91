"""What several commands share: options, and the report of problems in a trace."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from judge.words import printable
from model.errors import InvalidValueError
from model.profile import PROFILES
from operations.naming import SharePartitionName, parsed_name
from replay.load import PartitionRows
from replay.verdict import Problem, place
from sharespec.exit import Exit

__all__ = [
    "AT",
    "GROUP",
    "JSON",
    "PROFILE",
    "SEQ",
    "TRACES",
    "in_group",
    "named",
    "profile_option",
    "report_problems",
]

MAX_PROBLEMS = 20
"""How many problems are shown."""


def profile_option(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option ``--profile``."""
    return click.option(
        "--profile",
        type=click.Choice(sorted(PROFILES)),
        default=default,
        show_default=True,
        help="Which rules apply where the KIPs and Apache Kafka differ.",
    )


TRACES = click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path))
GROUP = click.option("--group", help="Only this group.")
AT = click.option(
    "--at",
    type=click.IntRange(0),
    metavar="MS",
    help="As of the last event up to this time, on the trace's clock in ms; default: the end.",
)
SEQ = click.option(
    "--seq", type=click.IntRange(0), help="As of the event of this seq in each share-partition."
)
PROFILE = profile_option("kafka")
JSON = click.option("--json", "json_lines", is_flag=True, help="Print JSON, one object to a line.")


def in_group(group: str | None) -> Callable[[str], bool]:
    """Return a test whether a share-partition, by name, belongs to the group; None: any group."""
    return lambda name: group is None or name.rsplit(":", 2)[0] == group


def named(rows: PartitionRows, problems: list[Problem]) -> SharePartitionName | None:
    """Return the name of a share-partition that has events; None, with a problem, if it is none."""
    if not rows.table.num_rows:
        return None
    try:
        return parsed_name(rows.partition)
    except InvalidValueError as error:
        problems.append(Problem(*rows.place(0), str(error), rows.partition))
        return None


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
