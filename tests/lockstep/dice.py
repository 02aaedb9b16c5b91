"""Decisions drawn by Hypothesis, which can shrink them."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class HypothesisDice:
    """Decisions drawn by Hypothesis: slower, and shrunk when a test fails."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def number(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))

    def one_of(self, items: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(items))

    def happens(self, probability: float) -> bool:
        return self._data.draw(st.integers(0, 99)) >= 100 - 100 * probability
