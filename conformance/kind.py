"""What tells one kind of implementation under test from another, as data for the search."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, Protocol

import attrs

from conformance.cores.exercised import Exercised, exercised
from conformance.deviation import Deviation, Step

__all__ = ["Ask", "Kind", "Stage"]

Ask = Any
"""A frozen value of one of the classes that a kind has."""


class Stage(Protocol):
    """One implementation, fresh, with a judge beside it.

    ``steps`` is what happened, in words; ``answered`` counts it by operation and status.
    """

    steps: list[Step]
    answered: Counter[str]

    @property
    def over(self) -> bool:
        """Whether the judge cannot follow any more."""

    def ask(self, ask: Ask) -> Deviation | None:
        """Ask, and judge the answer. Raises TargetError if there is none."""

    def close(self) -> None:
        """Let go what was made for this stage."""


@attrs.frozen
class Kind:
    """A kind of implementation: how it is asked, and how a sequence of asks is made simpler.

    ``asks`` is the union of its asks. ``stage`` makes a stage of a target and its hello; ``begin``
    draws a mixture and the first ask for a hello, and ``next_ask`` each later one. ``simpler``
    yields asks that are simpler in one respect, the simplest first. ``produced`` is how many
    offsets an ask appends to a log, and ``moved_down`` the ask that names offsets so many less.
    ``features`` says what tells an ask from others: the name of its class, and what is unusual.
    ``plainer`` yields whole sequences that are simpler, such as with fewer members.
    ``met`` is what a stage has met, by name; nothing where none counts it. ``exercised`` is what
    such counts come to, for what a target can do. ``always``: every ask is judged by the invariants
    of a share-partition.
    ``tries``: how often a known sequence is played before its deviation counts as gone; what runs
    in real time can miss one.
    """

    asks: Any
    stage: Callable[[Any, Any], Stage]
    begin: Callable[[Random, Any], tuple[Any, Ask]]
    next_ask: Callable[[Random, Any, Any], Ask]
    simpler: Callable[[Ask], Iterable[Ask]]
    produced: Callable[[Ask], int]
    moved_down: Callable[[Ask, int], Ask]
    met: Callable[[Any], Mapping[str, int]] = lambda _stage: {}
    exercised: Callable[[Mapping[str, int], Any], Exercised] = exercised
    always: bool = True
    plainer: Callable[[tuple[Ask, ...]], Iterable[tuple[Ask, ...]]] = lambda _sequence: ()
    features: Callable[[Ask], Iterable[str]] = lambda ask: (type(ask).__name__,)
    tries: int = 1

    def features_of(self, sequence: Sequence[Ask]) -> tuple[str, ...]:
        """Return what tells a sequence from others, sorted."""
        return tuple(sorted({feature for ask in sequence for feature in self.features(ask)}))
