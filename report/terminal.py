"""What people see on a terminal; text from elsewhere can neither move its cursor nor hide."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from judge.words import printable


def add_fields(text: Text, fields: Iterable[tuple[str, str]], width: int) -> None:
    """Add a line for each named text that is not empty; names are ``width`` characters wide."""
    for name, value in fields:
        if value:
            text.append(f"  {name:<{width}} ", style="bold")
            text.append(f"{printable(value, 1000)}\n", style="default")


@contextmanager
def shown_progress(console: Console, name: str) -> Iterator[Callable[[str], None]]:
    """Show a line while something is searched: what it is told by the function it gives."""
    text = TextColumn("{task.description}")
    with Progress(text, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(name)
        yield lambda said: bar.update(task, description=said)
