"""The table of proved properties, as a document shows it."""

from model.errors import InvalidValueError
from proofs.catalogue import THEOREMS
from proofs.theorem import Theorem
from proofs.transitions import TRANSITIONS

__all__ = ["BEGIN", "END", "properties_table", "with_table"]

BEGIN = "<!-- begin: proved properties, written by proofs.table -->"
END = "<!-- end: proved properties -->"
_OF_A_RECORD = (*(transition.name for transition in TRANSITIONS), "recover")
_FEW = 3
_HEAD = ("| Property | Proved of | KIP section | No. |", "|---|---|---|---|")


def properties_table() -> str:
    """Return one row for each sentence: what is proved, of which transitions, and its source."""
    rows: dict[tuple[str, str, tuple[int, ...]], list[Theorem]] = {}
    for theorem in THEOREMS:
        stated = theorem.property
        rows.setdefault((stated.sentence, stated.source, stated.numbers), []).append(theorem)
    lines = [
        f"| {sentence} | {_transitions(about)} | {source} | {', '.join(map(str, numbers)) or '–'} |"
        for (sentence, source, numbers), about in rows.items()
    ]
    return "\n".join([*_HEAD, *lines])


def with_table(document: str) -> str:
    """Return the document with the table as it is now between its two markers."""
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise InvalidValueError("document", document, f"one {BEGIN} and one {END}")
    before, rest = document.split(BEGIN)
    _old, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{properties_table()}\n\n{END}{after}"


def _transitions(theorems: list[Theorem]) -> str:
    names = dict.fromkeys(theorem.transition for theorem in theorems)
    left_out = [name for name in _OF_A_RECORD if name not in names]
    if len(left_out) > _FEW:
        return ", ".join(names)
    but = f" but {', '.join(left_out)}" if left_out else ""
    return f"every transition of a record{but}"
