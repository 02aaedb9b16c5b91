"""Commands that run in this process, as they do in a shell."""

from collections.abc import Callable
from typing import Any

from click.testing import CliRunner, Result

from sharespec.cli import cli


def runner(*command: str) -> Callable[..., Result]:
    """Return what runs a command with arguments of any kind; by name what click's runner takes."""

    def run(*arguments: object, **how: Any) -> Result:  # noqa: ANN401 - as click has it
        return CliRunner().invoke(cli, [*command, *map(str, arguments)], **how)

    return run
