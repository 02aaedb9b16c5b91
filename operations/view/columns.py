"""The states of a share-partition over time, in a bounded number of columns.

A column stands for one event, or for several that follow each other. While a trace is read, columns
are joined two by two whenever there are too many, so that memory does not grow with the trace.
"""

from collections.abc import Callable, Iterable, Iterator

import attrs

from model.ranges import join_neighbours

Piece = tuple[int, int, int]
"""The first and the last offset (inclusive) and the number of their kind, NOTHING for none."""

NOTHING = -1

MANY_PIECES = 400
"""How many changes of one column are drawn; of more, neighbours are drawn as one."""


@attrs.define
class Column:
    """One event, or several in a row, and the state after the last.

    ``first`` and ``last`` count events from 0. ``lowest`` and ``highest`` are those of the start
    offset. ``values`` are the numbers after the last event, None where unknown. ``pieces`` are the
    offsets whose kind changed.
    """

    first: int
    last: int
    seq: int
    time_ms: int
    start_offset: int
    end_offset: int
    lowest: int
    highest: int
    flags: int
    values: tuple[int | None, ...]
    pieces: list[Piece]


class Columns:
    """Columns of a trace that is read from its beginning, each of ``stride`` events."""

    def __init__(self, limit: int, pieces: int) -> None:
        """Keep at most ``limit`` columns, with about ``pieces`` changes in all."""
        self._limit, self._most = max(limit, LEAST_COLUMNS + 1), pieces
        self._pieces = 0
        self._open: list[Column] = []
        self._done: list[Column] = []
        self.stride = 1

    def add(self, column: Column) -> None:
        """Add the column of one event."""
        self._open.append(column)
        if len(self._open) >= _AT_ONCE:
            self._open = [_as_one(self._open)]
        if self._open[-1].last - self._open[0].first + 1 < self.stride:
            return
        self._done.append(_as_one(self._open))
        self._pieces += len(self._done[-1].pieces)
        self._open = []
        detailed = self._pieces > self._most and len(self._done) >= 2 * LEAST_COLUMNS
        if detailed or len(self._done) >= self._limit:
            self._halve()

    def all(self) -> list[Column]:
        """Return the columns; the last one may stand for fewer events."""
        return [*self._done, *([_as_one(self._open)] if self._open else [])]

    def _halve(self) -> None:
        self._done = halved(self._done)
        self.stride *= 2
        if self._done[-1].last - self._done[-1].first + 1 < self.stride:
            self._open = [self._done.pop()]
        self._pieces = sum(len(column.pieces) for column in self._done)


_AT_ONCE = 256
"""How many columns wait at most to become one."""


def _as_one(columns: list[Column]) -> Column:
    while len(columns) > 1:
        columns = halved(columns)
    return columns[0]


LEAST_COLUMNS = 64
"""How many columns a picture has at least, if there are as many events."""


def halved(columns: list[Column]) -> list[Column]:
    """Return the columns joined two by two."""
    pairs = (columns[i : i + 2] for i in range(0, len(columns), 2))
    return [joined(*pair) if len(pair) > 1 else pair[0] for pair in pairs]


def joined(column: Column, after: Column) -> Column:
    """Return one column for the events of two that follow each other."""
    return Column(
        column.first,
        after.last,
        after.seq,
        after.time_ms,
        after.start_offset,
        after.end_offset,
        min(column.lowest, after.lowest),
        max(column.highest, after.highest),
        column.flags | after.flags,
        after.values,
        coarse(overlaid(column.pieces, after.pieces)),
    )


def overlaid(pieces: list[Piece], above: list[Piece]) -> list[Piece]:
    """Return what two lists of changes lead to, the one above the other; both ascend."""
    return list(join_neighbours(sorted([*_uncovered(pieces, above), *above])))


def coarse(pieces: list[Piece], most: int = MANY_PIECES) -> list[Piece]:
    """Return at most ``most`` changes: neighbours become one, of the kind of the longest."""
    if len(pieces) <= most:
        return pieces
    size = -(-len(pieces) // most)
    groups = (pieces[i : i + size] for i in range(0, len(pieces), size))
    longest: Callable[[Piece], int] = lambda piece: piece[1] - piece[0]  # noqa: E731 - a key
    return [(group[0][0], group[-1][1], max(group, key=longest)[2]) for group in groups]


def applied(base: list[Piece], pieces: list[Piece]) -> list[Piece]:
    """Return the kinds of offsets after changes, without those that have none."""
    return [piece for piece in overlaid(base, pieces) if piece[2] != NOTHING]


def _uncovered(pieces: Iterable[Piece], above: list[Piece]) -> Iterator[Piece]:
    index = 0
    for first, last, kind in pieces:
        low = first
        while index < len(above) and above[index][1] < low:
            index += 1
        place = index
        while place < len(above) and above[place][0] <= last:
            if above[place][0] > low:
                yield low, above[place][0] - 1, kind
            low = max(low, above[place][1] + 1)
            place += 1
        if low <= last:
            yield low, last, kind
