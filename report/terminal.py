"""What people see on a terminal; text from elsewhere can neither move its cursor nor hide."""

import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from judge.words import printable
from report.document import (
    Block,
    Command,
    Document,
    Fields,
    Folded,
    Grid,
    Heading,
    ItemList,
    Paragraph,
    Prose,
    Section,
    Words,
    text_of,
    titled,
)

MAX_HEADINGS = 100
"""Of how many sections beyond those in full the headings are shown."""

_WIDTH = 14
"""How wide the names of fields are, in characters."""

_TONES = {
    "good": "green",
    "bad": "bold red",
    "odd": "bold magenta",
    "warn": "yellow",
    "soft": "dim",
    "strong": "bold",
}
_FILES = "--json and every report to a file"


def show_document(document: Document, console: Console) -> None:
    """Print a report: its sections, as far as they are shown in full, and the totals last."""
    if document.subject:
        console.print(Text(printable(document.subject)), soft_wrap=True)
    full, brief = document.sections[: document.detailed], document.sections[document.detailed :]
    for section in full:
        show_section(section, console)
    for section in brief[:MAX_HEADINGS]:
        show_section(section[:1], console)
    if brief:
        more = f", and {len(brief) - MAX_HEADINGS:,} more" if len(brief) > MAX_HEADINGS else ""
        console.print(f"\nThe last {len(brief):,} in full{more}: {_FILES}", markup=False)
    for section in document.others:
        show_section(section, console)
    console.print()
    for block in document.totals:
        console.print(_line(block.parts), soft_wrap=True)


def show_section(section: Section, console: Console) -> None:
    """Print the blocks of a section."""
    folded = 0
    for block in section:
        if isinstance(block, Folded):
            folded += 1
            if folded > _MAX_FOLDED:
                continue
        shown = _shown(block, console.width if console.is_terminal else None)
        console.print(shown, soft_wrap=not isinstance(block, Grid), end="")
    if folded > _MAX_FOLDED:
        console.print(f"  {'also':<{_WIDTH}} {folded - _MAX_FOLDED} more: {_FILES}", markup=False)


_MAX_FOLDED = 10
"""How many folded parts of a section are named."""


def section_text(section: Iterable[Block], width: int | None = None) -> Text:
    """Return a section without tables as lines of text; fields are wrapped at ``width``, if any."""
    every = (_shown(block, width) for block in section)
    return Text().join(shown for shown in every if isinstance(shown, Text))


def _shown(block: Block, width: int | None) -> Text | Table:
    match block:
        case Grid():
            shown: Text | Table = _table(block)
        case Heading(text, badge):
            shown = Text(f"\n{printable(titled(badge, text))}\n", style="bold")
        case Paragraph(parts):
            shown = Text("  ").append(_line(parts)).append("\n")
        case Fields(rows):
            shown = _fields(rows, width)
        case Command(text):
            shown = Text().append("  again".ljust(_WIDTH + 3), style="bold")
            shown.append(f"{printable(text, len(text))}\n")
        case ItemList(items, most):
            more = [f"… and {len(items) - most:,} more"] if len(items) > most else []
            shown = Text("".join(f"  {printable(item)}\n" for item in (*items[:most], *more)))
        case Folded(title, _, badge, brief):
            shown = _fields([(badge, title)], width).append(section_text(brief, width))
    return shown


def _line(parts: Iterable[Words]) -> Text:
    line = Text()
    for words in parts:
        tone = "" if isinstance(words, str | Prose) else words.tone
        line.append(_plain(words), style=_TONES.get(tone))
    return line


def _plain(words: Words) -> str:
    """Return words without marks; only prose has lines of its own."""
    if isinstance(words, Prose):
        return " ".join(printable(line) for line in words.text.split("\n"))
    return printable(text_of(words))


def _fields(rows: Iterable[tuple[str, Words]], width: int | None) -> Text:
    text, indent = Text(), " " * (_WIDTH + 3)
    for name, words in rows:
        text.append(f"  {name:<{_WIDTH}} ", style="bold")
        lines = [_plain(words)]
        if width and name != "json":  # Who copies an event wants it in one line.
            room = max(width - len(indent), _WIDTH)
            lines = textwrap.wrap(lines[0], room, break_on_hyphens=False)
        text.append("\n".join([*lines[:1], *(indent + line for line in lines[1:])]) + "\n")
    return text


def _table(grid: Grid) -> Table | Text:
    if not grid.most:
        return Text()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in grid.columns:
        table.add_column(name, overflow="fold", justify="right" if name in grid.numbers else "left")
    for row in grid.rows[: grid.most]:
        table.add_row(*(_line([words]) for words in row))
    if len(grid.rows) > grid.most:
        table.add_row(f"… and {len(grid.rows) - grid.most:,} more")
    return table


@contextmanager
def shown_progress(console: Console, name: str) -> Iterator[Callable[[str], None]]:
    """Show a line on a terminal while something runs: what it is told by the function it gives."""
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    is_silent = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_silent) as bar:
        task = bar.add_task(name)
        yield lambda said: bar.update(task, description=said)
