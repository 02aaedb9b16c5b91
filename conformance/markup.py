"""Build HTML from parts; all text is escaped."""

import html
from collections.abc import Sequence

import attrs


@attrs.frozen
class Markup:
    """Escaped HTML; only ``tag`` and ``joined`` create it."""

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
