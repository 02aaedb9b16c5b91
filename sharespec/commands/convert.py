"""``sharespec convert``: one form of a recording to another."""

import gzip
import sys
from pathlib import Path

import click

from judge.words import many
from replay.convert import convert
from replay.observed.inputs import Input, sorted_out
from replay.observed.rows import fact_lines, line_of
from replay.observed.run import read_all
from replay.sources import NoSuchTraceError, find_sources
from replay.verdict import place
from report.scratch import whole_file
from sharespec.commands.options import FILE, TRACES
from sharespec.exit import Exit, exits_on, fail

MOST_SHOWN = 10
"""How many of the lines that hold no event are shown."""


@click.command("convert")
@TRACES
@click.option(
    "--out",
    required=True,
    type=FILE,
    help="The file to write: Parquet if its name ends in .parquet, else JSON lines, compressed if "
    "it ends in .gz.",
)
@exits_on(NoSuchTraceError)
def convert_command(*, traces: tuple[Path, ...], out: Path) -> None:
    """Write recorded events as Parquet or JSON lines, request logs as observations.

    TRACES are all of one kind. Of request logs FILE gets what they show of share-partitions: a
    small part of them, without addresses of clients, client ids and users. ``sharespec replay
    FILE`` judges it as it would judge TRACES.

    Exits with 0, 1 if lines could not be used, 2 if there is nothing to convert.
    """
    for path in traces:
        if not path.exists():
            raise NoSuchTraceError(f"{path} does not exist")
    logs, others = sorted_out(traces)
    if logs and others:
        fail(f"{others[0]} is not a request log")
    unusable = _logs(logs, out) if logs else _events(others, out)
    sys.exit(Exit.WRONG if unusable else Exit.WELL)


def _logs(logs: list[Input], out: Path) -> int:
    """Write what request logs show and return how many of their lines could not be used."""
    if out.suffix == ".parquet":
        fail(f"{out}: observations are JSON lines")
    tallies, seen = read_all(logs)
    facts = [fact for tally in tallies for fact in tally.facts]
    lines = [*fact_lines(facts), *(line_of(each) for each in seen)]
    text = "".join(f"{line}\n" for line in lines).encode()
    with whole_file(out) as draft:
        draft.write_bytes(gzip.compress(text, mtime=0) if out.name.endswith(".gz") else text)
    unusable = sum(tally.unusable for tally in tallies)
    click.echo(
        f"{many(len(seen), 'observation')}; {many(unusable, 'line')} could not be used", err=True
    )
    return unusable


def _events(traces: list[Path], out: Path) -> int:
    """Write recorded events and return how many lines hold none."""
    sources = find_sources(traces)
    if out.resolve() in {Path(source.path).resolve() for source in sources.files}:
        fail(f"{out} is one of TRACES")
    converted = convert(sources.files, out)
    problems = [*sources.problems, *converted.problems]
    for problem in problems[:MOST_SHOWN]:
        click.echo(f"{place(problem.source, problem.line)}: {problem.message}", err=True)
    if not converted.events:
        fail("TRACES hold no event, and nothing was written")
    click.echo(
        f"{many(converted.events, 'event')}; {many(len(problems), 'line')} without one", err=True
    )
    if converted.generated and out.suffix != ".parquet":
        click.echo(
            "JSON lines do not say that results were computed by the implementation", err=True
        )
    if converted.recording.headers:
        click.echo("What a recorder says of its files was not converted", err=True)
    return len(problems)
