"""Theorems, stated as a decorated claim, and lemmas, proved by induction.

The principle of induction is not proved here: what holds of the first number, and of each
successor of a number of which it holds, holds of all.
"""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import attrs

from proofs.theorems.symbolic import conjunction, implies
from spec.logic import Term


def _always(_situation: object) -> Term:
    return True


def about(function: Callable[..., Term], *rest: Any) -> Callable[[Any], Term]:  # noqa: ANN401 - whatever the function is about
    """Bind every argument of the function but the situation."""
    return lambda situation: function(situation, *rest)


@attrs.frozen
class Property:
    """What is claimed: one plain sentence, its source, and its numbers.

    ``numbers`` are those of docs/properties.md.
    """

    name: str
    sentence: str
    source: str
    numbers: tuple[int, ...] = ()


@attrs.frozen
class Control:
    """A small change to a rule: ``change`` returns the wrong rule for the right one.

    ``target`` names the rule as ``module:name``, the module as the repository has it.
    """

    name: str
    target: str
    change: Callable[[Any], Any]


@attrs.frozen
class Lemma:
    """A statement about a number of a situation, for every value of that number.

    ``first`` makes of any situation the one with which the number begins, ``following`` the next.
    ``unfolding`` defines what the statement speaks of at a number, from what it was at the number
    before. ``given`` is assumed throughout; ``starting`` only where the number begins, and
    ``going`` only where another follows. Under ``base_control`` the base must fail, under
    ``step_control`` the step.
    """

    property: Property
    situation: type
    first: Callable[[Any], Any]
    following: Callable[[Any], Any]
    statement: Callable[[Any], Term]
    base_control: Control
    step_control: Control
    unfolding: Callable[[Any], Term] = _always
    given: Callable[[Any], Term] = _always
    starting: Callable[[Any], Term] = _always
    going: Callable[[Any], Term] = _always


@attrs.frozen
class LemmaCitation:
    """A lemma, and which of its situations a theorem uses, for each situation of the theorem."""

    lemma: Lemma
    of: Callable[[Any], Any]


@attrs.frozen
class Theorem:
    """A property of one transition, in every situation of a kind where a hypothesis holds.

    ``cites`` are lemmas on which the proof rests. ``runnable``
    restricts counterexamples to those that values show too; it does not restrict the proof.
    """

    property: Property
    transition: str
    situation: type
    hypothesis: Callable[[Any], Term]
    claim: Callable[[Any], Term]
    control: Control
    cites: tuple[LemmaCitation, ...] = ()
    runnable: Callable[[Any], Term] = _always

    def name(self) -> str:
        """Return the theorem's name: the transition and the property."""
        return f"{self.transition} {self.property.name}"


Claim = Callable[..., Term]
Controls = Control | Mapping[str, Control] | Callable[..., Control]
Transitions = str | list[Any] | Mapping[str, tuple[Any, ...]]


@attrs.frozen
class Subject:
    """What several theorems are about: their source, a kind of situation, and what holds of it.

    ``given`` is the hypothesis, where a theorem names none of its own. ``runnable`` as in
    ``Theorem``.
    """

    source: str
    situation: type
    given: Claim = lambda *_situation: True
    runnable: Claim = lambda _s: True

    def theorem(
        self,
        *numbers: int,
        of: Transitions,
        control: Controls,
        given: Claim | None = None,
        where: Claim | None = None,
        cites: tuple[LemmaCitation, ...] = (),
    ) -> Callable[[Claim], tuple[Theorem, ...]]:
        """Make theorems of a claim: it has the property's name, and its docstring the sentence.

        There is one for each transition that ``of`` names. A mapping has further arguments of the
        claim, of ``given``, ``where`` and ``control``; so has each thing with a name. ``where`` is
        assumed besides what is given. ``control`` may be one for each, by name or by arguments.
        """

        def stated(claim: Claim) -> tuple[Theorem, ...]:
            sentence = " ".join((claim.__doc__ or "").partition("\n\n")[0].split())
            known = Property(claim.__name__, sentence, self.source, numbers)
            return tuple(
                Theorem(
                    known,
                    name,
                    self.situation,
                    _both(self.given if given is None else about(given, *more), where, more),
                    about(claim, *more),
                    _control_of(control, name, more),
                    cites,
                    self.runnable,
                )
                for name, more in _arguments(of).items()
            )

        return stated


def _both(given: Claim, where: Claim | None, more: tuple[Any, ...]) -> Claim:
    if where is None:
        return given
    return lambda s: where(s, *more) if given(s) else False


def _control_of(control: Controls, name: str, more: tuple[Any, ...]) -> Control:
    if isinstance(control, Control):
        return control
    return control[name] if isinstance(control, Mapping) else control(*more)


def _arguments(of: Transitions) -> Mapping[str, tuple[Any, ...]]:
    if isinstance(of, str):
        return {of: ()}
    return of if isinstance(of, Mapping) else {each.name: (each,) for each in of}


def theorems_in(module: Mapping[str, object]) -> tuple[Theorem, ...]:
    """Return the theorems that the names of a module stand for, in their order.

    A lemma is its base and its step.
    """
    stated = (obligations(v) if isinstance(v, Lemma) else v for v in module.values())
    each = chain.from_iterable(value for value in stated if isinstance(value, tuple))
    return tuple(theorem for theorem in each if isinstance(theorem, Theorem))


PARTS = BASE, STEP = "base", "step"


def one_more(name: str) -> Callable[[Any], Any]:
    """Return the function that adds one to this number of a situation."""
    return lambda s: attrs.evolve(s, **{name: getattr(s, name) + 1})


def obligations(lemma: Lemma) -> tuple[Theorem, Theorem]:
    """Return the base and the step, which together prove the lemma."""

    def begins(s: Any) -> Term:  # noqa: ANN401 - any situation
        if not lemma.starting(s):
            return False
        first = lemma.first(s)
        return conjunction(lemma.given(first), lemma.unfolding(first))

    def goes_on(s: Any) -> Term:  # noqa: ANN401 - any situation
        before = conjunction(lemma.given(s), lemma.going(s), lemma.statement(s))
        return conjunction(before, lemma.unfolding(lemma.following(s)))

    def part(name: str, given: Claim, of: Callable[[Any], Any], control: Control) -> Theorem:
        known, situation = lemma.property, lemma.situation
        return Theorem(known, name, situation, given, lambda s: lemma.statement(of(s)), control)

    base = part(BASE, begins, lemma.first, lemma.base_control)
    return base, part(STEP, goes_on, lemma.following, lemma.step_control)


def instance(citation: LemmaCitation, situation: object) -> Term:
    """Return what the lemma states of one situation."""
    cited = citation.of(situation)
    return implies(citation.lemma.given(cited), citation.lemma.statement(cited))
