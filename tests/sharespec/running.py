"""Commands that run in this process, as they do in a shell."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from sharespec.cli import cli
from tests.replay.samples import kafka_rows, write_trace


def runner(*command: str) -> Callable[..., Result]:
    """Return what runs a command with arguments of any kind; by name what click's runner takes."""

    def run(*arguments: object, **how: Any) -> Result:  # noqa: ANN401 - as click has it
        return CliRunner().invoke(cli, [*command, *map(str, arguments)], **how)

    return run


def diverging(path: Path, *seqs: int) -> Path:
    """Write events of a share-partition, after which of these its window ends too far."""
    rows = kafka_rows()
    for seq in seqs:
        rows[seq]["after"]["end_offset"] += 1
    return write_trace(path, rows)
