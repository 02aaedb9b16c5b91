"""Situations, the subjects of theorems: attrs classes whose fields are terms or values.

A theorem is proved for a situation of terms, tried on situations that runs reach, and
shown to fail on a situation of values that Z3 found.
"""

from collections.abc import Iterator
from types import NoneType
from typing import Any, TypeVar

import attrs
import z3

from model.states import RecordState
from proofs.theorems.count import OFFSETS, has
from spec.logic import Term

S = TypeVar("S")


def any_like(example: Any) -> Any:  # noqa: ANN401 - any value, and as attrs.field
    """Return a field for any value that is like this one: a number not below it, a condition.

    Of an attrs class each field is so in turn, a field that is None a number or None; what is none
    of these stays as it is. Of a frozenset it is any set, as ``theorems.count`` counts them.
    """
    return attrs.field(default=example)


def number(low: int = 0) -> Any:  # noqa: ANN401 - as attrs.field
    """Return a field for any whole number from ``low``."""
    return any_like(low)


def any_offset() -> Any:  # noqa: ANN401 - as attrs.field
    """Return a field for the offset that the theorem looks at; it stands for every offset."""
    return attrs.field(default=0, metadata={"is_offset": True})


def flag() -> Any:  # noqa: ANN401 - as attrs.field
    """Return a field for a condition."""
    return any_like(False)  # noqa: FBT003 - an example


def ends_in_the_log(start: Term, end: Term, log_end: Term) -> Term:
    """Whether a window is one of the log; an empty one may lie beyond its end (decision 119)."""
    return (end <= log_end) | (end == start)


def symbols(kind: type[S]) -> tuple[S, list[z3.BoolRef], tuple[z3.ArithRef, ...]]:
    """Return a situation of terms, the conditions on them, and the offsets that it names."""
    given: list[z3.BoolRef] = []
    with attrs.validators.disabled():
        fields = {field.name: _made(field.name, field.default, given) for field in _fields(kind)}
        named = (fields[f.name] for f in _fields(kind) if "is_offset" in f.metadata)
        return kind(**fields), given, tuple(named)


def _made(name: str, like: Any, given: list[z3.BoolRef]) -> Term:  # noqa: ANN401 - an example
    """Return the terms for any value that is like the example; ``given`` gets what bounds them."""
    if attrs.has(type(like)):
        names = [field.name for field in _fields(type(like))]
        return type(like)(**{n: _made(f"{name}.{n}", getattr(like, n), given) for n in names})
    if isinstance(like, bool):
        return z3.Bool(name)
    if isinstance(like, frozenset):
        return z3.Array(name, z3.IntSort(), z3.BoolSort())
    if type(like) not in {int, RecordState, NoneType}:
        return like
    term = z3.Int(name)
    given.append(term >= (-1 if like is None else like))
    if isinstance(like, RecordState):
        given.append(term <= max(RecordState))
    return term


def values(symbolic: S, model: z3.ModelRef) -> S:
    """Return the situation of Python values that a Z3 model describes."""
    fields = {f.name: _value(getattr(symbolic, f.name), f.default, model) for f in _each(symbolic)}
    return type(symbolic)(**fields)


def sizes(symbolic: object) -> Iterator[z3.ArithRef]:
    """Yield the numbers of a situation, which a counterexample should have small."""
    for field in _each(symbolic):
        term = getattr(symbolic, field.name)
        if attrs.has(type(term)):
            yield from sizes(term)
        elif z3.is_int(term):
            yield term


def _fields(kind: type) -> "tuple[attrs.Attribute[Any], ...]":
    return tuple(attrs.fields(kind))


def _each(value: object) -> "tuple[attrs.Attribute[Any], ...]":
    return _fields(type(value))


def _value(term: Term, like: Any, model: z3.ModelRef) -> Any:  # noqa: ANN401 - as the example
    if attrs.has(type(like)):
        parts = {f.name: getattr(like, f.name) for f in _each(like)}
        return type(like)(**{n: _value(getattr(term, n), parts[n], model) for n in parts})
    if isinstance(like, frozenset):
        found = (offset for offset in OFFSETS if _value(has(term, z3.IntVal(offset)), 0, model))
        return frozenset(found)
    if not z3.is_expr(term):
        return term
    value = model.eval(term, model_completion=True)
    if z3.is_bool(value):
        return z3.is_true(value)
    number = value.as_long()
    if like is None:
        return None if number == -1 else number
    return type(like)(number)
