"""The in-flight records of a share-partition: the window from its SPSO to its SPEO."""

from collections.abc import Iterable, Mapping

import attrs
from immutables import Map

from model.outcome import Choice
from spec.log import Log, hole_end
from spec.record import Record, is_acquirable, is_finished, is_held, is_terminal


@attrs.frozen
class Window:
    """The records from ``start_offset`` (SPSO, inclusive) to ``end_offset`` (SPEO, exclusive).

    ``records`` maps an offset to its record. An offset of the window without a record was never
    delivered: it is a natural gap, it was compacted, or a new leader has yet to read it. ``held``,
    the offsets under an acquisition lock, and the counts ``complete`` and ``acquirable`` follow
    from ``records``; with them no operation has to scan the whole window.
    """

    start_offset: int
    end_offset: int
    records: Map[int, Record] = Map()
    held: Map[int, None] = Map()
    complete: int = 0
    acquirable: int = 0


def replace(window: Window, changes: Mapping[int, Record]) -> Window:
    """Return the window in which each offset of ``changes`` has the record given for it."""
    if not changes:
        return window
    complete, acquirable = window.complete, window.acquirable
    records, held = window.records.mutate(), window.held.mutate()
    for offset, record in changes.items():
        before = records.get(offset)
        if before is not None:
            complete -= is_terminal(before)
            acquirable -= is_acquirable(before)
            if is_held(before):
                del held[offset]
        complete += is_terminal(record)
        acquirable += is_acquirable(record)
        if is_held(record):
            held[offset] = None
        records[offset] = record
    ends = window.start_offset, window.end_offset
    return Window(*ends, records.finish(), held.finish(), complete, acquirable)


def extend(window: Window, end_offset: int) -> Window:
    """Return the window up to ``end_offset`` (SPEO, exclusive), or as it is if that is lower."""
    if end_offset <= window.end_offset:
        return window
    return attrs.evolve(window, end_offset=end_offset)


def drop_below(window: Window, start_offset: int) -> Window:
    """Return the window from ``start_offset`` on: earlier records are no longer in flight."""
    complete, acquirable = window.complete, window.acquirable
    records, held = window.records.mutate(), window.held.mutate()
    for offset in tracked(window, window.start_offset, start_offset):
        record = records.pop(offset)
        complete -= is_terminal(record)
        acquirable -= is_acquirable(record)
        if is_held(record):
            del held[offset]
    end = max(window.end_offset, start_offset)
    return Window(start_offset, end, records.finish(), held.finish(), complete, acquirable)


def tracked(window: Window, first: int, end: int) -> Iterable[int]:
    """Return the offsets of records from ``first`` to ``end`` (exclusive), ascending."""
    first, end = max(first, window.start_offset), min(end, window.end_offset)
    if end - first <= len(window.records):
        return [offset for offset in range(first, end) if offset in window.records]
    return sorted(offset for offset in window.records if first <= offset < end)


def archived_counts(window: Window, choice: Choice) -> dict[int, int | None]:
    """Return the records that an operation may archive as chosen, with their delivery counts.

    Of what its start offset passes the count is not known, None.
    """
    passed = tracked(window, window.start_offset, choice.start_offset or 0)
    counts: dict[int, int | None] = dict.fromkeys(passed)
    for part in choice.archived or ():
        counts |= dict.fromkeys(tracked(window, part.first, part.last + 1), part.delivery_count)
    return counts if choice.archived is not None else {}


def first_unfinished(window: Window, log: Log) -> int:
    """Return the offset past which the start offset may not move (KIP-932, Managing the SPSO).

    It is the first record whose delivery is not complete, or whose write is outstanding, or that
    was never delivered; or the end of the window. The start offset passes natural gaps and
    compacted offsets.
    """
    offset = window.start_offset
    while offset < window.end_offset:
        after = passed(window, log, offset)
        if after == offset:
            return offset
        offset = after
    return window.end_offset


def passed(window: Window, log: Log, offset: int) -> int:
    """Return the offset up to which the start offset may move on from ``offset``.

    It passes a finished record, and a natural gap or compacted offsets that hold no record in
    flight. Anything else stops it.
    """
    record = window.records.get(offset)
    if record is not None:
        return offset + 1 if is_finished(record) else offset
    gap = hole_end(log, offset)
    if gap is None:
        return offset
    return next(iter(tracked(window, offset, gap + 1)), gap + 1)
