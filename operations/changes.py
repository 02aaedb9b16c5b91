"""What an event changes in the window of a share-partition."""

from collections.abc import Iterable
from operator import attrgetter

import attrs

from judge.mismatch import Segment, differences
from judge.words import ranges_text, record_text
from model.ranges import RecordRange, join_neighbours, record_range
from model.snapshot import SharePartitionSnapshot

_KNOWN = attrgetter("state", "delivery_count", "owner", "pending")


@attrs.frozen
class Change:
    """Offsets from ``first`` to ``last`` (inclusive) whose record changed in the same way.

    The offsets of ``before`` and ``after`` are those of the change; None: not in the window, or no
    record is known there.
    """

    first: int
    last: int
    before: RecordRange | None
    after: RecordRange | None


def changes(before: SharePartitionSnapshot, after: SharePartitionSnapshot) -> list[Change]:
    """Return what differs between two states, ascending; nothing where records are not recorded."""
    if after.records is None or before.records is None:
        return []
    sides = (map(_segment, side) for side in _without_common(_inside(before), _inside(after)))
    pieces = ((first, last, values) for first, last, *values in differences(*sides))
    return [
        Change(first, last, *(value and record_range(first, last, *value) for value in values))
        for first, last, values in join_neighbours(pieces)
    ]


def _segment(record: RecordRange) -> Segment:
    return record.first, record.last, _KNOWN(record)


def change_texts(changed: Iterable[Change], after: SharePartitionSnapshot) -> list[str]:
    """Return a line for each kind of change: ``AVAILABLE(1) → ACQUIRED(2) c1: 7–9, 12``.

    ``after`` is the state after the event.
    """
    kinds: dict[str, list[Change]] = {}
    for change in changed:
        old = "new" if change.before is None else state_text(change.before)
        if change.after is not None:
            new = state_text(change.after)
        else:
            new = "below the start offset" if change.last < after.start_offset else "no record"
        kinds.setdefault(f"{old} → {new}", []).append(change)
    return [f"{kind}: {ranges_text(same)}" for kind, same in kinds.items()]


def window_texts(state: SharePartitionSnapshot) -> list[str]:
    """Return a line for each state that records of a window have: ``ACQUIRED(1) c1: 7–9, 12``."""
    kinds: dict[str, list[RecordRange]] = {}
    for record in state.records or ():
        kinds.setdefault(state_text(record), []).append(record)
    return [f"{kind}: {ranges_text(same)}" for kind, same in kinds.items()]


def state_text(record: RecordRange) -> str:
    """Return ``ACQUIRED(1) c1`` of a record."""
    return record_text(record).split(" ", 1)[1]


def _inside(state: SharePartitionSnapshot) -> list[RecordRange]:
    """Return the records of the window: a recording may show others below it."""
    low, high = state.start_offset, state.end_offset - 1
    return [
        r if r.first >= low and r.last <= high else _cut(r, max(r.first, low), min(r.last, high))
        for r in state.records or ()
        if r.last >= low and r.first <= high
    ]


def _cut(record: RecordRange, first: int, last: int) -> RecordRange:
    return attrs.evolve(record, first=first, last=last)


def _without_common(
    old: list[RecordRange], new: list[RecordRange]
) -> tuple[list[RecordRange], list[RecordRange]]:
    """Return two lists without what both begin and end with: most events change little."""
    least = min(len(old), len(new))
    head = next((i for i in range(least) if old[i] != new[i]), least)
    least -= head
    tail = next((i for i in range(least) if old[-1 - i] != new[-1 - i]), least)
    return old[head : len(old) - tail], new[head : len(new) - tail]
