"""Run Python functions on Z3 terms, following every branch both ways.

By itself, ``if a == b`` on Z3 terms compares how they are written. Here such a
question splits the run in two, one for each answer that is possible, so that a rule may be written
in any way and still means in a proof what it means when it runs. ``lifting`` says which
expressions of Python ask such a question.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import attrs
import z3
from immutables import Map

from proofs.theorems.lifting import Made, MixedKeysError, UndecidedError, is_term, lifted
from spec.logic import Term, absent, either, negate

_LONGEST_RUN, _TOGETHER = 400, 16
# Few questions are asked of each model: fewer than it takes to make it compact.
z3.set_param("model.compact", False)  # noqa: FBT003 - as Z3 has it
MIXED = "a dict or a set may hold a term and a number that are equal"


@attrs.frozen
class Branch:
    """What a function returned, and the condition of the path that it took.

    ``is_known``: False where a dict or a set could not be asked, so that there is no value.
    """

    condition: z3.BoolRef
    value: Term
    solver: z3.Solver
    is_known: bool = True


def may_be_false(paths: Iterable[Branch]) -> bool:
    """Whether what was given leaves it possible that the value of one of the paths is not true.

    Of many paths it is one question, which is answered sooner than one for each.
    """
    false = []
    for path in paths:
        wrong = z3.simplify(z3.Not(path.value)) if is_term(path.value) else not path.value
        if is_term(wrong) and not _value(wrong):
            false.append((path.solver, _all_of(path.condition, wrong)))
        elif wrong if not is_term(wrong) else _value(wrong) > 0:
            return True
    if not false:
        return False
    solver = false[0][0]
    solver.push()
    solver.add(z3.Or([condition for _, condition in false]))
    is_so = is_possible(solver)
    solver.pop()
    return is_so


def branches(
    function: Callable[[], Term],
    given: list[z3.BoolRef],
    limit_ms: int,
    offsets: tuple[z3.ArithRef, ...] = (),
) -> Iterator[Branch]:
    """Run the function once for each path that it can take if ``given`` holds."""
    return chain.from_iterable(groups_of_branches(function, given, limit_ms, offsets))


def groups_of_branches(
    function: Callable[[], Term],
    given: list[z3.BoolRef],
    limit_ms: int,
    offsets: tuple[z3.ArithRef, ...] = (),
) -> Iterator[list[Branch]]:
    """Yield the ``branches``, some at a time: first one, then more.

    A loop over a range between terms visits those ``offsets`` that lie in it, ascending, and no
    others: nothing is claimed of them.
    """
    paths = _Paths(solver_of(given, limit_ms))
    ahead = [_Run(paths)]
    made: Made = {}
    together = 1
    while ahead:
        found: list[Branch] = []
        try:
            with lifted(lambda term: ahead[-1].decide(term), offsets, made):  # noqa: PLW0108 - each in turn
                while ahead and len(found) < together:
                    found.append(ahead[-1].followed(function))
                    ahead[-1:] = ahead[-1].others
        finally:
            yield found
        together = min(2 * together, _TOGETHER)


def solver_of(given: Iterable[z3.BoolRef], limit_ms: int) -> z3.Solver:
    """Return a solver to which this is given."""
    solver = z3.Solver()
    solver.set("timeout", limit_ms)
    solver.add(*given)
    return solver


def is_possible(solver: z3.Solver, *more: z3.BoolRef) -> bool:
    """Whether what the solver was given can be, with what else is assumed."""
    # As ``solver.check`` does, which asks of each condition again whether it is one.
    found = z3.Z3_solver_check_assumptions(
        solver.ctx.ref(), solver.solver, len(more), _array_of(more)
    )
    verdict = z3.CheckSatResult(found)
    if verdict == z3.unknown:
        raise UndecidedError(solver.reason_unknown())
    return bool(verdict == z3.sat)


def _array_of(terms: tuple[z3.BoolRef, ...]) -> Any:  # noqa: ANN401 - an array of ctypes
    return (z3.Ast * len(terms))(*(term.ast for term in terms))


def _all_of(*conditions: z3.BoolRef) -> z3.BoolRef:
    """Return what ``z3.And`` does, which asks of each condition again whether it is one."""
    context = z3.main_ctx()
    term = z3.Z3_mk_and(context.ref(), len(conditions), _array_of(conditions))
    return z3.BoolRef(term, context)


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


def either_of(*conditions: Term) -> Term:
    """Return whether one of the conditions holds at least."""
    return negate(conjunction(*(negate(condition) for condition in conditions)))


def is_same(one: Term, other: Term, *aside: str) -> Term:
    """Whether two values are the same, or absent: of a tuple or an attrs class, part by part.

    ``aside`` are the names of fields that may differ.
    """
    if one is None or other is None:
        return absent(one) & absent(other)
    if isinstance(one, tuple):
        return conjunction(len(one) == len(other), *map(is_same, one, other))
    if not attrs.has(type(one)) or type(one) is not type(other):
        return one == other
    names = (field.name for field in attrs.fields(type(one)) if field.name not in aside)
    return conjunction(*(is_same(getattr(one, name), getattr(other, name)) for name in names))


def largest(*numbers: Term) -> Term:
    """Return the largest number, of which ``max`` would ask which it is."""
    found = numbers[0]
    for each in numbers[1:]:
        found = either(each > found, each, found)
    return found


Known = Map[int, bool]
"""Answers by the id of the question."""


@attrs.frozen(eq=False)
class _Question:
    """Whether a condition holds that is no negation; ``answers`` are its opposite and itself.

    It is kept: a term that is gone may leave its id to another.
    """

    id: int
    answers: tuple[z3.BoolRef, z3.BoolRef]


@attrs.define(eq=False)
class _Paths:
    """What is known of the paths through a function by what was asked on any of them.

    ``impossible`` are answers that cannot be given on one path, by the id of each question.
    """

    solver: z3.Solver
    asked: dict[int, tuple[z3.BoolRef, tuple[_Question, bool] | bool]] = attrs.Factory(dict)
    questions: dict[int, _Question] = attrs.Factory(dict)
    said: dict[int, tuple[int, bool]] = attrs.Factory(dict)
    impossible: dict[int, list[dict[int, bool]]] = attrs.Factory(lambda: defaultdict(list))

    def question(self, term: z3.BoolRef) -> tuple[_Question, bool] | bool:
        """Return what a term asks, and the answer that it asks for; or what is known."""
        if id(term) not in self.asked:
            self.asked[id(term)] = term, self._question(z3.simplify(term))
        return self.asked[id(term)][1]

    def _question(self, term: z3.BoolRef) -> tuple[_Question, bool] | bool:
        if value := _value(term):
            return value > 0
        holds = not z3.is_not(term)
        condition = term if holds else term.arg(0)
        key = condition.get_id()
        if key not in self.questions:
            answers = z3.Not(condition), condition
            self.said |= {answer.get_id(): (key, i > 0) for i, answer in enumerate(answers)}
            self.questions[key] = _Question(key, answers)
        return self.questions[key], holds

    def excludes(self, known: Known, key: int, answer: bool) -> bool:  # noqa: FBT001 - what is answered
        """Whether a question cannot be answered so, by what was impossible before."""
        return any(
            each[key] is answer and all(k == key or known.get(k) is a for k, a in each.items())
            for each in self.impossible.get(key, ())
        )


def _value(term: z3.ExprRef) -> int:
    """Return 1 for true, -1 for false, and 0 for a term that is neither."""
    return int(z3.Z3_get_bool_value(term.ctx_ref(), term.as_ast()))


@attrs.define(eq=False)
class _Run:
    """One run, which begins in a known way, and the others that can be beside it.

    A run is the same up to where it leaves another, so that what was answered there is not asked:
    ``given``. ``assumed`` is what the answers say, ``known`` what is known by it, and ``example`` a
    model of it.
    """

    paths: _Paths
    given: tuple[bool, ...] = ()
    assumed: tuple[z3.BoolRef, ...] = ()
    known: Known = Map()
    example: z3.ModelRef | None = None
    answers: list[bool] = attrs.Factory(list)
    others: list["_Run"] = attrs.Factory(list)
    asked: int = 0

    def followed(self, function: Callable[[], Term]) -> Branch:
        """Run the function on terms."""
        value, is_known = None, True
        try:
            value = function()
        except MixedKeysError:
            is_known = False
        return Branch(_all_of(*self.assumed), value, self.paths.solver, is_known)

    def decide(self, term: z3.BoolRef) -> bool:
        """Answer a question about terms."""
        if len(self.answers) < len(self.given):
            answer = self.given[len(self.answers)]
        else:
            asked = self.paths.question(term)
            answer = asked if isinstance(asked, bool) else self._answer(*asked)
        self.answers.append(answer)
        return answer

    def _answer(self, question: _Question, holds: bool) -> bool:  # noqa: FBT001 - as asked
        known = self.known.get(question.id)
        if known is None:
            self.asked += 1
            if self.asked > _LONGEST_RUN:
                raise UndecidedError("the run does not come to an end")
            known = self._found(question, holds)
            self.known = self.known.set(question.id, known)
        return known is holds

    def _found(self, question: _Question, first: bool) -> bool:  # noqa: FBT001 - as asked
        """Return an answer that is possible, the first if both are; the other is a way then."""
        shown = 0
        if self.example is not None:
            shown = _value(self.example.eval(question.answers[1], model_completion=True))
        examples = {}
        for answer in (first, not first):
            like = self.example if shown == (1 if answer else -1) else self._like(question, answer)
            if like is not None:
                examples[answer] = like
        answer = first if first in examples else not first
        if len(examples) > 1:
            self.others.append(
                _Run(
                    self.paths,
                    (*self.answers, False),
                    (*self.assumed, question.answers[not answer]),
                    self.known.set(question.id, not answer),
                    examples[not answer],
                )
            )
            self.assumed = *self.assumed, question.answers[answer]
        self.example = examples.get(answer)
        return answer

    def _like(self, question: _Question, answer: bool) -> z3.ModelRef | None:  # noqa: FBT001 - as answered
        """Return an example of this path with that answer, if there can be one."""
        paths = self.paths
        if paths.excludes(self.known, question.id, answer):
            return None
        if is_possible(paths.solver, *self.assumed, question.answers[answer]):
            return paths.solver.model()
        together = dict(paths.said[each.get_id()] for each in paths.solver.unsat_core())
        for key in together:
            paths.impossible[key].append(together)
        return None
