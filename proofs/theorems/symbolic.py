"""Run Python functions on Z3 terms, following every branch both ways.

By itself, ``if a == b`` on Z3 terms compares how they are written. Here such a
question splits the run in two, one for each answer that is possible, so that a rule may be written
in any way and still means in a proof what it means when it runs. ``lifting`` says which
expressions of Python ask such a question.
"""

from collections.abc import Callable, Iterable, Iterator

import attrs
import z3

from proofs.theorems.lifting import MixedKeysError, UndecidedError, is_term, lifted
from spec.logic import Term

_LONGEST_RUN = 400
MIXED = "a dict or a set may hold a term and a number that are equal"


@attrs.frozen
class Branch:
    """What a function returned, and the condition of the path that it took.

    ``is_known``: False where a dict or a set could not be asked, so that there is no value.
    """

    condition: z3.BoolRef
    value: Term
    is_known: bool = True


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
    ahead = [_Way()]
    while ahead:
        solver.push()
        run = _Run(solver, ahead.pop())
        value, is_known = None, True
        with lifted(run.decide, offsets):
            try:
                value = function()
            except MixedKeysError:
                is_known = False
        solver.pop()
        ahead += run.others
        yield Branch(z3.And(*run.conditions, z3.BoolVal(val=True)), value, is_known)


def meaning(paths: Iterable[Branch]) -> z3.BoolRef:
    """Return the condition under which the function returns a true value."""
    found = list(paths)
    if not all(branch.is_known for branch in found):
        raise UndecidedError(MIXED)
    return z3.Or([z3.And(branch.condition, branch.value) for branch in found])


def implies(condition: Term, conclusion: Term) -> Term:
    """Return whether the condition implies the conclusion, for values or terms."""
    if not is_term(condition):
        return conclusion if condition else True
    return z3.Implies(condition, conclusion)


def is_between(first: Term, offset: Term, last: Term) -> Term:
    """Whether the offset is one of the range, both ends included."""
    return conjunction(first <= offset, offset <= last)


def conjunction(*conditions: Term) -> Term:
    """Return whether all conditions hold, for values or terms."""
    terms = [condition for condition in conditions if is_term(condition)]
    if not all(condition for condition in conditions if not is_term(condition)):
        return False
    return z3.And(terms) if terms else True


@attrs.frozen
class _Way:
    """The start of a run: the answer to each question, and the conditions that they make."""

    answers: tuple[bool, ...] = ()
    conditions: tuple[z3.BoolRef, ...] = ()


class _Run:
    """One run, which begins in a known way, and the ways that turned out to be possible beside it.

    A run is the same up to where it leaves another, so that what was answered there is not asked.
    """

    def __init__(self, solver: z3.Solver, way: _Way) -> None:
        self.solver = solver
        self.way = way
        self.answers: list[bool] = []
        self.conditions = list(way.conditions)
        self.kept: list[z3.BoolRef] = []  # A term that is gone may leave its id to another.
        self.known: dict[int, bool] = {}
        self.others: list[_Way] = []
        self.example: z3.ModelRef | None = None
        solver.add(self.conditions)
        for condition in self.conditions:
            self._note(condition)

    def decide(self, term: z3.BoolRef) -> bool:
        """Answer a question about terms."""
        if len(self.answers) < len(self.way.answers):
            answer = self.way.answers[len(self.answers)]
        else:
            answer = self._answer(z3.simplify(term))
        self.answers.append(answer)
        return answer

    def _answer(self, term: z3.BoolRef) -> bool:
        if z3.is_true(term) or z3.is_false(term):
            return bool(z3.is_true(term))
        if term.get_id() in self.known:
            return self.known[term.get_id()]
        if len(self.conditions) >= _LONGEST_RUN:
            raise UndecidedError("the run does not come to an end")
        answer = self._can_be(term)
        opposite = z3.Not(term)
        if answer:
            example = self.example
            if self._can_be(opposite):
                others = (*self.conditions, opposite)
                self.others.append(_Way((*self.answers, False), others))
            self.example = example
        condition = term if answer else opposite
        self.solver.add(condition)
        self.conditions.append(condition)
        self._note(condition)
        return answer

    def _note(self, condition: z3.BoolRef) -> None:
        """Know from now on that the condition holds, and that its opposite does not."""
        opposite = condition.arg(0) if z3.is_not(condition) else z3.Not(condition)
        self.kept += (condition, opposite)
        self.known |= {condition.get_id(): True, opposite.get_id(): False}

    def _can_be(self, term: z3.BoolRef) -> bool:
        if self.example is not None and z3.is_true(self.example.eval(term, model_completion=True)):
            return True
        verdict = self.solver.check(term)
        if verdict == z3.unknown:
            raise UndecidedError(self.solver.reason_unknown())
        if verdict == z3.sat:
            self.example = self.solver.model()
        return bool(verdict == z3.sat)
