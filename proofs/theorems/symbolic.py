"""Run Python functions on Z3 terms, following every branch both ways.

By itself, ``if a == b`` on Z3 terms compares how they are written. Here such a
question splits the run in two, one for each answer that is possible, so that a rule may be written
in any way and still means in a proof what it means when it runs. ``lifting`` says which
expressions of Python ask such a question.
"""

from collections.abc import Callable, Iterable, Iterator

import attrs
import z3
from immutables import Map

from proofs.theorems.lifting import Made, MixedKeysError, UndecidedError, is_term, lifted
from spec.logic import Term

_LONGEST_RUN = 400
_TRUE = z3.BoolVal(val=True)
MIXED = "a dict or a set may hold a term and a number that are equal"


@attrs.frozen
class Branch:
    """What a function returned, and the condition of the path that it took.

    ``is_known``: False where a dict or a set could not be asked, so that there is no value.
    ``solver`` has the condition, and all that was given, until the next branch is asked for.
    """

    condition: z3.BoolRef
    value: Term
    solver: z3.Solver
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
    made: Made = {}
    simplest: dict[int, tuple[z3.BoolRef, z3.BoolRef]] = {}
    while ahead:
        run = _Run(solver, ahead.pop(), simplest)
        value, is_known = None, True
        with lifted(run.decide, offsets, made):
            try:
                value = function()
            except MixedKeysError:
                is_known = False
        ahead += run.others
        yield Branch(run.condition, value, solver, is_known)


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


Answered = tuple[z3.BoolRef, bool]
Known = Map[int, Answered]
"""Answers by the id of the term, which is kept: a term that is gone may leave its id to another."""


def _knowing(known: Known, *answers: Answered) -> Known:
    return known.update({answer[0].get_id(): answer for answer in answers})


@attrs.frozen
class _Way:
    """The start of a run: the answer to each question, and the conditions that they make.

    There are ``depth`` conditions, ``last`` is the last of them, and ``condition`` those before.
    ``known``: what is known by the conditions, by term. ``example``: a model of them.
    """

    answers: tuple[bool, ...] = ()
    depth: int = 0
    last: z3.BoolRef = _TRUE
    condition: z3.BoolRef = _TRUE
    known: Known = Map()
    example: z3.ModelRef | None = None


class _Run:
    """One run, which begins in a known way, and the ways that turned out to be possible beside it.

    A run is the same up to where it leaves another, so that what was answered there is not asked.
    The solver has a scope for each condition; the last run's has all conditions of the way but one.
    """

    def __init__(
        self, solver: z3.Solver, way: _Way, simplest: dict[int, tuple[z3.BoolRef, z3.BoolRef]]
    ) -> None:
        self.solver = solver
        self.way = way
        self.simplest = simplest
        self.answers: list[bool] = []
        self.condition = way.condition
        self.known = way.known
        self.asked = 0
        self.others: list[_Way] = []
        self.example = way.example
        solver.pop(solver.num_scopes() - max(way.depth - 1, 0))
        if way.depth:
            self._assume(way.last)

    def decide(self, term: z3.BoolRef) -> bool:
        """Answer a question about terms."""
        if len(self.answers) < len(self.way.answers):
            answer = self.way.answers[len(self.answers)]
        else:
            # Both are kept: a term that is gone may leave its id to another.
            known = self.simplest.get(id(term)) or (term, z3.simplify(term))
            self.simplest[id(term)] = known
            answer = self._answer(known[1])
        self.answers.append(answer)
        return answer

    def _answer(self, term: z3.BoolRef) -> bool:
        if z3.is_true(term) or z3.is_false(term):
            return bool(z3.is_true(term))
        if known := self.known.get(term.get_id()):
            return known[1]
        self.asked += 1
        if self.asked > _LONGEST_RUN:
            raise UndecidedError("the run does not come to an end")
        opposite = term.arg(0) if z3.is_not(term) else z3.Not(term)
        answer = self._can_be(term)
        example = self.example
        if answer and self._can_be(opposite):
            way = (*self.answers, False), self.solver.num_scopes() + 1, opposite, self.condition
            otherwise = _knowing(self.known, (term, False), (opposite, True))
            self.others.append(_Way(*way, otherwise, self.example))
            self._assume(term)
        self.known = _knowing(self.known, (term, answer), (opposite, not answer))
        self.example = example
        return answer

    def _assume(self, condition: z3.BoolRef) -> None:
        self.solver.push()
        self.solver.add(condition)
        self.condition = z3.And(self.condition, condition)

    def _can_be(self, term: z3.BoolRef) -> bool:
        if self.example is not None and z3.is_true(self.example.eval(term, model_completion=True)):
            return True
        verdict = self.solver.check(term)
        if verdict == z3.unknown:
            raise UndecidedError(self.solver.reason_unknown())
        if verdict == z3.sat:
            self.example = self.solver.model()
        return bool(verdict == z3.sat)
