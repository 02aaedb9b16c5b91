"""``sharespec vectors``: write the test vectors, or check that the files are current."""

import sys
from pathlib import Path

import click

from conformance.vectors.source import CaseError, cases
from conformance.vectors.written import DATA, VectorError, document
from judge.words import many
from report.scratch import made_folder, whole_file
from sharespec.commands.options import FOLDER
from sharespec.exit import Exit, exits_on, fail


@click.command("vectors")
@click.argument("out", type=FOLDER, default=DATA)
@click.option(
    "--check", is_flag=True, help="Write nothing; list the files in OUT that are not current."
)
@exits_on(CaseError, VectorError)
def vectors_command(out: Path, *, check: bool) -> None:
    """Write the test vectors (see docs/verify.md) into the folder OUT as JSON, one file per topic.

    The default of OUT is the folder in which this installation keeps them.

    Exits with 0, 1 if --check finds a file that is not current, 2 if files cannot be read or
    written.
    """
    if check and not out.is_dir():
        fail(f"there is no folder {out}")
    files = {out / f"{name}.json": document(listed) for name, listed in cases().items()}
    old = set(out.glob("*.json")) - set(files)
    stale = [p for p, text in files.items() if not p.is_file() or p.read_text() != text]
    if check:
        for path in sorted([*stale, *old]):
            click.echo(f"{path} is not current")
        sys.exit(Exit.WRONG if stale or old else Exit.WELL)
    with made_folder(out):
        for path in stale:
            with whole_file(path) as draft:
                draft.write_text(files[path])
    click.echo(f"{many(len(files), 'file')} in {out}, {len(stale)} of them written")
