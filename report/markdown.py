"""A report as Markdown; text from elsewhere is shown as it is."""

import re
from collections.abc import Iterable, Iterator, Sequence

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
    Words,
    capitalized,
    text_of,
    titled,
    titles_of,
)

_MARKS = re.compile(r"[\\`*\[\]<>|#&~]|(?<!\w)_|_(?!\w)")
"""What has a meaning in Markdown; an underscore within a word, as rules have it, has none."""


MAX_TEXT = 10_000
"""How many characters of one text are shown, if no fewer are asked for."""


def escaped(text: str, limit: int = MAX_TEXT) -> str:
    """Return text in one line, in which nothing is a mark, at most so many characters of it."""
    return _MARKS.sub(r"\\\g<0>", printable(text, limit))


def prose(text: str) -> str:
    """Return text of several lines, in which only code between backticks is marked."""
    parts = text.split("`")
    lines = (
        "\n".join((printable if place % 2 else escaped)(line) for line in part.split("\n"))
        for place, part in enumerate(parts)
    )
    return "`".join(lines) + "`" * (len(parts) % 2 == 0)


def table(
    columns: Sequence[str], rows: Iterable[Iterable[str]], numbers: Sequence[str] = ()
) -> str:
    """Return a table of texts, in which marks mark; the columns ``numbers`` stand to the right."""
    rule = "|".join("---:" if name in numbers else "---" for name in columns)
    lines = (f"| {' | '.join(row)} |" for row in (columns, *rows))
    return "\n".join((next(lines), f"|{rule}|", *lines))


def code(text: str) -> str:
    """Return a block of code in a list; indented, it needs no marks that the text might have."""
    return "\n".join(f"        {line}" for line in text.splitlines())


def markdown_text(document: Document) -> str:
    """Return a whole document: the totals, the titles of its sections, and every section."""
    subject = f"{document.command}: {document.subject}" if document.subject else document.command
    titles = [f"- {escaped(title)}" for title in titles_of(document.sections)]
    blocks = (block for section in document.sections + document.others for block in section)
    parts = [f"# {escaped(subject)}", *_blocks(document.totals), "\n".join(titles)]
    return "\n\n".join(filter(None, [*parts, *_blocks(blocks)])) + "\n"


def _blocks(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Heading(text, badge, level):
                yield f"{'#' * level} {escaped(titled(capitalized(badge), text))}"
            case Paragraph(parts):
                yield "".join(map(_words, parts))
            case Fields(rows):
                yield "\n".join(f"- {capitalized(name)}: {_words(words)}" for name, words in rows)
            case ItemList(items):
                yield "\n".join(f"- {escaped(item)}" for item in items)
            case Grid(columns, rows, numbers, _, caption):
                names = [capitalized(name) for name in columns]
                right = [capitalized(name) for name in numbers]
                yield table(
                    names, ([escaped(text_of(cell)) for cell in row] for row in rows), right
                )
                yield escaped(caption)
            case Command(text):
                yield f"- Again:\n\n{code(printable(text, len(text)))}"
            case Folded(title, inner, badge, _, level):
                yield f"{'#' * level} {escaped(titled(capitalized(badge), title))}"
                yield from _blocks(inner)


def _words(words: Words) -> str:
    return prose(words.text) if isinstance(words, Prose) else escaped(text_of(words))
