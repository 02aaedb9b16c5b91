"""Changes of the draft's text, and which hazards each is needed for."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from proofs.hazards.hazard import Hazard, as_written


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
    return tuple(hazard.name for hazard in hazards if _is_gone(hazard, readings))


def _is_gone(hazard: Hazard, readings: Mapping[str, Any]) -> bool:
    searches = (as_written(case, readings) for case in hazard.cases)
    return all(found.violation is None and not found.unfinished for found in searches)
