"""Deviations by their probable cause: one group for each, the simplest and gravest first."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import attrs

from conformance.campaign import Fault
from conformance.deviation import UNREADABLE
from judge.finding import CRASHED
from judge.words import many, printable
from model.guards import Difference
from model.rules import RULES

C_co = TypeVar("C_co", covariant=True)

_NO_ANSWER = {CRASHED, UNREADABLE, Difference.EXCEPTION.name}
_GRAVE = {rule.name for rules in RULES.values() for rule in rules.values() if rule.grave}
"""What can lose a record or deliver one wrongly."""


@attrs.frozen
class FaultGroup(Generic[C_co]):
    """The deviations of one probable cause, the simplest first: the forms in which it shows."""

    forms: tuple[Fault[C_co], ...]

    @property
    def first(self) -> Fault[C_co]:
        """Return the simplest form."""
        return self.forms[0]

    @property
    def vectors(self) -> int:
        """Return how many vectors showed it."""
        return sum(bool(fault.deviation.vector) for fault in self.forms)

    @property
    def sequences(self) -> int:
        """Return how many random sequences showed it."""
        seen = {f.deviation.signature: f.seen for f in self.forms if not f.deviation.vector}
        return sum(seen.values())

    @property
    def title(self) -> str:
        """Return the cause in words: the transition and the difference, or the rule."""
        deviation = self.first.deviation
        transition, *rest = deviation.probable_cause
        if transition == deviation.name:
            return f"{deviation.where}: {deviation.sentence}"
        return printable(": ".join((transition, *rest)))

    @property
    def often(self) -> str:
        """Return how often and in how many forms it showed, in words."""
        parts = [
            *([many(self.vectors, "vector")] if self.vectors else []),
            *([many(self.sequences, "random sequence")] if self.sequences else []),
        ]
        return f"{' and '.join(parts)}, in {many(len(self.forms), 'form')}"


def grouped(faults: Sequence[Fault[C_co]]) -> tuple[FaultGroup[C_co], ...]:
    """Return the groups of deviations, the gravest and of these the simplest first."""
    causes: dict[tuple[str, ...], list[Fault[C_co]]] = {}
    for fault in faults:
        causes.setdefault(fault.deviation.probable_cause, []).append(fault)
    groups = (FaultGroup(tuple(sorted(forms, key=_simplicity))) for forms in causes.values())
    return tuple(sorted(groups, key=_order))


def _simplicity(fault: Fault[object]) -> tuple[object, ...]:
    """Return what sorts the forms: the shortest; of these a vector, at its point."""
    deviation = fault.deviation
    return (
        len(fault.steps),
        not deviation.vector,
        deviation.rests_on is None,
        len(fault.kinds),
        deviation.signature,
        fault.kinds,
    )


def _order(group: FaultGroup[object]) -> tuple[object, ...]:
    first, name = group.first, group.first.deviation.name
    often = group.vectors + group.sequences
    return (
        name not in _NO_ANSWER,
        name not in _GRAVE,
        len(first.steps),
        -often,
        first.deviation.probable_cause,
    )
