"""The documents as pages: links to pages stay, those to other files of the repository are text."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]

_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)#\s]*)(#[^)\s]*)?\)")
_HEADING = re.compile(r"^(#{1,6}) (.+?)\s*$")
_FENCE = re.compile(r"^\s*```")
_TOP = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def documents(root: Path = ROOT) -> dict[str, str]:
    """Return the pages of the repository's documents, by path in the site; README is the first."""
    found = {"index.md": "README.md", **{name.lower(): name for name in _TOP}}
    for path in sorted((root / "docs").rglob("*.md")):
        found[str(path.relative_to(root / "docs"))] = str(path.relative_to(root))
    places = {source: page for page, source in found.items()}
    places |= {str(path.relative_to(root)): path.name for path in (root / "docs").glob("*.svg")}
    for path in sorted((root / "spec").glob("*.py")):
        places[str(path.relative_to(root))] = f"spec/{module_page(path.stem)}"
    return {
        page: page_of(source, (root / source).read_text(encoding="utf-8"), places)
        for page, source in found.items()
    }


def module_page(stem: str) -> str:
    """Return the name of the page of a module of ``spec``."""
    return "index.md" if stem == "__init__" else f"{stem}.md"


def page_of(source: str, text: str, places: Mapping[str, str]) -> str:
    """Return the page of a document, with the anchors that GitHub gives its headings.

    ``places`` has the page, or the picture, of each file of the repository that the site has.
    """
    here = places[source]
    used: set[str] = set()
    lines = []
    is_code = False
    for line in text.splitlines():
        is_code ^= bool(_FENCE.match(line))
        heading = None if is_code else _HEADING.match(line)
        new = line if is_code or line.startswith("    ") else _linked(line, source, here, places)
        if heading:
            new = f"{_linked(heading[0], source, here, places)} {{ #{_anchor(heading[2], used)} }}"
        lines.append(new)
    return "\n".join(lines) + "\n"


def slug(heading: str) -> str:
    """Return the anchor of a heading as GitHub has it."""
    words = _LINK.sub(r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def links(page: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the page, or picture, and the anchor of each link of a page that stays in the site."""
    is_code = False
    for line in text.splitlines():
        is_code ^= bool(_FENCE.match(line))
        if is_code or line.startswith("    "):
            continue
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", line):
            if not target.startswith(("http:", "https:", "mailto:")):
                place = posixpath.join(posixpath.dirname(page), target) if target else page
                yield posixpath.normpath(place), anchor


def anchors(text: str) -> Collection[str]:
    """Return the anchors of a page."""
    return set(re.findall(r"\{ #([^ }]+) \}", text))


def _anchor(heading: str, used: set[str]) -> str:
    name = slug(heading)
    number, anchor = 0, name
    while anchor in used:
        number += 1
        anchor = f"{name}-{number}"
    used.add(anchor)
    return anchor


def _linked(line: str, source: str, here: str, places: Mapping[str, str]) -> str:
    def link(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path not in places:
            return text
        way = posixpath.relpath(places[path], posixpath.dirname(here) or ".")
        return f"[{text}]({way}{anchor})"

    line = re.sub(r"!\[([^\]]*)\]\(docs/([^)]+\.svg)\)", r"![\1](\2)", line)
    return _LINK.sub(link, line)
