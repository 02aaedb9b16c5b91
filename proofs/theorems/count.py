"""The number of marked offsets in a range of any width.

In a proof the count is a function of which Z3 is told nothing but what a theorem gives it: how the
count of a range follows from that of the range one shorter (``counts_on``), and what lemmas say. On
values it counts.
"""

from collections.abc import Iterable, Iterator

import z3

from proofs.theorems.lifting import is_term
from spec.logic import Term, either

_MARKS = z3.ArraySort(z3.IntSort(), z3.BoolSort())
_COUNT = z3.Function("count", _MARKS, z3.IntSort(), z3.IntSort(), z3.IntSort())
_NOT = z3.Not(z3.Bool("marked")).decl()
_SHORT = 3

OFFSETS = range(-1, 64)
"""The offsets that may be marked where marks are values."""


def count(marks: Term, low: Term, high: Term) -> Term:
    """Return how many offsets from ``low`` to ``high`` (exclusive) are marked.

    ``marks`` is an array of conditions, or a frozenset of ``OFFSETS``.
    """
    if is_term(marks):
        return _COUNT(marks, low, high)
    last, total = high, 0
    while not is_empty(low, last):
        last -= 1
    for offset in range(last, high):
        total = add(total, offset in marks)
    return total


def counts_on(marks: Term, low: Term, high: Term) -> Term:
    """Return whether the count of a range is that of the range one shorter and its last offset.

    Of values this is so.
    """
    last = high - 1
    counted = add(count(marks, low, last), has(marks, last))
    return count(marks, low, high) == either(is_empty(low, high), 0, counted)


def is_empty(low: Term, high: Term) -> Term:
    """Return whether no offset is from ``low`` to ``high`` (exclusive)."""
    return high <= low


def add(total: Term, marked: Term) -> Term:
    """Return the count after one more offset, marked or not."""
    return total + either(marked, 1, 0)


def has(marks: Term, offset: Term) -> Term:
    """Return whether the offset is marked."""
    return z3.Select(marks, offset) if is_term(marks) else offset in marks


def put(marks: Term, offset: Term, *, marked: Term) -> Term:
    """Return the marks with one offset marked, or unmarked."""
    if is_term(marks):
        return z3.Store(marks, offset, marked)
    return marks | {offset} if marked else marks - {offset}


def unmarked(marks: Term) -> Term:
    """Return the complement of the marks."""
    if is_term(marks):
        return z3.Map(_NOT, marks)
    return frozenset(OFFSETS) - marks


def small(formulas: Iterable[z3.ExprRef]) -> Iterator[z3.BoolRef]:
    """Yield that each range that is counted in the formulas is short, and what its count is then.

    Without this Z3 may take a count for what it could not be.
    """
    for marks, low, high in _counts(formulas):
        yield high - low <= _SHORT
        yield z3.Implies(high < low, count(marks, low, high) == 0)
        yield from (counts_on(marks, low, low + width) for width in range(-1, _SHORT + 1))


def _counts(formulas: Iterable[z3.ExprRef]) -> Iterator[tuple[z3.ExprRef, ...]]:
    """Yield the arguments of each count."""
    # To walk through terms from Python is slow: few have any.
    todo, seen = [each for each in formulas if f"({_COUNT.name()} " in each.sexpr()], set()
    while todo:
        term = todo.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            todo += term.children()
            if z3.is_app(term) and term.decl().eq(_COUNT):
                yield tuple(term.children())
