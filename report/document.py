"""What a report says, whatever form it is written in: ``report`` has a writer for each.

A text of type ``str`` may come from a file, a broker or a driver: it is shown, and marks nothing.
"""

import attrs


@attrs.frozen
class Prose:
    """A text of this project or of a file of known deviations; code stands between backticks."""

    text: str


@attrs.frozen
class Toned:
    """A text, and how it strikes a reader: good, bad, odd (as unreadable), warn or soft.

    On a page the tone is a class of the style, and may be any.
    """

    text: str
    tone: str


Words = str | Prose | Toned


@attrs.frozen
class Heading:
    """The title of a section, with a badge before it, such as ``new``."""

    text: str
    badge: str = ""
    level: int = 2


@attrs.frozen
class Paragraph:
    """One or several texts in a paragraph."""

    parts: tuple[Words, ...]


@attrs.frozen
class Fields:
    """Named texts; those that are empty are left out."""

    rows: tuple[tuple[str, Words], ...]


@attrs.frozen
class ItemList:
    """Texts one below the other; a terminal shows the first ``most``, and how many more."""

    items: tuple[str, ...]
    most: int = 10


@attrs.frozen
class Grid:
    """A table; ``numbers`` are columns of numbers, ``kind`` names it in the style of a page.

    A terminal shows the first ``most`` rows, and how many more there are; nothing if it is 0.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Words, ...], ...]
    numbers: tuple[str, ...] = ()
    kind: str = ""
    caption: str = ""
    most: int = 1000


@attrs.frozen
class Command:
    """A command that shows something again, and can be copied."""

    text: str


@attrs.frozen
class Folded:
    """Blocks that a page folds below a title; a terminal shows the title and ``brief`` alone."""

    title: str
    blocks: tuple["Block", ...]
    badge: str = "also"
    brief: tuple["Block", ...] = ()
    level: int = 3


Block = Heading | Paragraph | Fields | ItemList | Grid | Command | Folded

Section = tuple[Block, ...]


@attrs.frozen
class Document:
    """A report: its subject, its verdict and totals, sections, and what else was looked at.

    A terminal shows ``detailed`` sections in full, the headings of the others, and the totals last,
    where they are seen. A page of bounded size leaves out the last of the sections.
    """

    command: str
    subject: str = ""
    verdict: Toned | None = None
    totals: tuple[Paragraph, ...] = ()
    sections: tuple[Section, ...] = ()
    others: tuple[Section, ...] = ()
    detailed: int = 20


def paragraph(*parts: Words) -> Paragraph:
    """Return a paragraph of texts."""
    return Paragraph(parts)


def toned(text: str, tone: str) -> Paragraph:
    """Return a paragraph with one tone."""
    return Paragraph((Toned(text, tone),))


def fields(*rows: tuple[str, Words]) -> Fields:
    """Return named texts, without those that are empty."""
    return Fields(tuple((name, words) for name, words in rows if text_of(words)))


def text_of(words: Words) -> str:
    """Return the text of words."""
    return words if isinstance(words, str) else words.text


def capitalized(name: str) -> str:
    """Return a name with a capital letter, as documents have it."""
    return f"{name[:1].upper()}{name[1:]}"


def titles_of(sections: tuple[Section, ...]) -> list[str]:
    """Return the titles of sections; of one without a heading nothing."""
    heads = (section[0] for section in sections if section)
    return [titled(h.badge, _title(h)) for h in heads if isinstance(h, Heading | Folded)]


def titled(badge: str, title: str) -> str:
    """Return a title behind its badge."""
    return f"{badge}: {title}" if badge else title


def _title(head: Heading | Folded) -> str:
    return head.text if isinstance(head, Heading) else head.title
