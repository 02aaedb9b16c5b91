"""Number distinct values in the order in which they first occur."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interned(Generic[T]):
    """Distinct values, numbered from 0."""

    def __init__(self, values: Iterable[T] = ()) -> None:
        """Begin with these values."""
        self._values: list[T] = []
        self._numbers: dict[T, int] = {}
        for value in values:
            self.number(value)

    def number(self, value: T) -> int:
        """Return the number of a value, a new one if it was not seen before."""
        number = self._numbers.setdefault(value, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number

    def __getitem__(self, number: int) -> T:
        """Return the value of that number."""
        return self._values[number]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._values)

    def __contains__(self, value: T) -> bool:
        """Return whether the value was seen."""
        return value in self._numbers
