"""Arrow tables of trace events: what must not be null, the events themselves, and their sequence.

The rows of one share-partition are of one leader, or of one after another.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from model.errors import InvalidValueError
from model.trace import TraceEvent
from model.trace_arrow import SCHEMA
from model.trace_codec import event_from_row
from model.trace_schema import EVENT, FieldKind, TraceField
from replay.state_file import Carried
from replay.verdict import Problem

_LISTS = (FieldKind.RECORDS, FieldKind.ROWS, FieldKind.INTEGERS)


BEGINS_LATE = "its first event is not initialize or checkpoint, so what came before is not known"

BEGINNINGS = ("initialize", "checkpoint", "gap")
"""The operations that a share-partition may begin with."""

KEYS = ("leader_epoch", "instance", "seq")
"""What orders the rows of a share-partition."""

Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NO_TIMER = -(1 << 63)
"""The lateness of a row that tells of no timer."""

_NOTHING = (-1, -1)
"""The leader epoch and instance before any other."""

EVENTS_AT_ONCE = 512
"""How many rows are Python objects at a time."""


@attrs.frozen
class BadRow:
    """A row of a table, counted from 0, that does not hold an event, and why."""

    row: int
    message: str


class BadRowError(Exception):
    """A row of a table does not hold an event; ``bad`` says which and why."""

    def __init__(self, bad: BadRow) -> None:
        """Take the row and the reason."""
        super().__init__(bad.message)
        self.bad = bad


def first_bad_row(table: pa.Table) -> BadRow | None:
    """Return the first row in which a value is missing that every event has, or text is not UTF-8.

    Values that are present are not checked: that happens where they are used.
    """
    if _is_sound(table):
        return None
    ends = range(1, table.num_rows + 1)
    row = bisect_left(ends, True, key=lambda end: not _is_sound(table.slice(0, end)))  # noqa: FBT003 - what is looked for
    bad = table.select(SCHEMA.names).slice(row, 1)
    return BadRow(row, next(_wrong(bad), "no event; allowed: the columns of a trace"))


def events_of(table: pa.Table) -> Iterator[TraceEvent]:
    """Yield the event of each row, in order; raise BadRowError at one that holds none.

    A caller may throw InvalidValueError into the iteration to have it carry the current row.
    """
    table = table.select(SCHEMA.names)
    starts = range(0, table.num_rows, EVENTS_AT_ONCE)
    return events_in(row for n in starts for row in table.slice(n, EVENTS_AT_ONCE).to_pylist())


def events_in(rows: Iterable[dict[str, Any]]) -> Iterator[TraceEvent]:
    """Yield the events of rows that are plain values, as ``events_of`` does."""
    for number, row in enumerate(rows):
        try:
            event = event_from_row(row)
        except InvalidValueError as error:
            raise BadRowError(BadRow(number, str(error))) from None
        yield event


def row_of(table: pa.Table, row: int) -> dict[str, Any]:
    """Return one row as plain values."""
    (values,) = table.select(SCHEMA.names).slice(row, 1).to_pylist()
    return dict(values)


def _is_sound(table: pa.Table) -> bool:
    """Return whether no row lacks a value that every event has, and all text is UTF-8."""
    columns = ((table.column(field.name), field) for field in EVENT)
    if any(_lacks(chunk, field, 0) for column, field in columns for chunk in column.chunks):
        return False
    try:
        table.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _lacks(array: pa.Array, field: TraceField, allowed: int) -> bool:
    """Return whether more than ``allowed`` values are null that must not be."""
    if not field.optional and array.null_count > allowed:
        return True
    if field.kind is FieldKind.RECORD:
        # A part of a null struct is null in the flattened form, which is as it should be.
        parts = zip(field.parts, array.flatten(), strict=True)
        return any(_lacks(values, part, array.null_count) for part, values in parts)
    if field.kind in _LISTS:
        values = array.flatten()
        return len(values) > 0 and _lacks(values, _item(field), 0)
    return False


def _item(field: TraceField) -> TraceField:
    kind = FieldKind.INTEGER if field.kind is FieldKind.INTEGERS else FieldKind.RECORD
    return TraceField(field.name, kind, field.parts)


def _wrong(row: pa.Table) -> Iterator[str]:
    """Yield what is wrong with the parts of a row."""
    for field, column in zip(EVENT, row.columns, strict=True):
        try:
            yield from _missing(field.name, column[0].as_py(), field)
        except UnicodeDecodeError as error:
            yield f"{field.name} is {error.object[:40]!r}; allowed: UTF-8"


def _missing(path: str, value: Any, field: TraceField) -> Iterator[str]:  # noqa: ANN401 - any part
    if value is None:
        if not field.optional:
            yield f"{path} is None; allowed: a value"
    elif field.kind is FieldKind.RECORD:
        for part in field.parts:
            yield from _missing(f"{path}.{part.name}", value[part.name], part)
    elif field.kind in _LISTS:
        for item in value:
            yield from _missing(path, item, _item(field))


def gaps_in(rows: pa.Table) -> int:
    """Return how many rows say that events are missing: they are none themselves."""
    return int(np.count_nonzero(_is_gap(rows)))


def _is_gap(rows: pa.Table) -> Flags:
    return _is(rows, "gap")


def _is(rows: pa.Table, operation: str) -> Flags:
    return np.asarray(pc.equal(rows.column("op"), _as_scalar(operation)).to_numpy(), np.bool_)


@cache
def _as_scalar(value: str) -> pa.Scalar:
    """Return what a column is compared with: a Python string would be made one each time.

    Not made where a module is loaded: it loads pandas.
    """
    return pa.scalar(value)


def believed_in(rows: pa.Table, *, is_after_gap: bool = False) -> int:
    """Return how many events follow a gap, be it one with which the rows before have ended."""
    is_gap = _is_gap(rows)
    before = np.concatenate(([is_after_gap], is_gap))[:-1]
    return int(np.count_nonzero(before & ~is_gap))


def leave_out_log(rows: pa.Table) -> Flags:
    """Return of each row whether the trace leaves out the log from it on."""
    known = rows.column("log_known")
    is_known = pc.coalesce(known, pa.scalar(value=True)).to_numpy()
    untold = _is(rows, "checkpoint") & pc.is_null(known).to_numpy()
    return np.asarray(untold | ~is_known, np.bool_)


def lateness_ms(rows: pa.Table) -> Rows:
    """Return how much later than due the timer of each row was, in ms; ``NO_TIMER`` without one."""
    late = pc.subtract(rows.column("time_ms"), rows.column("due_ms"))
    return np.asarray(pc.fill_null(late, NO_TIMER).to_numpy(), np.int64)


def latest(late: Rows) -> int | None:
    """Return the greatest of these, in ms; None where no timer is told of."""
    most = int(late.max(initial=NO_TIMER))
    return None if most == NO_TIMER else most


def follow_each_other(rows: pa.Table, starts: Rows) -> Flags:
    """Return of each row whether it follows, in its share-partition, from the first event on.

    Those of a share-partition that all do are of one leader, none is missing or there twice, and
    ``in_sequence`` and ``with_pauses`` leave them as they are. ``starts`` has the first of each.
    """
    first = np.repeat(starts, np.diff([*starts, rows.num_rows]))
    follows = _numbers(rows, "seq") == np.arange(rows.num_rows) - first
    for name in KEYS[:2]:
        values = _numbers(rows, name)
        follows &= values == values[first]
    begins = pc.is_in(rows.column("op"), pa.array(BEGINNINGS)).to_numpy()
    follows &= (begins | pc.is_null(rows.column("leader_epoch")).to_numpy())[first]
    silent = (pc.is_null(rows.column("paused_ms")), pc.is_valid(rows.column("seq")))
    return np.asarray(
        follows & ~_is_gap(rows) & np.logical_and(*(each.to_numpy() for each in silent))
    )


def in_sequence(
    name: str,
    rows: pa.Table,
    unfinished: frozenset[str] = frozenset(),
    before: Carried | None = None,
) -> tuple[pa.Table, Problem | None]:
    """Return the rows up to a problem, and the problem, if any.

    The rows are sorted by leader epoch, instance and ``seq``. Without leader epochs ``seq`` counts
    from 0 and no row may be missing. With them, where rows are missing, or may be, there is a
    ``gap`` in their place, and those behind it begin with a whole state. ``unfinished`` are files
    of which the end may be missing. ``before`` is where an earlier replay left the share-partition.
    """
    if null := rows.column("seq").null_count:
        numbered = rows.num_rows - null  # They are sorted: these come last.
        used, _ = in_sequence(name, rows.slice(0, numbered), unfinished, before)
        source, line = _of(rows, numbered, "source", "line")
        return used, Problem(source, line, "seq is None; allowed: a value", name)
    if before and before.state and (problem := _earlier(name, rows, before, before.state.seq)):
        return rows.slice(0, 0), problem
    if rows.column("leader_epoch").null_count:
        problem, usable = _sequence(name, rows, before.state.seq if before and before.state else 0)
        return rows.slice(0, usable) if problem else rows, problem
    if len(again := repeated(places_of(rows))):
        twice = int(again[0])
        seq, source, line = _of(rows, twice, "seq", "source", "line")
        other = _of(rows, twice - 1, "source", "line")
        text = f"seq {seq} occurs twice; the other event is in {other[0]}, line {other[1]}"
        # Nothing says which of the two is right, so neither is used.
        right = _joined(_overtaken(rows.slice(0, twice - 1)), unfinished, before)
        return right, Problem(source, line, text, name)
    return _joined(_overtaken(rows), unfinished, before), None


def _earlier(name: str, rows: pa.Table, before: Carried, next_seq: int) -> Problem | None:
    """Return that the first row comes before the one that is next after an earlier replay."""
    if not rows.num_rows:
        return None
    names = "source", "line", "seq", "leader_epoch", "instance"
    source, line, seq, epoch, instance = _of(rows, 0, *names)
    place = epoch or 0, instance or 0, seq
    if (epoch is None) is not (before.leader_epoch is None):
        text = "rows with and without a leader_epoch do not follow each other"
    elif place < (before.leader_epoch or 0, before.instance or 0, next_seq):
        text = f"seq {seq} is of an earlier replay, after which seq {next_seq} is next"
    else:
        return None
    return Problem(source, line, text, name)


def _sequence(name: str, rows: pa.Table, begin: int) -> tuple[Problem | None, int]:
    """Return what is wrong with ``seq``, and how many rows before it are right."""
    seq: Rows = rows.column("seq").to_numpy()
    wrong = np.flatnonzero(seq != np.arange(begin, begin + len(seq)))
    if not len(wrong):
        return None, len(seq)
    first = int(wrong[0])
    source, line = _of(rows, first, "source", "line")
    if first and seq[first] == seq[first - 1]:
        (other,) = _of(rows, first - 1, "line")
        text = f"seq {seq[first]} occurs twice; the other event is in line {other}"
        # Nothing says which of the two is right, so neither is used.
        return Problem(source, line, text, name), first - 1
    if seq[first] < 0:
        return Problem(source, line, f"seq is {seq[first]}; allowed: 0 or more", name), first
    text = f"seq {begin + first} is missing: the next is {seq[first]}"
    return Problem(source, line, text, name), first


def _of(rows: pa.Table, row: int, *names: str) -> tuple[Any, ...]:
    return tuple(rows.column(name)[row].as_py() for name in names)


def _numbers(rows: pa.Table, name: str) -> Rows:
    column = rows.column(name)
    if column.null_count == rows.num_rows:  # To fill them takes longer, and few traces have all.
        return np.zeros(rows.num_rows, np.int64)
    filled = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(filled.to_numpy(), np.int64)


def places_of(rows: pa.Table) -> Rows:
    """Return leader epoch, instance and ``seq`` of each row, 0 where there is none."""
    return np.stack([_numbers(rows, name) for name in KEYS], axis=1)


def repeated(places: Rows) -> Rows:
    """Return the rows that have the place of the one before."""
    return np.flatnonzero((np.diff(places, axis=0) == 0).all(axis=1)) + 1


def without_copies(rows: pa.Table) -> pa.Table:
    """Return sorted rows without those that are the same event as the row before them.

    Whoever delivers at least once may deliver twice. Two events of one ``seq`` that differ stay.
    """
    again = repeated(places_of(rows))
    if not len(again):
        return rows
    keep, events = np.ones(rows.num_rows, bool), rows.select(SCHEMA.names)
    for start in range(0, len(again), EVENTS_AT_ONCE):
        some = again[start : start + EVENTS_AT_ONCE]
        pair = (events.take(pa.array(places)).to_pylist() for places in (some, some - 1))
        keep[some] = [one != other for one, other in zip(*pair, strict=True)]
    return rows.filter(pa.array(keep)).combine_chunks()


def _joined(rows: pa.Table, unfinished: frozenset[str], left: Carried | None) -> pa.Table:
    """Return the rows with a gap where some are missing, and without those of unknown state."""
    parts: list[pa.Table] = []
    before, last, led = _NOTHING, -1, False
    if left and left.state and left.leader_epoch is not None:
        before, last = (left.leader_epoch, left.instance or 0), left.state.seq - 1
        led = left.state.state.ready or bool(left.divergence)
    for start, end in _stretches(rows):
        leader = _leader(rows, start)
        follows = _follows(before, leader, last, rows, start)
        if follows and before not in (_NOTHING, leader):
            # One that begins with a checkpoint was attached, or switched on, later.
            whole = rows.column("op")[start].as_py() != "checkpoint"
            cut = rows.column("source")[start - 1].as_py() in unfinished if start else None
            follows = whole and not (left and left.unfinished if cut is None else cut)
        goes_on = led and follows and start == 0 and leader == before
        begin = start if goes_on else _begin(rows, start, end)
        if not follows or begin > start:
            # Where no row tells the state, none of the stretch is used.
            place = min(begin, end - 1)
            next_seq = int(rows.column("seq")[place].as_py()) + (begin == end)
            lost = next_seq - last - 1 if leader == before else next_seq or None
            parts.append(_gap(rows, place, lost))
        parts.append(rows.slice(begin, end - begin))
        before, last = leader, int(rows.column("seq")[end - 1].as_py())
    return pa.concat_tables(parts).combine_chunks() if len(parts) > 1 else rows


def _overtaken(rows: pa.Table) -> pa.Table:
    """Return the rows, of which those say so that are answers after the next object had read.

    A leader may make two objects of a share-partition in one leader epoch, and nothing fences the
    first. Its rows come before those of the second, though some happened later.
    """
    epoch, instance, time = (_numbers(rows, n) for n in ("leader_epoch", "instance", "time_ms"))
    late = np.zeros(len(epoch), bool)
    begins = np.flatnonzero((np.diff(epoch) == 0) & (np.diff(instance) != 0)) + 1
    for begin in begins.tolist():
        if rows.column("op")[begin].as_py() == "initialize":
            before = (epoch[:begin] == epoch[begin]) & (instance[:begin] < instance[begin])
            late[:begin] |= before & (time[:begin] >= time[begin])
    late &= pc.equal(rows.column("op"), "complete_write").to_numpy()
    if not late.any():
        return rows
    place = rows.schema.get_field_index("overtaken")
    return rows.set_column(place, rows.schema.field(place), pa.array(late))


def _stretches(rows: pa.Table) -> Iterator[tuple[int, int]]:
    """Yield the first row and the row after each stretch in which no row is missing."""
    if not rows.num_rows:
        return
    breaks = (np.diff(places_of(rows), axis=0) != (0, 0, 1)).any(axis=1)
    starts = [0, *(np.flatnonzero(breaks) + 1).tolist()]
    yield from zip(starts, [*starts[1:], rows.num_rows], strict=True)


def _leader(rows: pa.Table, row: int) -> tuple[int, int]:
    epoch, instance = _of(rows, row, "leader_epoch", "instance")
    return int(epoch), int(instance or 0)


def _follows(
    before: tuple[int, int], leader: tuple[int, int], last: int, rows: pa.Table, start: int
) -> bool:
    """Return whether a stretch begins where the one before it, which ends at ``last``, ends."""
    begins = rows.column("seq")[start].as_py() == (last + 1 if leader == before else 0)
    next_ones = {before, (before[0], before[1] + 1), (before[0] + 1, 0)}
    return begins and (before == _NOTHING or leader in next_ones)


def _begin(rows: pa.Table, start: int, end: int) -> int:
    """Return the first row of a stretch that tells a whole state, or ``end``."""
    for row in range(start, end):
        if rows.column("op")[row].as_py() in BEGINNINGS:
            return row
    return end


def _gap(rows: pa.Table, place: int, lost: int | None) -> pa.Table:
    """Return a gap in the place of a row."""
    here = rows.slice(place, 1)
    (row,) = here.select(["partition", "seq", "time_ms", "source", "line"]).to_pylist()
    row["leader_epoch"], row["instance"] = _leader(rows, place)
    row |= {"op": "gap", "lost": lost, "writes": [], "completed": []}
    row["result"] = {"status": "NONE"}
    row["after"] = {"start_offset": 0, "end_offset": 0, "delivery_complete_count": 0}
    return pa.Table.from_pylist([row], schema=rows.schema)
