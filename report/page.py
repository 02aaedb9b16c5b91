"""HTML pages that need no other file and no network, of elements in which all text is escaped.

The policy of a page lets nothing but its own script and style run, and nothing load.
"""

import html
import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

import attrs

from judge.words import printable

MAX_TITLE = 600
"""How many characters a title has."""


@attrs.frozen
class Markup:
    """Escaped HTML; only ``tag``, ``joined`` and ``own_text`` create it."""

    text: str


Child = Markup | str | int | Sequence["Child"]

_EMPTY = frozenset({"meta", "col"})
"""Elements without an end tag."""


def tag(name: str, /, *children: Child, **attributes: str) -> Markup:
    """Return an element; ``class_`` is the attribute class, and an underscore becomes a dash."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for key, value in attributes.items()
    )
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children).text}</{name}>")


def joined(*children: Child) -> Markup:
    """Concatenate the children."""
    return Markup("".join(_text(child) for child in children))


def _text(child: Child) -> str:
    if isinstance(child, Markup):
        return child.text
    if isinstance(child, str | int):
        return html.escape(str(child))
    return "".join(_text(part) for part in child)


def own_text(package: str, name: str) -> Markup:
    """Return a file of this project, beside the modules of a package: a style, script or body."""
    return Markup(files(package).joinpath(name).read_text(encoding="utf-8"))


def data_script(value: object) -> Markup:
    """Return a value as JSON in an element that a script reads by the id ``data``."""
    return tag("script", Markup(_embedded(value)), type="application/json", id="data")


def _embedded(value: object) -> str:
    """Return JSON in which no text can end its element or begin a comment."""
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def page_text(
    title: str, body: Sequence[Child], *, style: Markup, script: Markup, data: Child = ()
) -> str:
    """Return a page whose main part is ``body``; ``style`` adds to that of every page."""
    whole = joined(own_text(__package__, "page.css"), style)
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(whole)}; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", printable(title, MAX_TITLE)),
        tag("style", whole),
    )
    shown = tag("body", tag("main", body), data, tag("script", script))
    return joined(Markup("<!doctype html>\n"), tag("html", head, shown, lang="en")).text


def _digest(text: Markup) -> str:
    return f"'sha256-{b64encode(sha256(text.text.encode()).digest()).decode()}'"
