"""What an event changes in the window of a share-partition."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import attrs

from judge.words import ranges_text, record_text
from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot


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
    old, new = _without_common(_inside(before), _inside(after))
    return list(_joined(_differences(old, new)))


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


def _differences(old: list[RecordRange], new: list[RecordRange]) -> Iterator[Change]:
    """Yield each stretch of offsets over which both lists are constant, where they differ."""
    edges = sorted({edge for r in (*old, *new) for edge in (r.first, r.last + 1)})
    before, after = _Pieces(old), _Pieces(new)
    for first, end in pairwise(edges):
        pair = before.piece(first, end - 1), after.piece(first, end - 1)
        if pair[0] != pair[1]:
            yield Change(first, end - 1, *pair)


class _Pieces:
    """Ascending records, cut at ascending places."""

    def __init__(self, records: list[RecordRange]) -> None:
        self._records = records
        self._index = 0

    def piece(self, first: int, last: int) -> RecordRange | None:
        while self._index < len(self._records) and self._records[self._index].last < first:
            self._index += 1
        if self._index == len(self._records) or self._records[self._index].first > first:
            return None
        return _cut(self._records[self._index], first, last)


def _joined(pieces: Iterable[Change]) -> Iterator[Change]:
    """Yield neighbours that changed in the same way as one."""
    current: Change | None = None
    for piece in pieces:
        if current and current.last + 1 == piece.first and _alike(current, piece):
            current = _spanning(current, piece.last)
            continue
        if current:
            yield current
        current = piece
    if current:
        yield current


def _alike(change: Change, other: Change) -> bool:
    ends = (
        None if a is None else attrs.astuple(a)[2:]
        for a in (change.before, other.before, change.after, other.after)
    )
    first, second, third, fourth = ends
    return first == second and third == fourth


def _spanning(change: Change, last: int) -> Change:
    before, after = (
        record and attrs.evolve(record, last=last) for record in (change.before, change.after)
    )
    return Change(change.first, last, before, after)
