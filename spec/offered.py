"""Progress: available records are offered, and what is finished makes room for others."""

from collections.abc import Iterable, Iterator
from heapq import merge

from model.guards import Guard
from model.operations import Acquire
from model.ranges import PassedOver, runs
from model.whole_state import Delayed
from spec.log import Extent, hole_end, overlapping, readable_end
from spec.partition import SharePartition, being_written, is_being_written, require
from spec.record import is_acquirable
from spec.window import first_unfinished, tracked


def note_fetch(
    partition: SharePartition, operation: Acquire, taken: list[int]
) -> tuple[PassedOver, ...]:
    """Return the available records that fetches passed over, and how many did.

    In KIP-932 a fetch begins with the first AVAILABLE record, so that every available record is
    delivered, in whatever order. A fetch passes over those below the last that it takes, or over
    the first if it takes nothing. Only to acquire a record ends its count.

    Guard: at most so many fetches pass over the same record.
    """
    before, start = partition.passed_over, partition.window.start_offset
    if operation.max_fetch_records == 0:
        return before
    passed = _passed_over(partition, operation, taken)
    if not passed and not before:
        return ()
    counts = {offset: fetches for offset, fetches in _each(before) if offset >= start}
    for offset in taken:
        counts.pop(offset, None)
    bound = partition.profile.offered_within
    for offset in passed:
        fetches = counts.get(offset, 0) + 1
        detail = f"offset {offset} is available, and {fetches} fetches passed over it"
        require(fetches <= bound, Guard.RECORD_IS_OFFERED, detail)
        counts[offset] = fetches
    return tuple(PassedOver(*run) for run in runs(sorted(counts.items())))


def note_full(partition: SharePartition) -> Delayed | None:
    """Return the start offset of a window that stays full, and how many fetches found it full.

    Nothing new is acquired before the start offset moves (KIP-932, Managing the SPSO and SPEO). It
    may wait until the write of its record is answered: a fetch before that does not count.

    Guard: at most so many fetches find the same start offset, with something finished there.
    """
    start, stuck = partition.window.start_offset, partition.stuck
    if is_being_written(partition, start):
        return stuck
    furthest = first_unfinished(partition.window, partition.log)
    if furthest == start:
        return None
    fetches = stuck.fetches + 1 if stuck and stuck.offset == start else 1
    detail = f"all is finished from {start} to {furthest}, and {fetches} fetches found it full"
    bound = partition.profile.offered_within
    require(fetches <= bound, Guard.FINISHED_LEAVES_FULL_WINDOW, detail)
    return Delayed(start, fetches)


def _due_start(partition: SharePartition) -> int:
    """Return where the start offset has to be: not past a record whose write is outstanding."""
    start = partition.window.start_offset
    written = [max(each.first, start) for each in being_written(partition) if each.last >= start]
    return min([first_unfinished(partition.window, partition.log), *written])


def _each(ranges: Iterable[PassedOver]) -> Iterator[tuple[int, int]]:
    for each in ranges:
        yield from ((offset, each.fetches) for offset in range(each.first, each.last + 1))


def _passed_over(partition: SharePartition, operation: Acquire, taken: list[int]) -> list[int]:
    """Return the records that the fetch could have acquired and did not, ascending."""
    mine, highest = set(taken), taken[-1] if taken else None
    passed: list[int] = []
    for offset in _offerable(partition, operation):
        if highest is None:
            return [offset]
        if offset > highest:
            break
        if offset not in mine and offset not in passed[-1:]:
            passed.append(offset)
    return passed


def _offerable(partition: SharePartition, operation: Acquire) -> Iterator[int]:
    """Yield the offsets that a fetch may acquire, ascending: what was produced, and what it read.

    There is room past the window's end as far as there would be if the start offset had moved to
    where it has to be. A record that the log lacks is archived once a fetch has read past it
    (``read.notice``).
    """
    window, log = partition.window, partition.log
    first = max(window.start_offset, log.start_offset)
    end = readable_end(log, partition.config.isolation_level)
    last = operation.log_batches[-1].last if operation.log_batches else -1
    available = (
        offset
        for offset in tracked(window, first, end)
        if is_acquirable(window.records[offset])
        and (operation.fetch_offset <= offset <= last or hole_end(log, offset) is None)
    )
    if window.records:
        room = _due_start(partition) + partition.config.partition_max_record_locks
        end = min(end, max(window.end_offset, room))
    produced = overlapping(log, first, end - 1)
    read = ((batch.first, batch.last) for batch in operation.log_batches)
    return merge(available, *(_undelivered(partition, of, first, end) for of in (produced, read)))


def _undelivered(
    partition: SharePartition, batches: Iterable[Extent], first: int, end: int
) -> Iterator[int]:
    window, log = partition.window, partition.log
    for batch in batches:
        for offset in range(max(batch[0], first), min(batch[1] + 1, end)):
            if offset not in window.records and hole_end(log, offset) is None:
                yield offset
