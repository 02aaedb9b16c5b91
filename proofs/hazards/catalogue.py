"""All hazards and the worlds in which they are searched, as ``hazards.toml`` lists them."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from proofs.hazards import properties
from proofs.hazards.draft_consumer import Given
from proofs.hazards.hazard import Hazard, HazardCase, TextChange, reading_of
from proofs.hazards.world import HazardAct, HazardMove, HazardProperty, HazardWorld


def hazard_named(name: str) -> Hazard:
    """Return the hazard of this name; raise InvalidValueError listing the names if none has it."""
    for hazard in HAZARDS:
        if hazard.name.lower() == name.lower():
            return hazard
    raise InvalidValueError("hazard", name, ", ".join(hazard.name for hazard in HAZARDS))


def _moves(names: list[str]) -> frozenset[HazardMove]:
    return frozenset(HazardMove[name.upper()] for name in names)


def _act(told: dict[str, Any]) -> HazardAct:
    given = {"given": Given(*told["given"])} if "given" in told else {}
    return HazardAct(**{**told, **given, "move": HazardMove[told["move"].upper()]})


def _readings(told: list[str]) -> dict[str, Any]:
    return dict(map(reading_of, told))


def _property(name: str) -> HazardProperty:
    found: HazardProperty = getattr(properties, name)
    return found


_READ: Mapping[str, Callable[[Any], Any]] = {
    "moves": _moves,
    "slow": _moves,
    "members": tuple,
    "answers": lambda names: tuple(ErrorCode[name.upper()] for name in names),
    "config": lambda settings: SharePartitionConfig(**settings),
    "holds": _property,
    "bound": _property,
    "options": _readings,
    "beside": _readings,
    "then": lambda acts: tuple(map(_act, acts)),
}
"""How each field of a case or a world is read; what is not named is as it is."""


def _case(told: dict[str, Any]) -> HazardCase:
    control = told.pop("control", None)
    named = {field.name for field in attrs.fields(HazardCase)}
    world = _world({name: told[name] for name in told if name not in named})
    fields = _fields({name: told[name] for name in told if name in named})
    if control is not None:
        where = control.pop("where")
        fields["control"] = where, attrs.evolve(world, **_fields(control))
    return HazardCase(world, **fields)


def _fields(told: dict[str, Any]) -> dict[str, Any]:
    return {n: _READ[n](value) if n in _READ else value for n, value in told.items()}


def _hazard(told: dict[str, Any]) -> Hazard:
    cases = tuple(map(_case, told.pop("case")))
    return Hazard(**told, cases=cases)


def _world(told: dict[str, Any]) -> HazardWorld:
    return HazardWorld(**_fields(told))


_LISTED = tomllib.loads(Path(__file__).with_name("hazards.toml").read_text(encoding="utf-8"))

HAZARDS = tuple(map(_hazard, _LISTED["hazard"]))
"""Z1 to Z23, in the order of their numbers."""

CHANGES = tuple(
    TextChange(told["where"], told["text"], _readings(told["readings"]))
    for told in _LISTED["change"]
)
"""The changes of the draft's text that we propose, which decide every reading."""

TOGETHER = tuple(map(_world, _LISTED["together"]))
"""Larger worlds, in which much happens at once."""

UNMARKED = _world(_LISTED["unmarked"])
"""A world in which nobody marks a record and writes are lost."""
