"""Run Python functions on Z3 terms, following every branch both ways.

By itself, ``if a == b`` on Z3 terms compares how they are written. Here such a
question splits the run in two, one for each answer that is possible, so that a rule may be written
in any way and still means in a proof what it means when it runs.
"""

import builtins
import operator
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import attrs
import z3

import spec
from model import ranges
from model.states import RecordState
from proofs.theorems.points import Places
from spec.logic import Term

_LONGEST_RUN = 400


class UndecidedError(Exception):
    """Z3 reached no answer, or a run on terms does not end."""


@attrs.frozen
class Branch:
    """What a function returned, and the condition of the path that it took."""

    condition: z3.BoolRef
    value: Term


def branches(
    function: Callable[[], Term],
    given: list[z3.BoolRef],
    limit_ms: int,
    offsets: tuple[z3.ArithRef, ...] = (),
) -> Iterator[Branch]:
    """Run the function once for each path that it can take if ``given`` holds.

    A loop over a range between terms visits those ``offsets`` that lie in it, ascending, and no
    others: nothing is claimed of them.
    """
    solver = z3.Solver()
    solver.set("timeout", limit_ms)
    solver.add(given)
    ahead: list[tuple[bool, ...]] = [()]
    while ahead:
        run = _Run(solver, ahead.pop())
        solver.push()
        with _following(run, offsets):
            value = function()
        solver.pop()
        ahead += run.others
        yield Branch(z3.And(*run.conditions, z3.BoolVal(val=True)), value)


def meaning(paths: Iterable[Branch]) -> z3.BoolRef:
    """Return the condition under which the function returns a true value."""
    return z3.Or([z3.And(branch.condition, branch.value) for branch in paths])


def is_term(value: object) -> bool:
    """Whether the value is a Z3 term."""
    return isinstance(value, z3.ExprRef)


def implies(condition: Term, conclusion: Term) -> Term:
    """Return whether the condition implies the conclusion, for values or terms."""
    if isinstance(condition, bool):
        return conclusion if condition else True
    return z3.Implies(condition, conclusion)


def conjunction(*conditions: Term) -> Term:
    """Return whether all conditions hold, for values or terms."""
    terms = [condition for condition in conditions if is_term(condition)]
    if not all(condition for condition in conditions if not is_term(condition)):
        return False
    return z3.And(terms) if terms else True


class _Run:
    """One run: the answers it must give first, and those that turned out to be possible."""

    def __init__(self, solver: z3.Solver, prescribed: tuple[bool, ...]) -> None:
        self.solver = solver
        self.prescribed = prescribed
        self.answers: list[bool] = []
        self.conditions: list[z3.BoolRef] = []
        self.known: dict[z3.BoolRef, bool] = {}
        self.others: list[tuple[bool, ...]] = []
        self.example: z3.ModelRef | None = None
        self.busy = False

    def decide(self, term: z3.BoolRef) -> bool:
        """Answer a question about terms."""
        simple = z3.simplify(term)
        if z3.is_true(simple) or z3.is_false(simple):
            return bool(z3.is_true(simple))
        if simple in self.known:
            return self.known[simple]
        if len(self.answers) >= _LONGEST_RUN:
            raise UndecidedError("the run does not come to an end")
        answer = self._answer(simple)
        condition = simple if answer else z3.Not(simple)
        self.solver.add(condition)
        self.answers.append(answer)
        self.conditions.append(condition)
        self.known |= {simple: answer, z3.Not(simple): not answer}
        return answer

    def _answer(self, term: z3.BoolRef) -> bool:
        if len(self.answers) < len(self.prescribed):
            return self.prescribed[len(self.answers)]
        if not self._can_be(term):
            return False
        example = self.example
        if self._can_be(z3.Not(term)):
            self.others.append((*self.answers, False))
        self.example = example
        return True

    def _can_be(self, term: z3.BoolRef) -> bool:
        if self.example is not None and z3.is_true(self.example.eval(term, model_completion=True)):
            return True
        verdict = self.solver.check(term)
        if verdict == z3.unknown:
            raise UndecidedError(self.solver.reason_unknown())
        if verdict == z3.sat:
            self.example = self.solver.model()
        return bool(verdict == z3.sat)


@contextmanager
def _following(run: _Run, offsets: tuple[z3.ArithRef, ...]) -> Iterator[None]:
    """Let the run answer questions about terms, and let ranges visit the named offsets."""
    original = z3.BoolRef.__bool__

    def ask(term: z3.BoolRef) -> bool:
        if run.busy:
            return bool(original(term))
        run.busy = True
        try:
            return run.decide(term)
        finally:
            run.busy = False

    def between(*bounds: Term) -> Iterable[Term]:
        if not any(map(is_term, bounds)):
            return builtins.range(*bounds)
        first, end = bounds
        return sorted(offset for offset in offsets if first <= offset and offset < end)  # noqa: PLR1716 - two questions

    words = {"range": between, "max": _largest, "min": _smallest, "len": _length}
    with (
        attrs.validators.disabled(),
        _standing_in_the_specification(words),
        patch.multiple(z3.BoolRef, __bool__=ask, create=True, **_OPERATORS),
        patch.object(RecordState, "_missing_", _state_of, create=True),
    ):
        yield


@contextmanager
def _standing_in_the_specification(words: dict[str, Any]) -> Iterator[None]:
    """Let the modules of the specification use other functions for words of Python."""
    modules = (module for module in vars(spec).values() if isinstance(module, ModuleType))
    dictionaries = [vars(ranges), *map(vars, modules)]
    for names in dictionaries:
        names.update(words)
    try:
        yield
    finally:
        for names in dictionaries:
            for word in words:
                del names[word]


def _length(values: Sized) -> Term:
    return values.width if isinstance(values, Places) else builtins.len(values)


def _choosing(builtin: Callable[..., Term], is_first: Callable[..., Term]) -> Callable[..., Term]:
    """Return ``max`` or ``min``, which of two numbers chooses one without a question."""

    def choose(*values: Term, **how: Term) -> Term:
        numbers = all(isinstance(value, int) or z3.is_int(value) for value in values)
        if len(values) != 2 or how or not numbers or not any(map(is_term, values)):  # noqa: PLR2004 - a pair
            return builtin(*values, **how)
        return z3.If(is_first(*values), *values)

    return choose


_largest, _smallest = _choosing(max, operator.ge), _choosing(min, operator.le)


def _state_of(term: Term) -> RecordState | None:
    """Return the state that equals the term, for ``RecordState(term)``."""
    return next((state for state in RecordState if term == state), None)


_OPERATORS: dict[str, Any] = {
    "__rand__": lambda term, other: z3.And(other, term),
    "__ror__": lambda term, other: z3.Or(other, term),
    "__radd__": lambda term, other: other + z3.If(term, 1, 0),
    "__rsub__": lambda term, other: other - z3.If(term, 1, 0),
}
"""Operators with a value on the left and a condition on the right, which Z3 lacks."""
