"""Parts of a Markdown document; text from elsewhere is shown as it is."""

import re
from collections.abc import Iterable, Iterator, Sequence

from judge.words import printable

_MARKS = re.compile(r"[\\`*\[\]<>|#&~]|(?<!\w)_|_(?!\w)")
"""What has a meaning in Markdown; an underscore within a word, as rules have it, has none."""


MAX_TEXT = 10_000
"""How many characters of one text are shown, if no fewer are asked for."""


def escaped(text: str, limit: int = MAX_TEXT) -> str:
    """Return text in one line, in which nothing is a mark, at most so many characters of it."""
    return _MARKS.sub(r"\\\g<0>", printable(text, limit))


def named(name: str) -> str:
    """Return a name within a line, as code."""
    shown = printable(name).replace("`", "'")
    return f"`{shown}`"


def prose(text: str) -> str:
    """Return text of several lines, in which only code between backticks is marked."""
    parts = text.split("`")
    lines = (
        "\n".join((printable if place % 2 else escaped)(line) for line in part.split("\n"))
        for place, part in enumerate(parts)
    )
    return "`".join(lines) + "`" * (len(parts) % 2 == 0)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the lines of a table of texts, which are escaped; ``numbers`` stand to the right."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---:' if name in numbers else '---' for name in columns)}|"
    for row in rows:
        yield f"| {' | '.join(map(escaped, row))} |"


def code(text: str) -> str:
    """Return a block of code in a list; indented, it needs no marks that the text might have."""
    return "\n".join(f"        {line}" for line in text.splitlines())
