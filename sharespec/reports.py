"""Reports in files: where they go is tried first, and one that fails costs no other."""

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from report.scratch import whole_file
from sharespec.commands.options import FILE, Option
from sharespec.exit import Exit, problem_of


def writable_file(
    _context: click.Context, _option: click.Parameter, path: Path | None
) -> Path | None:
    """Check that a file can be written now, not after a long search; leave nothing behind."""
    if path is None or (path.exists() and not path.is_file()):
        return path
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}")
    is_new = not path.exists()
    try:
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        raise click.BadParameter(f"{problem_of(error)}") from None
    return path


def file_option(name: str, text: str, *parameter: str) -> Option:
    """Return an option with a file to write, under the name of its parameter if that is another."""
    return click.option(name, *parameter, type=FILE, callback=writable_file, help=text)


def write_reports(reports: Iterable[tuple[Path | None, Callable[[], str]]]) -> Exit:
    """Write the text of each file that is given; return COULD_NOT_RUN if one cannot be written.

    Each that cannot is a line on the standard error.
    """
    status = Exit.WELL
    for path, text in reports:
        if path is None:
            continue
        try:
            with whole_file(path) as draft:
                draft.write_text(text(), encoding="utf-8")
        except OSError as error:
            click.echo(f"sharespec: {problem_of(error)}", err=True)
            status = Exit.COULD_NOT_RUN
    return status
