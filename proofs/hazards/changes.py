"""Changes of the draft's text, and which hazards each is needed for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from proofs.hazards.hazard import Hazard, HazardSearch, as_written


@attrs.frozen
class TextChange:
    """A change of the draft's text: where, what it should say, and the readings that it decides."""

    where: str
    text: str
    readings: Mapping[str, Any]


@attrs.frozen
class Ranked:
    """A change, with the names of the hazards that it removes.

    ``alone``: those that are gone if nothing else is changed. ``needed``: those that remain if
    every other change is made and this one is not.
    """

    change: TextChange
    alone: tuple[str, ...]
    needed: tuple[str, ...]


def ranked(changes: Sequence[TextChange], hazards: Sequence[Hazard]) -> tuple[Ranked, ...]:
    """Search the draft with each change alone, and with all but each; most needed first."""
    every = gone(changes, hazards)

    def rank(change: TextChange) -> Ranked:
        rest = gone([other for other in changes if other is not change], hazards)
        needed = tuple(name for name in every if name not in rest)
        return Ranked(change, gone([change], hazards), needed)

    return tuple(sorted(map(rank, changes), key=lambda each: -len(each.needed)))


def gone(changes: Sequence[TextChange], hazards: Sequence[Hazard]) -> tuple[str, ...]:
    """Return the names of the hazards that cannot occur where the text is changed so."""
    readings = {name: value for change in changes for name, value in change.readings.items()}
    return tuple(h.name for h in hazards if is_gone(as_written(c, readings) for c in h.cases))


def is_gone(searches: Iterable[HazardSearch]) -> bool:
    """Return whether a hazard occurs in none of its cases, all of which were searched whole."""
    return all(found.violation is None and not found.unfinished for found in searches)
