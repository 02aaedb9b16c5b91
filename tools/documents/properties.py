"""The tables of proved properties, as documents show them."""

import re
from pathlib import Path

from proofs.theorems.catalogue import THEOREMS
from proofs.theorems.record_operations import TRANSITIONS
from proofs.theorems.theorem import Theorem
from report import markdown

REGISTER = Path(__file__).parents[2] / "docs" / "properties.md"
_PROVED = re.compile(r"^\| (\d+) \| (.+?) \| Proved(.*?) \|$", re.MULTILINE)
_OF_A_RECORD = (*(transition.name for transition in TRANSITIONS), "recover")
_FEW = 3


def properties_table() -> str:
    """Return one row for each sentence: what is proved, of which transitions, and its source."""
    rows: dict[tuple[str, str, tuple[int, ...]], list[Theorem]] = {}
    for theorem in THEOREMS:
        stated = theorem.property
        rows.setdefault((stated.sentence, stated.source, stated.numbers), []).append(theorem)
    cells = (
        (sentence, _transitions(about), source, ", ".join(map(str, numbers)) or "–")
        for (sentence, source, numbers), about in rows.items()
    )
    return markdown.table(("Property", "Proved of", "KIP section", "No."), cells)


def summary_table() -> str:
    """Return one row for each property of the register that is proved, with how many theorems.

    Where the register says of what it is proved, the row does too.
    """
    rows = (
        (
            number,
            f"{sentence} Proved{extent}." if extent.startswith(" ") else sentence,
            str(sum(int(number) in theorem.property.numbers for theorem in THEOREMS)),
        )
        for number, sentence, extent in _PROVED.findall(REGISTER.read_text(encoding="utf-8"))
    )
    return markdown.table(("No.", "Property", "Theorems"), rows)


def _transitions(theorems: list[Theorem]) -> str:
    names = dict.fromkeys(theorem.transition for theorem in theorems)
    left_out = [name for name in _OF_A_RECORD if name not in names]
    if len(left_out) > _FEW:
        return ", ".join(names)
    but = f" but {', '.join(left_out)}" if left_out else ""
    return f"every transition of a record{but}"
