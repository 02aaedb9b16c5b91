"""The packages of the project: what each may import, how long it may be, where it names rules.

``rooms.toml`` has the table. ``python -m tools.rooms``, a part of ``make lint``, lists what breaks
it.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import attrs

from model.guards import Guard
from report import markdown

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".toml")

MODULE_LINES = 500
"""How long a module may be."""

_IMPORTING = ("import_module", "_import")
"""How the names of functions end that import a module by its name."""


@attrs.frozen
class Room:
    """A package of the project, whose modules together may have ``lines`` lines."""

    name: str
    purpose: str
    imports: frozenset[str]
    lines: int


def read_rooms() -> tuple[Room, ...]:
    """Return the table, from the lowest package up."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["room"]
    return tuple(
        Room(name, row["purpose"], frozenset(row["imports"]), row["lines"])
        for name, row in rows.items()
    )


def modules(package: str) -> list[Path]:
    """Return the modules of a package, sorted by path."""
    return sorted(ROOT.joinpath(package).rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield what the imports of a module name, wherever in it they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_IMPORTING):
            yield ast.unparse(node.args[0]).strip("'\"")


def forbidden(room: Room, rooms: Iterable[Room], source: str) -> set[str]:
    """Return the imports that a room forbids: of rooms further up, and relative ones."""
    ours = {each.name for each in rooms}
    tops = {name.split(".")[0] for name in imported(ast.parse(source))}
    allowed = {room.name, *room.imports}
    return {top for top in tops if not top or (top in ours and top not in allowed)}


def wrong_in(room: Room, rooms: tuple[Room, ...]) -> Iterator[str]:
    """Yield in words what breaks the limits of a room."""
    total = 0
    for path in modules(room.name):
        source, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
        length = len(source.splitlines())
        total += length
        if length > MODULE_LINES:
            yield f"{name}: {length} lines; a module has at most {MODULE_LINES}"
        for top in sorted(forbidden(room, rooms, source)):
            allowed = ", ".join(sorted(room.imports)) or "nothing of the project"
            yield f"{name}: imports {top or 'relatively'}; {room.name} may import {allowed}"
    if total > room.lines:
        yield f"{room.name}: {total} lines; tools/rooms.toml grants {room.lines}"


def wrong_names(sources: Iterable[str]) -> Iterator[str]:
    """Yield in words which names of classes stand more than once."""
    trees = (ast.walk(ast.parse(source)) for source in sources)
    count = Counter(node.name for tree in trees for node in tree if isinstance(node, ast.ClassDef))
    for name, times in sorted(count.items()):
        if times > 1:
            yield f"class {name} stands {times} times; a name stands once"


def wrong_spread(texts: Iterable[str], rules: Iterable[str], most: int, middle: float) -> list[str]:
    """Return in words which rules are named in too many files, and a median that is too high."""
    words = [frozenset(re.findall(r"\w+", text)) for text in texts]
    count = {rule: sum(rule in named for named in words) for rule in rules}
    usual = median(count.values())
    high = [f"a rule is named in {usual} files, as the median; at most {middle}"]
    return [
        *(f"{rule} is named in {n} files; at most {most}" for rule, n in count.items() if n > most),
        *(high if usual > middle else []),
    ]


def wrong() -> list[str]:
    """Return in words what breaks the table."""
    rooms, files = read_rooms(), tomllib.loads(TABLE.read_text(encoding="utf-8"))["files"]
    product = [room for room in rooms if room.name != "tests"]
    sources = [path.read_text(encoding="utf-8") for room in product for path in modules(room.name)]
    broken = [line for room in rooms for line in wrong_in(room, rooms)]
    paths = (path for room in product for path in ROOT.joinpath(room.name).rglob("*.toml"))
    texts = [*sources, *(path.read_text(encoding="utf-8") for path in paths)]
    spread = wrong_spread(texts, Guard.__members__, files["most"], files["median"])
    return [*broken, *wrong_names(sources), *spread]


def table() -> str:
    """Return the rooms as a Markdown table."""
    rows = (
        (f"`{r.name}`", r.purpose, ", ".join(sorted(r.imports)) or "–", f"{r.lines:,}")
        for r in read_rooms()
    )
    lines = "Lines, at most"
    return markdown.table(("Package", "What it is for", "May import", lines), rows, (lines,))


if __name__ == "__main__":
    lines = wrong()
    sys.exit("\n".join(lines) or None)
