"""Sorted rows as share-partitions: a long one in pieces, so that no worker holds it whole.

The kernel takes short ones from arrays made for many of them.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from model.profile import Profile
from model.trace import TraceEvent
from model.trace_arrow import SCHEMA
from replay.pauses import Pauses, with_pauses
from replay.state_file import Carried
from replay.tables import (
    EVENTS_AT_ONCE,
    KEYS,
    Flags,
    Rows,
    events_in,
    events_of,
    first_bad_row,
    follow_each_other,
    gaps_in,
    in_sequence,
    lateness_ms,
    latest,
    leave_out_log,
    without_copies,
)
from replay.verdict import Problem

if TYPE_CHECKING:
    from impl.kernel import FlatEvents, KernelResult


T_ = TypeVar("T_")
_NO_PAUSES = Pauses()
_BEHIND = np.iinfo(np.int64).max


ROWS_AT_ONCE = 1 << 14
"""How many rows become arrays at a time; a share-partition with more is taken by itself."""


class Together:
    """A table in which the rows of each share-partition follow one another.

    To turn a table into arrays or Python objects, or to ask its columns, costs as much for one
    share-partition as for hundreds. ``starts`` has the first row of each.
    """

    def __init__(self, table: pa.Table, starts: Sequence[int] = (0,)) -> None:
        """Take a table with the columns of a trace, among others."""
        self._table, self._starts = table, np.array(starts, np.int64)
        self._flat: FlatEvents | None = None
        self._first = self._end = 0
        self._profile: Profile | None = None
        self._ended: frozenset[tuple[int, int]] = frozenset()
        self._plain: list[dict[str, Any]] = []
        self._plain_first = 0

    @cached_property
    def is_sound(self) -> bool:
        """Whether no row lacks what every event has; to look costs as much for one as for all."""
        return first_bad_row(self._table) is None

    @cached_property
    def in_sequence(self) -> Flags:
        """Of each share-partition, whether its rows follow one another from the first event on."""
        return np.logical_and.reduceat(follow_each_other(self._table, self._starts), self._starts)

    @cached_property
    def tell_no_log(self) -> Flags:
        """Of each share-partition, whether it leaves out the log from some row on."""
        return np.logical_or.reduceat(leave_out_log(self._table), self._starts)

    @cached_property
    def latest_ms(self) -> Rows:
        """Of each share-partition, how late its timers were, in ms; ``NO_TIMER`` without any."""
        return np.maximum.reduceat(lateness_ms(self._table), self._starts)

    def events(self, first: int, count: int) -> Iterator[TraceEvent]:
        """Yield the ``count`` events from row ``first`` on, as ``replay.tables.events_of`` does.

        They are at most ``EVENTS_AT_ONCE``, of a table that is sound.
        """
        if not self._plain_first <= first <= first + count <= self._plain_first + len(self._plain):
            rows = self._table.slice(first, EVENTS_AT_ONCE).select(SCHEMA.names)
            self._plain, self._plain_first = rows.to_pylist(), first
        begin = first - self._plain_first
        return events_in(self._plain[begin : begin + count])

    def replay(self, first: int, count: int, profile: Profile) -> "KernelResult":
        """Replay the ``count`` rows from ``first`` on, which are those of one share-partition."""
        from impl.kernel import replay_rows_of, result_of  # noqa: PLC0415 - needs Numba

        flat = self._flat_from(first, count, profile)
        place = first - self._first
        if profile is self._profile and (place, place + count) in self._ended:
            return result_of(flat, place, place + count)
        return replay_rows_of(flat, place, place + count, profile)

    def _flat_from(self, first: int, count: int, profile: Profile) -> "FlatEvents":
        """Return the rows as arrays, through which the kernel has gone by these rules, if anew."""
        if self._flat is None or not self._first <= first <= first + count <= self._end:
            from impl.kernel import flatten, replay_each  # noqa: PLC0415 - as above

            rows = self._table.slice(first, max(count, ROWS_AT_ONCE)).select(SCHEMA.names)
            self._flat, self._first, self._end = flatten(rows), first, first + rows.num_rows
            bounds = np.append(self._starts, self._table.num_rows) - first
            low, high = np.searchsorted(bounds, (0, rows.num_rows + 1))
            starts, ends = bounds[low : high - 1], bounds[low + 1 : high]
            ended = replay_each(self._flat, starts, ends, profile)
            self._ended = frozenset(zip(starts[ended].tolist(), ends[ended].tolist(), strict=True))
            self._profile = profile
        return self._flat


@attrs.frozen(eq=False)
class Part:
    """Where the rows of one share-partition are: ``table`` is a slice of the whole from ``first``.

    ``number`` is its place among the share-partitions of the whole.
    Whoever cuts or replaces those rows has another table, of which this says nothing.
    """

    whole: Together
    first: int
    table: pa.Table
    number: int = 0

    @property
    def is_in_sequence(self) -> bool:
        """Whether its rows follow one another from the first event on: of one leader, none lost."""
        return bool(self.whole.in_sequence[self.number])

    @property
    def tells_no_log(self) -> bool:
        """Whether it leaves out the log from some row on."""
        return bool(self.whole.tell_no_log[self.number])

    @property
    def latest_ms(self) -> int | None:
        """How late its timers were, in ms; None if it tells of none."""
        return latest(self.whole.latest_ms[self.number : self.number + 1])

    @property
    def fits(self) -> bool:
        """Return whether it is small enough to be taken together with others."""
        return bool(self.table.num_rows <= ROWS_AT_ONCE)


class UnreadError(Exception):
    """Rows cannot be read; ``problem`` says why, and of which share-partition if of one alone."""

    def __init__(self, problem: Problem) -> None:
        """Take the problem."""
        super().__init__(problem.message)
        self.problem = problem


@attrs.frozen
class PartitionRows:
    """What can be checked of a share-partition, or a piece of one: its events up to a problem.

    The rows have columns for where each was read. ``events`` counts all that were read; gaps are
    none. ``start`` is where an earlier piece or replay left the share-partition, ``part`` the
    table that has it and others.
    """

    partition: str
    table: pa.Table
    events: int
    problem: Problem | None
    start: Carried | None = None
    part: Part | None = None

    @property
    def untouched(self) -> Part | None:
        """Where the rows are, if they are all that a sound table has of the share-partition."""
        part = self.part
        return part if part and part.table is self.table and part.whole.is_sound else None

    def events_in_order(self) -> Iterator[TraceEvent]:
        """Return the event of each row, in order, as ``replay.tables.events_of`` does."""
        part = self.untouched
        if part and self.table.num_rows <= EVENTS_AT_ONCE:
            return part.whole.events(part.first, self.table.num_rows)
        return events_of(self.table)

    def place(self, row: int) -> tuple[str, int]:
        """Return the file, and the line or row counted from 1, of a row of the table."""
        source, line = (self.table.column(name)[row].as_py() for name in ("source", "line"))
        return source, line


def partitions(
    tables: Iterable[pa.Table], most: int
) -> Iterator[tuple[str, Iterator[PartitionRows]]]:
    """Yield each share-partition with its rows, which follow each other however tables divide them.

    They come in pieces of about ``most`` rows, as they were read; ``begun`` puts a piece behind
    where the one before has led. They are there until the next share-partition is asked for.
    """
    for name, parts in itertools.groupby(parts_of(tables), key=lambda each: each[0]):
        yield name or "", _pieces_of((part for _, part in parts), name, most)


def parts_of(tables: Iterable[pa.Table]) -> Iterator[tuple[str | None, Part]]:
    """Yield rows of one share-partition at a time, with its name."""
    for table in map(_without_claims, tables):
        names = table.column("partition")
        runs = list(runs_of(names))
        whole = Together(table, [start for start, _end in runs])
        for number, (start, end) in enumerate(runs):
            part = Part(whole, start, table.slice(start, end - start), number)
            yield names[start].as_py(), part


def _without_claims(table: pa.Table) -> pa.Table:
    """Return the rows without what a trace says of answers that were overtaken: that is found."""
    place = table.schema.get_field_index("overtaken")
    if table.column(place).null_count == table.num_rows:
        return table
    nothing = pa.nulls(table.num_rows, table.schema.field(place).type)
    return table.set_column(place, table.schema.field(place), nothing)


def runs_of(column: pa.ChunkedArray) -> Iterator[tuple[int, int]]:
    """Yield the first row and the row after each run of equal values."""
    codes = column.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
    if len(codes):
        starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()]
        yield from zip(starts, [*starts[1:], len(codes)], strict=True)


def _pieces_of(parts: Iterator[Part], name: str | None, most: int) -> Iterator[PartitionRows]:
    """Yield the pieces of a share-partition; one that is short and in one table keeps its part.

    What cannot be read ends the last of them with a problem.
    """
    unread: list[Problem] = []
    parts = _readable(parts, unread)
    read = list(itertools.islice(parts, 2))
    if len(read) == 1 and read[0].table.num_rows < most and name is not None and not unread:
        (part,) = read
        yield PartitionRows(name, part.table, part.table.num_rows, None, part=part)
        return
    tables = collected((part.table for part in itertools.chain(read, parts)), most)
    for table, is_last in with_last(tables):
        if name is None:
            source = table.column("source")[0].as_py()
            nameless = Problem(source, None, "partition is None; allowed: a value")
            yield PartitionRows("", table.slice(0, 0), table.num_rows, nameless)
            continue
        problem = unread[0] if unread and is_last else None
        yield PartitionRows(name, table, table.num_rows, problem)


def _readable(parts: Iterator[Part], unread: list[Problem]) -> Iterator[Part]:
    try:
        yield from parts
    except UnreadError as error:
        if error.problem.partition is None:  # It may be that of rows behind these.
            raise
        unread.append(error.problem)


def with_last(items: Iterable[T_]) -> Iterator[tuple[T_, bool]]:
    """Yield each item, and whether it is the last."""
    before: list[T_] = []
    for item in items:
        if before:
            yield before.pop(), False
        before.append(item)
    yield from ((item, True) for item in before)


def each_once(piece: PartitionRows) -> PartitionRows:
    """Return a piece without the copies of events, which are none of its events; nor are gaps."""
    if piece.part and piece.part.is_in_sequence:
        return piece
    once = without_copies(piece.table)
    copies, gaps = piece.table.num_rows - once.num_rows, gaps_in(once)
    if not (copies or gaps):
        return piece
    part = None if copies else piece.part
    return attrs.evolve(piece, table=once, events=piece.events - copies - gaps, part=part)


def begun(
    piece: PartitionRows,
    start: Carried | None,
    unfinished: frozenset[str] = frozenset(),
    pauses: Pauses = _NO_PAUSES,
) -> PartitionRows:
    """Return the rows of a piece that follow where the one before it has led, up to a problem.

    The piece has each event once (``each_once``).
    """
    rows, part = piece, piece.part
    if not (part and part.is_in_sequence) or start or pauses.by_source:
        table, problem = in_sequence(piece.partition, piece.table, unfinished, start)
        borne = with_pauses(table, pauses)
        # Rows may have been put between, or left out.
        part = piece.part if borne is piece.table else None
        problem = problem or piece.problem
        rows = attrs.evolve(piece, table=borne, problem=problem, start=start, part=part)
    return rows if piece.part and piece.part.whole.is_sound else without_bad_rows(rows)


def without_bad_rows(rows: PartitionRows) -> PartitionRows:
    """Return the rows up to the first in which something is missing."""
    bad = first_bad_row(rows.table)
    if bad is None:
        return rows
    problem = Problem(*rows.place(bad.row), bad.message, rows.partition)
    return attrs.evolve(rows, table=rows.table.slice(0, bad.row), problem=problem)


def joined(first: PartitionRows, second: PartitionRows) -> PartitionRows:
    """Return two pieces as one."""
    table = pa.concat_tables([first.table, second.table]).combine_chunks()
    return attrs.evolve(
        first, table=table, events=first.events + second.events, problem=second.problem
    )


def keys_of(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Return the keys of rows (rows, 3), in which a null is behind every number.

    Without a leader epoch the instance is none, either.
    """
    columns = (pc.fill_null(rows.column(name), _BEHIND).to_numpy() for name in KEYS)
    keys = np.stack([np.asarray(column, np.int64) for column in columns], axis=1)
    keys[keys[:, 0] == _BEHIND, 1] = _BEHIND
    return keys


def collected(tables: Iterable[pa.Table], most: int) -> Iterator[pa.Table]:
    """Yield the same rows in tables of at least ``most``: many small ones cost more than they do.

    Rows with one key stay together, so that who reads them sees that they are two.
    """
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += table.num_rows
        if size < most:
            continue
        rows = pa.concat_tables(held).combine_chunks()
        keys = keys_of(rows)
        apart = np.flatnonzero((keys != keys[-1]).any(axis=1))
        cut = int(apart[-1]) + 1 if len(apart) else 0
        if cut:
            yield rows.slice(0, cut)
        held, size = [rows.slice(cut)], rows.num_rows - cut
    if held and size:
        yield pa.concat_tables(held).combine_chunks()
