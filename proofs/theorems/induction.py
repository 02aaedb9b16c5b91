"""The proof of lemmas by induction, and what a cited lemma states.

The principle of induction is not proved here: what holds of the first number, and of each
successor of a number of which it holds, holds of all.
"""

from collections.abc import Callable
from typing import Any

import attrs

from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Lemma, LemmaCitation, Theorem
from spec.logic import Term

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

    base = Theorem(
        lemma.property,
        BASE,
        lemma.situation,
        begins,
        lambda s: lemma.statement(lemma.first(s)),
        lemma.base_control,
    )
    step = Theorem(
        lemma.property,
        STEP,
        lemma.situation,
        goes_on,
        lambda s: lemma.statement(lemma.following(s)),
        lemma.step_control,
    )
    return base, step


def instance(citation: LemmaCitation, situation: object) -> Term:
    """Return what the lemma states of one situation."""
    cited = citation.of(situation)
    return implies(citation.lemma.given(cited), citation.lemma.statement(cited))
