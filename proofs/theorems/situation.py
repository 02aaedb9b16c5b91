"""Situations, the subjects of theorems: attrs classes whose fields are terms or values.

A theorem is proved for a situation of terms, tried on situations that runs reach, and
shown to fail on a situation of values that Z3 found.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import attrs
import z3

from model.states import RecordState
from proofs.theorems.count import OFFSETS, has
from spec.logic import Term
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record, is_acquirable, is_terminal

S = TypeVar("S")


def number(low: int = 0) -> Any:  # noqa: ANN401 - as attrs.field
    """Return a field for any whole number from ``low``."""
    return attrs.field(default=low, metadata={"kind": "number", "low": low})


def any_offset() -> Any:  # noqa: ANN401 - as attrs.field
    """Return a field for the offset that the theorem looks at; it stands for every offset."""
    return attrs.field(default=0, metadata={"kind": "offset", "low": 0})


def flag() -> Any:  # noqa: ANN401 - as attrs.field
    """Return a field for a condition."""
    return attrs.field(default=False, metadata={"kind": "flag"})


def any_marks() -> Any:  # noqa: ANN401 - as attrs.field
    """Return a field for any set of marked offsets, as ``theorems.count`` counts them."""
    return attrs.field(default=frozenset(), metadata={"kind": "marks"})


def any_record() -> Any:  # noqa: ANN401 - as attrs.field
    """Return a field for a record in any state."""
    return attrs.field(default=UNDELIVERED, metadata={"kind": "record"})


def ends_in_the_log(start: Term, end: Term, log_end: Term) -> Term:
    """Whether a window is one of the log; an empty one may lie beyond its end (decision 119)."""
    return (end <= log_end) | (end == start)


def situation_at(kind: type[S], state: SharePartition, offset: int, /, **fields: object) -> S:
    """Return a situation at one offset of a share-partition that a run reached.

    Fields that are not given are read from the share-partition, each by its name.
    """
    names = {field.name for field in _fields(kind)}
    read = {name: value for name, value in _readings(state, offset).items() if name in names}
    return kind(**(read | fields))


def _readings(state: SharePartition, offset: int) -> dict[str, object]:
    """Return the values of all fields that a share-partition determines at one offset."""
    now, log, config = state.window, state.log, state.config
    record = now.records.get(offset)
    hole = (*log.holes, (log.end_offset + 8, log.end_offset + 8))[0]
    return {
        "start": now.start_offset,
        "end": now.end_offset,
        "offset": offset,
        "record": record or UNDELIVERED,
        "tracked": record is not None,
        "complete": now.complete - (record is not None and is_terminal(record)),
        "acquirable": now.acquirable - (record is not None and is_acquirable(record)),
        "log_start": log.start_offset,
        "log_end": log.end_offset,
        "hole_first": hole[0],
        "hole_last": hole[1],
        "now": state.now,
        "deadline": state.now + config.record_lock_duration_ms,
        "limit": config.delivery_count_limit,
        "highest": state.highest_limit,
        "acquisition": (record and record.acquisition) or 0,
        "marks": state.profile.in_progress,
        "threshold": config.in_progress_staleness_threshold_ms,
        "extension": config.in_progress_max_lock_extension_ms,
        "grace": config.in_progress_rebalance_grace_ms,
        "dead_letter_queue": config.dead_letter_queue,
    }


def symbols(kind: type[S]) -> tuple[S, list[z3.BoolRef], tuple[z3.ArithRef, ...]]:
    """Return a situation of terms, the conditions on them, and the offsets that it names."""
    given: list[z3.BoolRef] = []
    named: list[z3.ArithRef] = []
    fields: dict[str, Term] = {}
    for field in _fields(kind):
        match field.metadata["kind"]:
            case "flag":
                fields[field.name] = z3.Bool(field.name)
            case "marks":
                fields[field.name] = z3.Array(field.name, z3.IntSort(), z3.BoolSort())
            case "record":
                fields[field.name] = _symbolic_record(field.name, given)
            case what:
                fields[field.name] = z3.Int(field.name)
                given.append(fields[field.name] >= field.metadata["low"])
                if what == "offset":
                    named.append(fields[field.name])
    return kind(**fields), given, tuple(named)


def values(symbolic: S, model: z3.ModelRef) -> S:
    """Return the situation of Python values that a Z3 model describes."""
    fields: dict[str, Term] = {}
    for field in _fields(type(symbolic)):
        term = getattr(symbolic, field.name)
        match field.metadata["kind"]:
            case "record":
                fields[field.name] = _record_value(term, model)
            case "marks":
                marked = (
                    offset for offset in OFFSETS if _value(has(term, z3.IntVal(offset)), model)
                )
                fields[field.name] = frozenset(marked)
            case _:
                fields[field.name] = _value(term, model)
    return type(symbolic)(**fields)


def sizes(symbolic: object) -> Iterator[z3.ArithRef]:
    """Yield the numbers of a situation, which a counterexample should have small."""
    for field in _fields(type(symbolic)):
        term = getattr(symbolic, field.name)
        if isinstance(term, Record):
            parts = [getattr(term, part.name) for part in attrs.fields(Record)]
            yield from (part for part in parts if z3.is_int(part))
        elif z3.is_int(term):
            yield term


def _fields(kind: type) -> "tuple[attrs.Attribute[Any], ...]":
    return tuple(attrs.fields(kind))


def _symbolic_record(name: str, given: list[z3.BoolRef]) -> Record:
    fields: dict[str, Term] = {}
    for field in attrs.fields(Record):
        if field.name in {"pending", "exhausted"}:
            fields[field.name] = z3.Bool(f"{name}.{field.name}")
            continue
        term = fields[field.name] = z3.Int(f"{name}.{field.name}")
        given.append(term >= (0 if field.name in {"state", "delivery_count"} else -1))
    given.append(fields["state"] <= max(RecordState))
    return Record(**fields)


def _record_value(symbolic: Record, model: z3.ModelRef) -> Record:
    fields = {f.name: _value(getattr(symbolic, f.name), model) for f in attrs.fields(Record)}
    for field in attrs.fields(Record):
        if field.default is None and fields[field.name] == -1:
            fields[field.name] = None
    return Record(**{**fields, "state": RecordState(fields["state"])})


def _value(term: z3.ExprRef, model: z3.ModelRef) -> Term:
    value = model.eval(term, model_completion=True)
    return z3.is_true(value) if z3.is_bool(value) else value.as_long()
