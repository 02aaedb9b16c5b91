"""What the proofs alone notice of mutants: the table of a measurement, as docs/proofs.md shows it.

The measurement takes long, so its numbers are kept in ``proof_scores.json``: ``python -m
tools.mutation --checks import,proofs --sample NUMBER --seed SEED MODULE`` prints them.
"""

import json
from pathlib import Path
from typing import Any

from model.errors import InvalidValueError
from tools.documents.parts import with_part

BEGIN, END = "<!-- begin: mutants and proofs -->", "<!-- end: mutants and proofs -->"
MEASURED = Path(__file__).with_suffix(".json")
_HEAD = (
    "| Module | Mutants | Tried | Killed by proofs | Equivalent | Survived | Share | Commit |",
    "|---|--:|--:|--:|--:|--:|--:|---|",
)
_SURVIVORS = ("| Survivor | | Why |", "|---|---|---|")


def measured(path: Path = MEASURED) -> dict[str, Any]:
    """Return the measurement; raise InvalidValueError unless its numbers add up."""
    measurement: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for module, numbers in measurement["modules"].items():
        known = numbers["killed"] + numbers["equivalent"] + _survived(measurement, module)
        if known != numbers["tried"]:
            allowed = f"the killed, the equivalent and the survivors, {known}"
            raise InvalidValueError(f"{module} tried", numbers["tried"], allowed)
    return measurement


def with_scores(document: str) -> str:
    """Return the document with the table of mutants and proofs between its markers."""
    measurement = measured()
    rows = [
        _row(measurement, module, numbers) for module, numbers in measurement["modules"].items()
    ]
    total = {
        name: sum(numbers[name] for numbers in measurement["modules"].values())
        for name in ("mutants", "tried", "killed", "equivalent")
    }
    survivors = [
        f"| `{module}`, `{function}` | `{_shown(before)}` → `{_shown(after)}` | {group['reason']} |"
        for group in measurement["survivors"]
        for module, function, before, after, _occurrence in group["mutants"]
    ]
    lines = [
        *_HEAD,
        *rows,
        _cells(f"these {len(rows)}", {**total, "commit": ""}, len(survivors)),
        "",
        *_SURVIVORS,
        *survivors,
    ]
    return with_part(document, BEGIN, END, "\n".join(lines))


def _survived(measurement: dict[str, Any], module: str) -> int:
    return sum(key[0] == module for group in measurement["survivors"] for key in group["mutants"])


def _row(measurement: dict[str, Any], module: str, numbers: dict[str, Any]) -> str:
    return _cells(f"`{module}`", numbers, _survived(measurement, module))


def _cells(name: str, numbers: dict[str, Any], survived: int) -> str:
    counts = (numbers[key] for key in ("mutants", "tried", "killed", "equivalent"))
    share = 1000 * numbers["killed"] // max(1, numbers["killed"] + survived) / 10
    cells = name, *counts, survived, f"{share:g} %", numbers["commit"]
    return f"| {' | '.join(map(str, cells))} |"


def _shown(text: str) -> str:
    return text.replace("|", "\\|")
