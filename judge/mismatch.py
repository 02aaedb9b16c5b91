"""One difference between what was recorded and what was expected, and where two lists differ."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from model.guards import Difference

Segment = tuple[int, int, Any]
"""First and last offset, both inclusive, and what is known of them."""


@attrs.frozen
class Mismatch:
    """One difference, with both sides in words; ``offset`` where it concerns a record."""

    difference: Difference
    recorded: str
    expected: str
    offset: int | None = None


def first_difference(
    first: Iterable[Segment], other: Iterable[Segment]
) -> tuple[int, Any, Any] | None:
    """Return the first offset at which two ascending lists differ, and the value in each.

    The value is None where a list has no segment.
    """
    different = next(differences(first, other), None)
    return None if different is None else (different[0], *different[2:])


def differences(
    first: Iterable[Segment], other: Iterable[Segment]
) -> Iterator[tuple[int, int, Any, Any]]:
    """Yield the offsets at which two ascending lists differ, first and last, and both values."""
    first_walk, other_walk = _Walk(first), _Walk(other)
    while segments := [walk.segment for walk in (first_walk, other_walk) if walk.segment]:
        offset = min(segment[0] for segment in segments)
        bounds = (s[1] if s[0] <= offset else s[0] - 1 for s in segments)
        last = min(bounds)
        values = first_walk.value(offset), other_walk.value(offset)
        if values[0] != values[1]:
            yield (offset, last, *values)
        first_walk.skip(last)
        other_walk.skip(last)


def mismatch_at(
    difference: Difference, first: tuple[int, Any, Any], text: Callable[[Any], str]
) -> Mismatch:
    """Return the mismatch at an offset, as ``first_difference`` has it, each side in words."""
    offset, recorded, expected = first
    where = f"offset {offset}"
    return Mismatch(difference, f"{where} {text(recorded)}", f"{where} {text(expected)}", offset)


class _Walk:
    """A position in an ascending list; ``segment`` is the rest of the current segment."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._rest = iter(segments)
        self.segment: Segment | None = next(self._rest, None)

    def value(self, offset: int) -> object:
        return self.segment[2] if self.segment and self.segment[0] <= offset else None

    def skip(self, last: int) -> None:
        while self.segment and self.segment[1] <= last:
            self.segment = next(self._rest, None)
        if self.segment and self.segment[0] <= last:
            self.segment = (last + 1, *self.segment[1:])
