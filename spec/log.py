"""What is known of the log: its extent, its batches, its natural gaps and compacted offsets."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import attrs

from model.config import IsolationLevel

Extent = tuple[int, int]
"""The first and the last offset, both inclusive."""


@attrs.frozen
class Log:
    """The log from ``start_offset`` (inclusive) to ``end_offset`` (exclusive, the high watermark).

    ``batches`` are the log batches that were produced, ascending; ``holes`` are disjoint, ascending
    ranges of offsets that hold no record: natural gaps between batches, such as control records,
    and compacted offsets (KIP-1226). An offset in a batch and in no hole exists; of one that is in
    neither nothing is known. ``stable_offset`` is the last stable offset (exclusive): where the
    first open transaction begins. Without ``known`` nobody records what becomes of the log: it is
    taken to be what reads show.
    """

    start_offset: int
    end_offset: int
    holes: tuple[Extent, ...] = ()
    batches: tuple[Extent, ...] = ()
    stable_offset: int = 0
    known: bool = True


def readable_end(log: Log, isolation_level: IsolationLevel) -> int:
    """Return the offset up to which a fetch may read (exclusive; KIP-932, isolation level)."""
    if isolation_level is IsolationLevel.READ_COMMITTED:
        return min(log.end_offset, log.stable_offset)
    return log.end_offset


def batch_at(log: Log, offset: int) -> Extent | None:
    """Return the produced batch in which the offset lies, or None."""
    index = bisect_left(log.batches, offset, key=lambda batch: batch[1])
    if index < len(log.batches) and log.batches[index][0] <= offset:
        return log.batches[index]
    return None


def overlapping(log: Log, first: int, last: int) -> tuple[Extent, ...]:
    """Return the produced batches that share an offset with first..last."""
    low = bisect_left(log.batches, first, key=lambda batch: batch[1])
    high = bisect_right(log.batches, last, key=lambda batch: batch[0])
    return log.batches[low:high]


def first_existing(log: Log, first: int, last: int) -> int | None:
    """Return the lowest offset of first..last that the log is known to hold, or None."""
    for batch in overlapping(log, first, last):
        offset = max(batch[0], first)
        while (gap := hole_end(log, offset)) is not None:
            offset = gap + 1
        if offset <= min(batch[1], last):
            return offset
    return None


def learn_hole(log: Log, first: int, last: int) -> Log:
    """Return the log with the offsets first..last known to hold no record."""
    if last < first:
        return log
    low = bisect_left(log.holes, first, key=lambda hole: hole[1] + 1)
    high = bisect_right(log.holes, last, key=lambda hole: hole[0] - 1)
    joined = log.holes[low:high]
    if len(joined) == 1 and joined[0][0] <= first and last <= joined[0][1]:
        return log
    first = min([first, *(hole[0] for hole in joined)])
    last = max([last, *(hole[1] for hole in joined)])
    return attrs.evolve(log, holes=(*log.holes[:low], (first, last), *log.holes[high:]))


def learn_read(log: Log, offset: int, batches: tuple[Extent, ...]) -> Log:
    """Return the log after a read at ``offset`` gave these batches; what it skipped is a hole.

    Only where nobody records how long the log is can a read show that it is longer than before.
    """
    for first, last in batches:
        log = learn_hole(log, offset, first - 1)
        offset = max(offset, last + 1)
    if log.known or offset <= log.end_offset:
        return log
    return attrs.evolve(log, end_offset=offset, stable_offset=max(offset, log.stable_offset))


def hole_end(log: Log, offset: int) -> int | None:
    """Return the last offset of the hole that holds ``offset``, or None if it is in no hole."""
    index = bisect_left(log.holes, offset, key=lambda hole: hole[1])
    if index < len(log.holes) and log.holes[index][0] <= offset:
        return log.holes[index][1]
    return None


def outside_holes(log: Log, first: int, end: int) -> Iterator[int]:
    """Yield the offsets from ``first`` to ``end`` (exclusive) that are in no hole."""
    low = bisect_left(log.holes, first, key=lambda hole: hole[1])
    high = bisect_left(log.holes, end, key=lambda hole: hole[0])
    for hole in (*log.holes[low:high], (end, end)):
        yield from range(first, hole[0])
        first = hole[1] + 1


def forget_below(log: Log, offset: int) -> Log:
    """Return the log without the holes and batches that end below ``offset``."""
    holes, batches = _from(log.holes, offset), _from(log.batches, offset)
    if holes is log.holes and batches is log.batches:
        return log
    return attrs.evolve(log, holes=holes, batches=batches)


def truncate(log: Log, end_offset: int) -> Log:
    """Return what is known of the offsets below ``end_offset`` (exclusive)."""
    return attrs.evolve(
        log, holes=_up_to(log.holes, end_offset), batches=_up_to(log.batches, end_offset)
    )


def _from(extents: tuple[Extent, ...], offset: int) -> tuple[Extent, ...]:
    if not extents or extents[0][1] >= offset:
        return extents
    return extents[bisect_left(extents, offset, key=lambda extent: extent[1]) :]


def _up_to(extents: tuple[Extent, ...], end: int) -> tuple[Extent, ...]:
    return tuple((first, min(last, end - 1)) for first, last in extents if first < end)
