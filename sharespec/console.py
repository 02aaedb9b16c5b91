"""Where commands print: the standard output for results, the standard error for progress."""

from rich.console import Console

WIDTH = 180
"""How wide a table is where there is no terminal, in characters."""


def output() -> Console:
    """Return the standard output, with colours on a terminal only."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH)


def progress_console() -> Console:
    """Return the standard error, where progress is shown while a command runs."""
    return Console(stderr=True)
