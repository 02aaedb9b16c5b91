"""What the KIP texts name, and the functions, proofs and tests that cover it."""

import ast
import importlib
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import attrs

from proofs.theorems.catalogue import THEOREMS
from report import markdown

MARKS = ("core", "supporting", "data")
"""Core: the rules of a share-partition; supporting: what they rest on; data: names and numbers."""

_ROOT = Path(__file__).parents[2]


@attrs.frozen
class CoverageItem:
    """One thing that a KIP names.

    ``functions`` are module:name, ``properties`` those of the theorems, ``tests`` path::name.
    ``missing`` says what of it they do not do; ``reason`` why there is neither.
    """

    section: str
    kip: str
    what: str
    mark: str
    functions: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    properties: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    tests: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    reason: str = ""
    missing: str = ""


def covered(item: CoverageItem) -> bool:
    """Whether all of an item has functions that do it, and tests."""
    return bool(item.functions and item.tests) and not item.missing


def items() -> tuple[CoverageItem, ...]:
    """Return the inventory in its order."""
    table = tomllib.loads(Path(__file__).with_name("coverage.toml").read_text(encoding="utf-8"))
    return tuple(CoverageItem(**row) for row in table["item"])


def wrong(item: CoverageItem) -> Iterator[str]:
    """Yield what is wrong with an item."""
    if item.mark not in MARKS:
        yield f"mark is {item.mark}; allowed: {', '.join(MARKS)}"
    if not (item.functions and item.tests) and not item.reason:
        yield "it has neither functions and tests nor a reason"
    for function in item.functions:
        named = _named(function)
        if named is None:
            yield f"there is no {function}"
        elif item.mark == "data" and not callable(named):
            yield f"{function} is a constant, which does nothing"
    proved = {theorem.property.name for theorem in THEOREMS}
    yield from (f"no theorem is about {name}" for name in item.properties if name not in proved)
    for test in item.tests:
        path, _, name = test.partition("::")
        if name not in names_of_tests(_ROOT / path):
            yield f"there is no {test}"


def totals() -> str:
    """Return how many items of each mark are covered."""
    counts = []
    for mark in MARKS:
        marked = [item for item in items() if item.mark == mark]
        counts.append(f"{sum(map(covered, marked))} of {len(marked)} {mark}")
    return f"Covered by functions and tests: {', '.join(counts)} items."


def sections() -> str:
    """Return a table for each section."""
    columns = "What", "Where", "Mark", "Functions", "Proved", "Tests"
    parts = (
        f"## {section}\n\n{markdown.table(columns, map(_row, rows))}"
        for section, rows in groupby(items(), key=lambda item: item.section)
    )
    return "\n\n".join(parts)


def not_covered() -> str:
    """Return a table of what is not covered, or not all of it."""
    rest = (item for item in items() if not covered(item))
    rows = ((each.what, each.kip, each.mark, each.missing or each.reason) for each in rest)
    return markdown.table(("What", "Where", "Mark", "What is missing, or why"), rows)


def _named(function: str) -> object | None:
    """Return what has that name; None if nothing has."""
    module, _, name = function.partition(":")
    try:
        named: object = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError:
        return None
    return named


@cache
def names_of_tests(path: Path) -> frozenset[str]:
    """Return the names of the functions of a module; none where there is no such file."""
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _row(item: CoverageItem) -> tuple[str, ...]:
    functions = ", ".join(f"`{name.replace(':', '.')}`" for name in item.functions)
    tests = ", ".join(_link(test) for test in item.tests)
    return (
        item.what,
        item.kip,
        item.mark,
        " ".join(filter(None, (functions, item.reason, _partly(item)))),
        ", ".join(name.replace("_", " ") for name in item.properties) or "–",
        tests or "–",
    )


def _partly(item: CoverageItem) -> str:
    return "([in part](#not-covered))" if item.missing else ""


def _link(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../{path})"
