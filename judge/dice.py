"""Decisions of a driver that makes random histories."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Dice(Protocol):
    """A source of decisions; a smaller decision is a simpler one."""

    def number(self, low: int, high: int) -> int:
        """Return a number from low to high, both inclusive."""

    def one_of(self, items: Sequence[T]) -> T:
        """Return one of the items; the first is the simplest."""

    def happens(self, probability: float) -> bool:
        """Return True with this probability."""


class SeededDice:
    """Decisions from a seed: fast, for volume."""

    def __init__(self, seed: int | str) -> None:
        """Start a sequence of decisions that depends on the seed alone."""
        self._random = Random(seed)  # noqa: S311 - not a secret

    def number(self, low: int, high: int) -> int:
        """Return a number from low to high, both inclusive."""
        return self._random.randint(low, high)

    def one_of(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return self._random.choice(items)

    def happens(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random.random() < probability

    def weighted(self, weights: Mapping[T, float]) -> T:
        """Return one of the keys, as often as its weight says."""
        (item,) = self._random.choices(list(weights), list(weights.values()))
        return item
