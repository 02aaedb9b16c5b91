"""Observations and facts as rows: JSON lines.

A row has ``observed``, the kind of an observation or of a fact, and the fields that are not as they
are by default; docs/observed.md lists them.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

import attrs

from model.checks import MAX_INT64
from model.errors import InvalidValueError
from replay.observed.observation import (
    EpochRun,
    Fact,
    Facts,
    Kind,
    Lapse,
    ListedBroker,
    LogExtent,
    NamedTopic,
    Observation,
    SentRun,
    SessionChange,
    SessionEvent,
    SettingEvent,
    of_kind,
)

_KINDS = {kind.value: kind for kind in Kind}
_NESTED = ("kind", "ranges")
"""Fields of an observation that are no plain values."""

FACTS: dict[str, type[Fact]] = {
    "session": SessionEvent,
    "setting": SettingEvent,
    "run": EpochRun,
    "sent": SentRun,
    "gap": Lapse,
    "extent": LogExtent,
    "name": NamedTopic,
    "node": ListedBroker,
}
"""The kinds of rows that are facts, in the order in which they are written."""


@cache
def _types(item: type) -> list[tuple[str, tuple[type, ...]]]:
    """Return the types of each field that holds a plain value; an integer may stand for a float."""
    plain = [field for field in attrs.fields(item) if field.name not in _NESTED]
    types = [(field.name, get_args(field.type) or (field.type,)) for field in plain]
    return [(name, (float, int) if float in some else some) for name, some in types]


def observation_of(row: Mapping[str, Any]) -> Observation:
    """Return the observation of a row. Raises InvalidValueError."""
    values = {name: value for name, value in row.items() if value is not None}
    kind = values.pop("observed", None)
    if kind not in _KINDS:
        raise InvalidValueError("observed", kind, ", ".join(sorted(_KINDS)))
    if "status" in row and row["status"] is None:
        values["status"] = None
    try:
        ranges = tuple(tuple(part) for part in values.pop("ranges", ()))
        each = Observation(kind=Kind(kind), ranges=ranges, **values)
    except TypeError as error:
        raise InvalidValueError("observation", row, f"the fields of one: {error}") from None
    _check_types(each)
    _check_ranges(each)
    return each


def line_of(each: Observation) -> str:
    """Return an observation as a line of JSON, without what is as it is by default."""
    told = attrs.asdict(each, recurse=False, filter=lambda field, value: value != field.default)
    return json.dumps({"observed": told.pop("kind"), **told}, separators=(",", ":"))


def fact_lines(facts: Facts) -> list[str]:
    """Return facts as lines of JSON."""
    known = [
        (kind, fact)
        for kind, of in FACTS.items()
        for fact in (sorted(set(of_kind(of, facts))) if of is ListedBroker else of_kind(of, facts))
    ]
    rows = ({"observed": kind, **attrs.asdict(fact)} for kind, fact in known)
    lines = [json.dumps(row, separators=(",", ":")) for row in rows]
    return lines + [line_of(each) for each in of_kind(Observation, facts)]


def fact_of(row: Mapping[str, Any]) -> Fact | None:
    """Return the fact of a row; None if it is an observation. Raises InvalidValueError."""
    values = dict(row)
    kind = values.pop("observed", None)
    if not isinstance(kind, str | None):
        raise InvalidValueError("observed", kind, ", ".join(sorted({*FACTS, *_KINDS})))
    if kind not in FACTS:
        return None
    try:
        if kind == "session":
            values["change"] = SessionChange(values["change"])
        fact = FACTS[kind](**values)
        _check_types(fact)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValueError("fact", dict(row), f"the fields of one: {error}") from None
    return fact


def _check_types(item: object) -> None:
    """Refuse a value that is not of its field's type."""
    for name, allowed in _types(type(item)):  # type: ignore[arg-type] # a class
        _check_type(name, getattr(item, name), allowed)


def _check_type(name: str, value: Any, allowed: tuple[type, ...]) -> None:  # noqa: ANN401 - of JSON
    """Refuse a value of another type, and NaN and Infinity, which Python reads in JSON."""
    is_number = isinstance(value, int | float)
    if type(value) not in allowed or (is_number and not abs(value) <= MAX_INT64):
        names = " or ".join(each.__name__ for each in allowed)
        raise InvalidValueError(name, value, f"{names}, no number above {MAX_INT64}")


def _check_ranges(each: Observation) -> None:
    width = {Kind.ACQUIRE: 3, Kind.ACKNOWLEDGE: 3}.get(each.kind, 4)
    for part in each.ranges:
        whole = all(type(number) is int and 0 <= number < MAX_INT64 for number in part)
        if len(part) != width or not whole or part[1] < part[0]:
            raise InvalidValueError("ranges", part, f"{width} numbers, the first two ascending")
