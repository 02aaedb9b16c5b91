"""A report as one HTML page of a bounded size, which needs no other file, and no script to read."""

from collections.abc import Iterable, Iterator

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
    Toned,
    Words,
    capitalized,
    text_of,
    titles_of,
)
from report.page import Child, Markup, joined, own_text, page_text, tag

MAX_BYTES = 2_000_000
"""The maximum size of a page; it counts the sections that do not fit."""

_RESERVE = 1000
"""Bytes kept for the note about what is left out, and for each link."""


def html_text(document: Document, max_bytes: int = MAX_BYTES) -> str:
    """Return a page of at most ``max_bytes`` bytes: the verdict, each section, what was tried.

    Where a section does not fit, what it folds is left out, and otherwise the section.
    """
    head, tail = _top(document), [_blocks(section) for section in document.others]
    remaining = max_bytes - len(_page(document, head, tail).encode()) - _RESERVE
    articles: list[Markup] = []
    links: list[Markup] = []
    left_out = 0
    for number, section in enumerate(document.sections, start=1):
        article = _article(section, number, remaining)
        if article is None:
            left_out += 1
            continue
        remaining -= _size(article) + _RESERVE
        articles.append(article)
        titles = titles_of((section,))
        links += [
            tag("li", tag("a", printable(title), href=f"#section-{number}")) for title in titles
        ]
    contents = tag("nav", tag("ol", links)) if links else ()
    note = f"{left_out:,} more are left out: the page would exceed {max_bytes:,} bytes."
    noted = tag("p", note, class_="note") if left_out else ()
    return _page(document, head, contents, noted, articles, tail)


def _article(section: Section, number: int, most: int) -> Markup | None:
    """Return a section that fits in so many bytes, without what it folds where it must."""
    folded = [block for block in section if isinstance(block, Folded)]
    note = tag("p", f"{len(folded):,} more forms are left out: the page is too large.")
    plain = [block for block in section if block not in folded]
    for content in (_blocks(section), [*_blocks(plain), note]):
        article = tag("article", content, id=f"section-{number}")
        if _size(article) + _RESERVE <= most:
            return article
    return None


def _size(markup: Markup) -> int:
    return len(markup.text.encode())


def _page(document: Document, *body: Child) -> str:
    style, script = (own_text(__package__, f"document.{form}") for form in ("css", "js"))
    title = f"{document.command}: {document.subject}" if document.subject else document.command
    foot = tag("footer", tag("p", f"Written by {document.command}."))
    return page_text(title, [*body, foot], style=style, script=script)


def _top(document: Document) -> Markup:
    verdict = document.verdict
    shown = tag("strong", verdict.text, class_=f"verdict {verdict.tone}") if verdict else ()
    return tag(
        "header",
        tag("p", document.command, class_="kicker"),
        tag("h1", printable(document.subject or document.command)),
        tag("p", shown) if shown else (),
        _blocks(document.totals),
    )


def _blocks(blocks: Iterable[Block]) -> list[Markup]:
    return [part for block in blocks for part in _parts(block)]


def _parts(block: Block) -> Iterator[Markup]:
    match block:
        case Heading(text, badge, level):
            yield tag(f"h{level}", _badge(badge), printable(text))
        case Paragraph(parts):
            yield tag("p", [_words(words) for words in parts])
        case Fields(rows):
            pairs = [(tag("dt", capitalized(n)), tag("dd", _words(words))) for n, words in rows]
            yield tag("dl", pairs, class_="facts")
        case ItemList(items):
            yield tag("ul", [tag("li", printable(item)) for item in items], class_="columns")
        case Grid():
            yield _table(block)
        case Command(text):
            button = tag("button", "Copy", type="button", hidden="", class_="copy")
            yield tag(
                "p", "Again: ", tag("code", printable(text, len(text))), " ", button, class_="again"
            )
        case Folded(title, inner, badge):
            head = tag("summary", _badge(badge), printable(title))
            yield tag("details", head, _blocks(inner), class_="form")


def _badge(badge: str) -> Child:
    if not badge:
        return ()
    return [tag("span", badge, class_=f"badge {badge.split(maxsplit=1)[0].lower()}"), " "]


def _table(grid: Grid) -> Markup:
    head = tag("tr", [tag("th", capitalized(name), scope="col") for name in grid.columns])
    rows = [tag("tr", [_cell(words) for words in row]) for row in grid.rows]
    table = tag("table", tag("thead", head), tag("tbody", rows), class_=grid.kind)
    caption = tag("p", grid.caption, class_="legend") if grid.caption else ()
    return joined(tag("div", table, class_="scroll"), caption)


def _cell(words: Words) -> Markup:
    if isinstance(words, Toned):
        return tag("td", printable(words.text), class_=words.tone)
    return tag("td", _words(words))


def _words(words: Words) -> Child:
    """Return words; of prose what stands between backticks as code."""
    if isinstance(words, Toned):
        return tag("span", printable(words.text), class_=words.tone)
    if not isinstance(words, Prose):
        return printable(text_of(words))
    parts = "\n".join(map(printable, words.text.split("\n"))).split("`")
    return [tag("code", part) if place % 2 else part for place, part in enumerate(parts) if part]
