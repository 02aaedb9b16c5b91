"""All hazards, in the order of their numbers."""

import re

from model.errors import InvalidValueError
from proofs.hazards import durable, marking, timing
from proofs.hazards.hazard import Hazard


def _number(hazard: Hazard) -> tuple[int, str]:
    parts = re.fullmatch(r"Z(\d+)(\w?)", hazard.name)
    assert parts is not None  # noqa: S101 - every name is of that form
    return int(parts[1]), parts[2]


HAZARDS = tuple(sorted((*durable.HAZARDS, *timing.HAZARDS, *marking.HAZARDS), key=_number))
"""Z1 to Z23."""


def hazard_named(name: str) -> Hazard:
    """Return the hazard of this name; raise InvalidValueError listing the names if none has it."""
    for hazard in HAZARDS:
        if hazard.name.lower() == name.lower():
            return hazard
    raise InvalidValueError("hazard", name, ", ".join(hazard.name for hazard in HAZARDS))
