"""A value for every offset, kept by ranges."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

END = 2**63
"""The offset after all offsets."""


class Spans(Generic[T]):
    """Every offset from 0 on has a value; neighbours of equal value are one range."""

    def __init__(self, value: T) -> None:
        """Begin with the same value everywhere."""
        self._starts = [0]
        self._values = [value]

    def __len__(self) -> int:
        """Return the number of ranges."""
        return len(self._starts)

    def value_at(self, offset: int) -> T:
        """Return the value of one offset."""
        return self._values[bisect_right(self._starts, offset) - 1]

    def pieces(self, first: int = 0, last: int = END - 1) -> Iterator[tuple[int, int, T]]:
        """Yield (first, last, value) of each range in the offsets; both ends inclusive."""
        low, high = bisect_right(self._starts, first), bisect_right(self._starts, last)
        if low == high:  # As nearly everywhere.
            return iter(((first, last, self._values[low - 1]),))
        starts = self._starts[low:high]
        ends = (*(start - 1 for start in starts), last)
        return zip((first, *starts), ends, self._values[low - 1 : high], strict=False)

    def put(self, parts: Iterable[tuple[int, int, T]]) -> None:
        """Replace what contiguous, ascending ranges have by their values."""
        parts = list(parts)
        if not parts:
            return
        first, after = parts[0][0], parts[-1][1] + 1
        low = bisect_right(self._starts, first) - 1
        high = bisect_right(self._starts, after)
        begins = [(begin, value) for begin, _, value in parts]
        if low and self._starts[low] == first:
            low -= 1
        if self._starts[low] < first:
            begins.insert(0, (self._starts[low], self._values[low]))
        if after < END:
            begins.append((after, self._values[high - 1]))
            begins += zip(self._starts[high : high + 1], self._values[high : high + 1], strict=True)
            high += 1
        starts: list[int] = []
        values: list[T] = []
        for begin, value in begins:
            if not values or (values[-1] is not value and values[-1] != value):
                starts.append(begin)
                values.append(value)
        self._starts[low:high], self._values[low:high] = starts, values

    def change(self, first: int, last: int, changed: Callable[[T], T]) -> None:
        """Replace every value in the offsets by what it changes to."""
        self.put([(a, b, changed(value)) for a, b, value in self.pieces(first, last)])
