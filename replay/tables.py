"""Arrow tables of trace events: what must not be null, and the events themselves."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import attrs
import pyarrow as pa

from model.errors import InvalidValueError
from model.trace import TraceEvent
from model.trace_arrow import SCHEMA
from model.trace_codec import event_from_row
from model.trace_schema import EVENT, FieldKind, TraceField

_LISTS = (FieldKind.RECORDS, FieldKind.ROWS, FieldKind.INTEGERS)

ROWS_AT_ONCE = 512
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
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        for i, row in enumerate(table.slice(start, ROWS_AT_ONCE).to_pylist()):
            try:
                event = event_from_row(row)
            except InvalidValueError as error:
                raise BadRowError(BadRow(start + i, str(error))) from None
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
