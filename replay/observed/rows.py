"""Observations and facts as rows: JSON lines, and Arrow columns.

A row has ``observed``, the kind of an observation or of a fact, and the fields that are not as they
are by default; docs/observed.md lists them.
"""

import json
from collections.abc import Mapping
from typing import Any

import attrs
import pyarrow as pa

from model.checks import MAX_INT64
from model.errors import InvalidValueError
from replay.observed.facts import (
    EpochRun,
    Facts,
    Gap,
    LogExtent,
    SentRun,
    SessionChange,
    SessionEvent,
    SettingEvent,
)
from replay.observed.observation import Kind, Observation

_NUMBERS = {
    *("partition", "line", "status", "epoch", "lock_ms", "leader_epoch", "state_epoch"),
    *("start_offset", "complete_count", "offset"),
}
_TIMES = {"begin", "end", "late"}
_FLAGS = {"named", "exact", "malformed", "timed"}
_OF_FACTS = {"begin", "end", "first", "last", "step"}
_KINDS = {kind.value for kind in Kind}

FACTS: dict[str, tuple[str, Any]] = {
    "session": ("sessions", SessionEvent),
    "setting": ("settings", SettingEvent),
    "run": ("runs", EpochRun),
    "sent": ("sent", SentRun),
    "gap": ("gaps", Gap),
    "extent": ("logs", LogExtent),
}
"""The kinds of rows that are facts, the field of Facts and the class; also name and node."""


def _type(name: str) -> pa.DataType:
    if name in _NUMBERS:
        return pa.int64()
    if name in _TIMES:
        return pa.float64()
    return pa.bool_() if name in _FLAGS else pa.string()


SCHEMA = pa.schema(
    [
        pa.field("observed", pa.string()),
        *(
            pa.field(field.name, _type(field.name))
            for field in attrs.fields(Observation)
            if field.name not in ("kind", "ranges")
        ),
        pa.field("ranges", pa.list_(pa.list_(pa.int64()))),
    ]
)
"""The columns of observations."""


def row_of(each: Observation) -> dict[str, Any]:
    """Return all fields of an observation as a row."""
    row = {field.name: getattr(each, field.name) for field in attrs.fields(Observation)}
    return {"observed": row.pop("kind").value, **row}


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
    _check(each)
    return each


def line_of(each: Observation) -> str:
    """Return an observation as a line of JSON, without what is as it is by default."""
    row = row_of(each)
    for field in attrs.fields(Observation):
        if field.default is not attrs.NOTHING and row.get(field.name) == field.default:
            del row[field.name]
    return json.dumps(row, separators=(",", ":"))


def fact_lines(facts: Facts) -> list[str]:
    """Return facts as lines of JSON."""
    rows: list[dict[str, Any]] = []
    for name, (field, _) in FACTS.items():
        rows += ({"observed": name, **attrs.asdict(item)} for item in getattr(facts, field))
    rows += ({"observed": "name", "topic": topic, "name": name} for topic, name in facts.names)
    rows += ({"observed": "node", "node": node} for node in sorted(facts.nodes))
    lines = [json.dumps(row, separators=(",", ":")) for row in rows]
    return lines + [line_of(each) for each in facts.named]


def facts_of(row: Mapping[str, Any]) -> Facts | None:
    """Return the fact of a row; None if it is an observation. Raises InvalidValueError."""
    values = dict(row)
    kind = values.pop("observed", None)
    try:
        if kind == "name":
            return Facts(names=((str(values["topic"]), str(values["name"])),))
        if kind == "node":
            return Facts(nodes=frozenset({int(values["node"])}))
        if kind == "session":
            values["change"] = SessionChange(values["change"])
        if kind in FACTS:
            field, fact = FACTS[kind]
            named: dict[str, Any] = {field: (_typed(fact(**values)),)}
            return Facts(**named)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValueError("fact", dict(row), f"the fields of one: {error}") from None
    return None


def _typed(fact: Any) -> Any:  # noqa: ANN401 - any of the facts
    """Return a fact whose times and numbers are numbers."""
    for field in attrs.fields(type(fact)):
        value = getattr(fact, field.name)
        wanted = int | float if field.name in _OF_FACTS else object
        if not isinstance(value, wanted):
            raise TypeError(f"{field.name} is {value!r}")
    return fact


def _check(each: Observation) -> None:
    for field in attrs.fields(Observation):
        value = getattr(each, field.name)
        if field.name in ("kind", "ranges"):
            continue
        kind = _type(field.name)
        allowed: tuple[type, ...] = (str,)
        if kind == pa.int64():
            allowed = (int,) if field.default is attrs.NOTHING else (int, type(None))
        elif kind == pa.float64():
            allowed = (int, float)
        elif kind == pa.bool_():
            allowed = (bool,)
        if type(value) not in allowed or (isinstance(value, int) and abs(value) > MAX_INT64):
            raise InvalidValueError(field.name, value, str(kind))
    width = {Kind.ACQUIRE: 3, Kind.ACKNOWLEDGE: 3}.get(each.kind, 4)
    for part in each.ranges:
        whole = all(type(number) is int and 0 <= number < MAX_INT64 for number in part)
        if len(part) != width or not whole or part[1] < part[0]:
            raise InvalidValueError("ranges", part, f"{width} numbers, the first two ascending")
