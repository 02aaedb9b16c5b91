"""The draft read otherwise: which hazards remain if some of its sentences are changed."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs

from model.errors import InvalidValueError
from proofs.hazards.draft_readings import DRAFT_LITERAL, MENDED, Readings
from proofs.hazards.hazard import Hazard, HazardCase, searched
from proofs.hazards.machine import draft_machine
from proofs.hazards.world import Setting

NAMES = tuple(field.name for field in attrs.fields(Readings))
_FLAGS = {"yes": True, "no": False}


@attrs.frozen
class Remainder:
    """What a case of a hazard is where the draft is read otherwise.

    ``steps`` are those of its shortest run, or None: then ``states`` are all that there are, unless
    ``unfinished`` says why the search did not see all.
    """

    title: str
    steps: int | None
    states: int
    unfinished: str | None


def reading_of(text: str) -> tuple[str, Any]:
    """Read ``NAME``, which is answered as draft_resolved answers it, or ``NAME=VALUE``.

    Raises InvalidValueError that names what is allowed.
    """
    name, given, value = text.partition("=")
    if name not in NAMES:
        raise InvalidValueError("reading", name, f"one of {', '.join(NAMES)}")
    mended = getattr(MENDED, name)
    if not given:
        return name, mended
    known = {each.name.lower(): each for each in type(mended)} if _is_enum(mended) else _FLAGS
    if value.lower() not in known:
        raise InvalidValueError(name, value, " or ".join(known))
    return name, known[value.lower()]


def _is_enum(value: object) -> bool:
    return isinstance(value, Enum)


def remainders(hazard: Hazard, changed: Mapping[str, Any]) -> tuple[Remainder, ...]:
    """Search each case of a hazard in the draft as written, but for what is changed."""
    return tuple(_remainder(case, changed) for case in hazard.cases)


def _remainder(case: HazardCase, changed: Mapping[str, Any]) -> Remainder:
    # Where the text leaves a question open, a case has the reading that it is about.
    readings = attrs.evolve(DRAFT_LITERAL, **{**case.beside, **case.options, **changed})
    result = searched(Setting(case.world, draft_machine(readings), readings, case.holds))
    steps = None if result.violation is None else len(result.violation.labels)
    return Remainder(case.title, steps, result.states, result.unfinished if steps is None else None)
