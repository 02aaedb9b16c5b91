"""Where a driver's decisions come from: Hypothesis, which can shrink them, or a seed."""

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

from hypothesis import strategies as st

__all__ = ["Dice", "HypothesisDice", "SeededDice"]

T = TypeVar("T")


class Dice(Protocol):
    """A source of decisions; a smaller decision is a simpler one."""

    def number(self, low: int, high: int) -> int:
        """Return a number from low to high, both inclusive."""

    def one_of(self, items: Sequence[T]) -> T:
        """Return one of the items; the first is the simplest."""

    def rarely(self) -> bool:
        """Return True about once in ten times."""


class SeededDice:
    """Decisions from a seed: fast, for volume."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - tests need no secrets

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def one_of(self, items: Sequence[T]) -> T:
        return self._random.choice(items)

    def rarely(self) -> bool:
        return self._random.random() < 0.1


class HypothesisDice:
    """Decisions drawn by Hypothesis: slower, and shrunk when a test fails."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def number(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))

    def one_of(self, items: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(items))

    def rarely(self) -> bool:
        return self._data.draw(st.integers(0, 9)) == 9
