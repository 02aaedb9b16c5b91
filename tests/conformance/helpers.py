"""What tests of several kits share."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import attrs

from conformance.goals import Goal
from conformance.kit import AnyKit
from conformance.shrink import shrunk

C = TypeVar("C")


Seen = dict[str, set[bool]]
"""What the predicate of each situation returned."""


def noting(goals: Iterable[Goal], seen: Seen) -> Iterator[Goal]:
    """Yield the goals with predicates that note what they return."""

    def noted(goal: Goal) -> Goal:
        def covers(view: object) -> bool:
            seen.setdefault(goal.name, set()).add(holds := bool(goal.covers(view)))
            return holds

        return attrs.evolve(goal, covers=covers)

    return map(noted, goals)


def shrunk_to(kit: AnyKit, sequence: tuple[C, ...], *kinds: type) -> tuple[C, ...]:
    """Return the shortest sequence that still has commands of these kinds, in their order."""

    def fails(sequence: tuple[C, ...]) -> int | None:
        wanted = list(kinds)
        for at, ask in enumerate(sequence):
            if wanted and isinstance(ask, wanted[0]):
                wanted.pop(0)
            if not wanted:
                return at
        return None

    return shrunk(sequence, fails, kit)
