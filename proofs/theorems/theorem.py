"""A theorem, and the change to a rule under which its proof must fail."""

from collections.abc import Callable
from typing import Any

import attrs

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


def laws(source: str) -> Callable[..., Property]:
    """Return the constructor of properties of one source: name, sentence and numbers."""
    return lambda name, sentence, *numbers: Property(name, sentence, source, numbers)


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
