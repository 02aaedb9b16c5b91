"""Arrays that grow: columns, functions of two numbers, and sorted sets."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_UNKNOWN = -(2**62)


class Column:
    """Whole numbers in a row; ``values`` is valid until more are added."""

    def __init__(self) -> None:
        """Begin empty."""
        self._room = np.zeros(1024, np.int64)
        self._length = 0

    def extend(self, values: Sequence[int]) -> None:
        """Add values at the end."""
        end = self._length + len(values)
        if end > len(self._room):
            wider = np.zeros(2 * end, np.int64)
            wider[: self._length] = self.values
            self._room = wider
        self._room[self._length : end] = values
        self._length = end

    @property
    def values(self) -> Ints:
        """All values so far."""
        return self._room[: self._length]


class Table:
    """A function of two small numbers, computed once for each pair that is asked for."""

    def __init__(self, function: Callable[[int, int], int]) -> None:
        """Start without values."""
        self._function = function
        self._known = np.full((64, 64), _UNKNOWN, np.int64)

    def __call__(self, first: Ints, second: Ints) -> Ints:
        """Return the function of each pair."""
        if not len(first):
            return first
        self._widen(int(first.max()), int(second.max()))
        results: Ints = self._known[first, second]
        missing = results == _UNKNOWN
        if missing.any():
            pairs = np.unique((first[missing] << 32) | second[missing])
            for pair in pairs.tolist():
                row, column = pair >> 32, pair & 0xFFFFFFFF
                self._known[row, column] = self._function(row, column)
            results = self._known[first, second]
        return results

    def _widen(self, first: int, second: int) -> None:
        rows, columns = self._known.shape
        if first < rows and second < columns:
            return
        wider = np.full((max(rows, 2 * first), max(columns, 2 * second)), _UNKNOWN, np.int64)
        wider[:rows, :columns] = self._known
        self._known = wider


class Sorted:
    """A set of whole numbers, as ascending arrays, each more than twice as long as the next."""

    def __init__(self) -> None:
        """Begin empty."""
        self._runs: list[Ints] = []

    def add(self, values: Ints) -> None:
        """Add ascending values, none of which is there."""
        while self._runs and len(self._runs[-1]) <= 2 * len(values):
            values = np.concatenate([self._runs.pop(), values])
            values.sort(kind="stable")
        self._runs.append(values)

    def has(self, values: Ints) -> npt.NDArray[np.bool_]:
        """Return which of the values are there."""
        present = np.zeros(len(values), np.bool_)
        for run in self._runs:
            if len(run):
                places = np.minimum(np.searchsorted(run, values), len(run) - 1)
                present |= run[places] == values
        return present

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(map(len, self._runs))
