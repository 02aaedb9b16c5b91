"""The tables of docs/proofs.md: what the theorems notice of each module, and what they do not."""

import re
from collections.abc import Iterable, Mapping

from report import markdown
from tools.documents.parts import with_parts
from tools.mutation.mutants import Key

TABLE, SURVIVORS = "mutants that theorems notice", "mutants that no theorem notices"
_COUNTS = (
    *("Mutants", "Tried", "Killed by a numbered property", "Otherwise", "Equivalent", "Survived"),
    "Share",
)
_NUMBERED = re.compile(r"AssertionError: \(\d")
"""How ``tests/mutants/theorems.py`` begins to tell of a theorem that has a number."""


def with_scores(
    document: str,
    fates: Mapping[Key, tuple[str, str]],
    sizes: Mapping[str, int],
    equivalent: Iterable[Key],
    origin: tuple[str, str],
) -> str:
    """Return the document with the rows of these modules, and others as they are.

    ``fates``: what killed a mutant and what it said, or empty texts. ``sizes``: of how many mutants
    they are a sample, by module. ``origin``: the commit and the date. A survivor that was listed
    keeps the reason that somebody wrote.
    """
    listed, rows = set(equivalent), _rows(document, TABLE)
    reasons = {row[:2]: row[2] for row in _rows(document, SURVIVORS).values()}
    kept = {row: why for row, why in reasons.items() if row[0].split("`")[1] not in sizes}
    for module, size in sizes.items():
        tried = {key: fate for key, fate in fates.items() if key[0] == module}
        alive = [key for key, (by, _said) in tried.items() if not by and key not in listed]
        numbered = sum(bool(_NUMBERED.search(said)) for _by, said in tried.values())
        same = sum(not by and key in listed for key, (by, _said) in tried.items())
        counts = size, len(tried), numbered, len(tried) - numbered - same - len(alive), same
        rows[f"`{module}`"] = _row(f"`{module}`", (*counts, len(alive)), *origin)
        for _module, function, before, after, _number in alive:
            cells = (f"`{module}`, `{function}`", f"`{before}` → `{after}`".replace("|", "\\|"))
            kept[cells] = reasons.get(cells, "Not looked into.")
    rows.pop("all", None)
    columns = zip(*(map(int, row[1:7]) for _name, row in sorted(rows.items())), strict=True)
    every = [row for _name, row in sorted(rows.items())]
    every.append(_row("all", tuple(map(sum, columns)), "", ""))
    survivors = ((*row, why) for row, why in sorted(kept.items()))
    return with_parts(
        document,
        {
            TABLE: markdown.table(("Module", *_COUNTS, "Commit", "Date"), every, _COUNTS),
            SURVIVORS: markdown.table(("Survivor", "", "Why"), survivors),
        },
    )


def _row(name: str, counts: tuple[int, ...], commit: str, date: str) -> tuple[str, ...]:
    _size, tried, numbered, _otherwise, same, _alive = counts
    share = f"{100 * numbered / max(tried - same, 1):.1f} %"
    return name, *map(str, counts), share, commit, date


def _rows(document: str, part: str) -> dict[str, tuple[str, ...]]:
    """Return the rows of a table that stands in the document, by their first two cells' text."""
    inside = document.partition(f"begin: {part} -->")[2].partition(f"<!-- end: {part}")[0]
    lines = [line for line in inside.strip().splitlines() if line.startswith("|")][2:]
    cells = (re.split(r"(?<!\\)\|", line)[1:-1] for line in lines)
    rows = [tuple(cell.strip() for cell in row) for row in cells]
    return {row[0] if part == TABLE else " ".join(row[:2]): row for row in rows}
