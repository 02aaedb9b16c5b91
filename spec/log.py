"""What is known of the log under a share-partition: its extent, and offsets that it lacks."""

from bisect import bisect_left, bisect_right

import attrs


@attrs.frozen
class Log:
    """The log from ``start_offset`` (inclusive) to ``end_offset`` (exclusive, the high watermark).

    ``holes`` are disjoint, ascending ranges (first, last), both inclusive, of offsets that hold no
    record: natural gaps between batches, and what compaction removed (KIP-1226).
    """

    start_offset: int
    end_offset: int
    holes: tuple[tuple[int, int], ...] = ()


def learn_hole(log: Log, first: int, last: int) -> Log:
    """Return the log with the offsets first..last known to hold no record."""
    if last < first:
        return log
    low = bisect_left(log.holes, first, key=lambda hole: hole[1] + 1)
    high = bisect_right(log.holes, last, key=lambda hole: hole[0] - 1)
    joined = log.holes[low:high]
    first = min([first, *(hole[0] for hole in joined)])
    last = max([last, *(hole[1] for hole in joined)])
    return attrs.evolve(log, holes=(*log.holes[:low], (first, last), *log.holes[high:]))


def learn_read(log: Log, at: int, batches: tuple[tuple[int, int], ...]) -> Log:
    """Return the log after a read at offset ``at`` gave these batches; it skipped holes."""
    for first, last in batches:
        log = learn_hole(log, at, first - 1)
        at = max(at, last + 1)
    return log if at <= log.end_offset else attrs.evolve(log, end_offset=at)


def hole_end(log: Log, offset: int) -> int | None:
    """Return the last offset of the hole that holds ``offset``, or None if it is in no hole."""
    index = bisect_left(log.holes, offset, key=lambda hole: hole[1])
    if index < len(log.holes) and log.holes[index][0] <= offset:
        return log.holes[index][1]
    return None


def forget_below(log: Log, offset: int) -> Log:
    """Return the log without the holes that end below ``offset``."""
    if not log.holes or log.holes[0][1] >= offset:
        return log
    return attrs.evolve(log, holes=log.holes[bisect_left(log.holes, offset, key=lambda h: h[1]) :])
