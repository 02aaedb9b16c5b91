"""What the kit wrote to a log, and which of it a fetch may have acquired and kept back."""

from collections.abc import Iterator, Sequence

import attrs

from conformance.wire.target import BatchOrigin
from model.config import IsolationLevel, SharePartitionConfig
from model.ranges import OffsetRange, number_of_offsets, offsets, ranges_of
from spec.log import readable_end
from spec.partition import SharePartition
from spec.share_request import acquirable
from spec.window import first_unfinished


@attrs.define
class WrittenLog:
    """The log of a partition to which the kit alone writes, from ``start`` to ``end`` (exclusive).

    ``aborted`` are those of its batches that belong to aborted transactions, ``open`` those of the
    open transaction, ``old`` those with timestamps of before the hour of by_duration. Until
    ``held_until`` (ms) a record that was deleted may be held.
    """

    start: int = 0
    end: int = 0
    batches: tuple[OffsetRange, ...] = ()
    aborted: tuple[OffsetRange, ...] = ()
    open: tuple[OffsetRange, ...] = ()
    old: tuple[OffsetRange, ...] = ()
    held_until: float = 0

    @property
    def stable(self) -> int:
        """The last stable offset: where the open transaction begins, or the end of the log."""
        return self.open[0].first if self.open else self.end

    @property
    def first_young(self) -> int:
        """What by_duration resolves to: the first offset that is not old, or the end of the log.

        A marker is as young as its transaction's end.
        """
        old = {*offsets(self.old)}
        return next((o for o in range(self.start, self.end) if o not in old), self.end)

    def append(self, batches: Sequence[OffsetRange], origin: BatchOrigin) -> None:
        """Append log batches; a marker follows those of a transaction that is aborted."""
        self.end = batches[-1].last + 1 + (origin is BatchOrigin.ABORTED)
        self.batches += (*batches,)
        self.aborted += (*batches,) if origin is BatchOrigin.ABORTED else ()
        self.open += (*batches,) if origin is BatchOrigin.OPEN else ()
        self.old += (*batches,) if origin is BatchOrigin.OLD else ()

    def deleted(self, before: int, held_until: float) -> None:
        """Delete the records below an offset, which are held until a time (ms) at the latest."""
        self.start, self.held_until = before, max(self.held_until, held_until)

    def ended(self, *, committed: bool) -> None:
        """Append the marker of the open transaction, whose batches are committed or aborted."""
        if not committed:
            self.aborted = tuple(sorted((*self.aborted, *self.open), key=lambda part: part.first))
        self.open = ()
        self.end += 1


def committed_only(config: SharePartitionConfig) -> bool:
    """Return whether fetches keep back data of aborted transactions."""
    return config.isolation_level is IsolationLevel.READ_COMMITTED


def free_of_aborted(partition: SharePartition, log: WrittenLog) -> list[list[int]]:
    """Return the available offsets of each aborted batch that has some, ascending.

    None under read_uncommitted, where no fetch keeps anything back.
    """
    if not committed_only(partition.config):
        return []
    free = set(acquirable(partition))
    batches = (range(batch.first, batch.last + 1) for batch in log.aborted)
    return [some for batch in batches if (some := [each for each in batch if each in free])]


def _kept_from_members(partition: SharePartition, log: WrittenLog) -> frozenset[int]:
    committed = committed_only(partition.config)
    return frozenset(offsets(log.aborted)) if committed else frozenset()


def deliverable(partition: SharePartition, log: WrittenLog, first: int) -> Iterator[int]:
    """Yield the available records from offset ``first`` on that a fetch does not keep back."""
    aborted = _kept_from_members(partition, log)
    return (each for each in acquirable(partition) if each >= first and each not in aborted)


def waiting_start(
    partition: SharePartition, log: WrittenLog, start: int, *, durable: bool = False
) -> int:
    """Return the lowest start offset of a broker that could have advanced it to ``start``.

    Only an acknowledgement has to move it past records that were kept back. What is ``durable`` may
    be of before the log started where it does.
    """
    aborted, least = _kept_from_members(partition, log), 0 if durable else log.start
    while start > least and start - 1 in aborted:
        start -= 1
    return start


def kept_back(
    partition: SharePartition, log: WrittenLog, given: tuple[OffsetRange, ...], most: int
) -> Iterator[tuple[OffsetRange, ...]]:
    """Yield what a fetch of at most ``most`` records may have kept back, the longest first.

    A fetch acquires available records in the order of the log. So it acquired every aborted one
    below the last record in the response (``given``), and perhaps those that follow, up to the next
    record that it would have returned: whole batches, or part of one if it reached its maximum or
    filled the window.
    """
    last = given[-1].last if given else -1
    free = free_of_aborted(partition, log)
    certain = [offset for batch in free for offset in batch if offset < last]
    end = readable_end(partition.log, partition.config.isolation_level)
    until = next(deliverable(partition, log, last + 1), end)
    further = [batch for batch in free if last < batch[0] < until]
    number = number_of_offsets(given)
    lengths = (
        _lengths(partition, log, further, most, number + len(certain)) if number < most else [0]
    )
    for length in lengths:
        yield ranges_of(certain + _joined(further)[:length])


def _lengths(
    partition: SharePartition, log: WrittenLog, batches: list[list[int]], most: int, number: int
) -> list[int]:
    """Return how many of these offsets a fetch may acquire after others, the most first."""
    flat, ends = _joined(batches), [0]
    for batch in batches:
        ends.append(ends[-1] + len(batch))
    limit, window = partition.config.partition_max_record_locks, partition.window
    waiting = waiting_start(partition, log, window.start_offset)
    starts = {waiting, window.start_offset, first_unfinished(window, partition.log), *flat[:1]}
    full = [sum(offset < start + limit for offset in flat) for start in starts]
    room = limit - (window.end_offset - waiting)
    enough = [min(len(flat), max(0, many - number)) for many in (most, room)]
    return sorted({*ends, *full, *enough}, reverse=True)


def _joined(batches: list[list[int]]) -> list[int]:
    return [offset for batch in batches for offset in batch]
