"""The words in which rules are written, so that one text both runs and builds Z3 terms.

On Python values a rule computes; on Z3 terms the same rule builds the formula that is proved.
Besides these four, rules use only comparison, arithmetic, ``&`` and ``|``. Where a value is
absent Python has None and a term has -1, as Kafka has on the wire.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

Term: TypeAlias = Any
"""A Python value, or the Z3 term that stands for it in a proof."""


def either(condition: Term, then: Term, otherwise: Term) -> Term:
    """Return ``then`` if the condition holds and ``otherwise`` if not; of records, by field."""
    if condition is True:
        return then
    if condition is False:
        return otherwise
    if attrs.has(type(then)):
        names = [field.name for field in attrs.fields(type(then))]
        return type(then)(
            *(either(condition, getattr(then, n), getattr(otherwise, n)) for n in names)
        )
    import z3  # noqa: PLC0415 - only proofs need it

    return z3.If(condition, _term(then), _term(otherwise))


def by_case(value: Term, table: Mapping[int, Term]) -> Term:
    """Return what the table has for the value, which is one of its keys."""
    if isinstance(value, int):
        return table[value]
    *others, last = table.items()
    chosen = last[1]
    for case, then in reversed(others):
        chosen = either(value == case, then, chosen)
    return chosen


def negate(condition: Term) -> Term:
    """Return the opposite of a condition."""
    if isinstance(condition, bool):
        return not condition
    import z3  # noqa: PLC0415 - only proofs need it

    return z3.Not(condition)


def absent(value: Term) -> Term:
    """Return whether there is no value."""
    if value is None:
        return True
    if isinstance(value, int | str):
        return False
    return value == -1


def _term(value: Term) -> Term:
    return -1 if value is None else value
