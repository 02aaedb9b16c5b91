"""``sharespec generate``: large synthetic traces."""

from pathlib import Path

import click
from rich.progress import Progress

from judge.words import many
from replay.generate import Request, TargetNotEmptyError, generate_traces
from sharespec.commands.options import FOLDER
from sharespec.console import progress_console
from sharespec.exit import exits_on


@click.command("generate")
@click.argument("out", type=FOLDER)
@click.option(
    "--partitions",
    type=click.IntRange(1, 10_000_000),
    default=100,
    help="How many share-partitions.",
)
@click.option(
    "--events",
    type=click.IntRange(1, 10**12),
    default=100_000,
    help="How many events in all share-partitions together.",
)
@click.option(
    "--seed", type=int, default=0, help="Seed of the random choices; equal seeds give equal files."
)
@click.option(
    "--processes", type=click.IntRange(1), help="How many processes; default: one per core."
)
@exits_on(TargetNotEmptyError, ValueError)
def generate_command(
    out: Path, partitions: int, events: int, seed: int, processes: int | None
) -> None:
    """Write large synthetic traces as Parquet into the folder OUT, which must be empty or new.

    Their results come from the implementation, so its agreement with them proves nothing.
    """
    request = Request(partitions, events, seed)
    with Progress(console=progress_console(), transient=True) as bar:
        task = bar.add_task("generate", total=events)
        files = generate_traces(request, out, processes, lambda n: bar.advance(task, n))
    click.echo(
        f"{many(events, 'event')} of {many(partitions, 'share-partition')} in "
        f"{many(len(files), 'file')} in {out}"
    )
