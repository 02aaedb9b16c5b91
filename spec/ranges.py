"""Conversion between single offsets and ranges of offsets of equal value."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from model.ranges import OffsetRange

T = TypeVar("T")


def runs(items: Iterable[tuple[int, T]]) -> Iterator[tuple[int, int, T]]:
    """Yield (first, last, value) for each longest run of consecutive offsets of equal value.

    ``items`` ascend by offset, no value is None; both ends of a run are inclusive.
    """
    first = last = -2
    current: T | None = None
    for offset, value in items:
        if offset == last + 1 and value == current:
            last = offset
            continue
        if current is not None:
            yield first, last, current
        first = last = offset
        current = value
    if current is not None:
        yield first, last, current


def offsets(ranges: Iterable[OffsetRange]) -> Iterator[int]:
    """Yield every offset of the ranges, in their order."""
    return (offset for part in ranges for offset in range(part.first, part.last + 1))
