"""Arrow tables of trace events: what must not be null, and the events themselves."""

from collections.abc import Iterator
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
    columns = [(field, _whole(table.column(field.name))) for field in EVENT]
    if not any(_lacks(column, field, 0) for field, column in columns) and _is_utf8(table):
        return None
    rows = np.arange(table.num_rows)
    bad = [row for field, column in columns for row in _missing(field.name, column, field, rows)]
    return min(bad, key=lambda row: row.row, default=None)


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


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _is_utf8(table: pa.Table) -> bool:
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
    if field.kind in (FieldKind.RECORDS, FieldKind.ROWS, FieldKind.INTEGERS):
        values = array.flatten()
        return len(values) > 0 and _lacks(values, _item(field), 0)
    return False


def _item(field: TraceField) -> TraceField:
    kind = FieldKind.INTEGER if field.kind is FieldKind.INTEGERS else FieldKind.RECORD
    return TraceField(field.name, kind, field.parts)


def _missing(
    path: str, array: pa.Array, field: TraceField, rows: npt.NDArray[np.int64]
) -> Iterator[BadRow]:
    """Yield the first bad row of each part; ``rows`` has the row of each value of ``array``."""
    if array.null_count:
        null = array.is_null().to_numpy(zero_copy_only=False)
        if not field.optional:
            yield BadRow(int(rows[null.argmax()]), f"{path} is None; allowed: a value")
        array, rows = array.filter(pa.array(~null)), rows[~null]
    if field.kind is FieldKind.TEXT:
        yield from _not_utf8(path, array, rows)
    if field.kind is FieldKind.RECORD:
        for part in field.parts:
            yield from _missing(
                f"{path}.{part.name}", pc.struct_field(array, part.name), part, rows
            )
    elif field.kind in (FieldKind.RECORDS, FieldKind.ROWS, FieldKind.INTEGERS):
        yield from _missing_in_list(path, array, field, rows)


def _missing_in_list(
    path: str, array: pa.Array, field: TraceField, rows: npt.NDArray[np.int64]
) -> Iterator[BadRow]:
    if not len(array):
        return
    values = array.flatten()
    if not len(values):
        return
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    yield from _missing(path, values, _item(field), np.repeat(rows, lengths))


def _not_utf8(path: str, array: pa.Array, rows: npt.NDArray[np.int64]) -> Iterator[BadRow]:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        for i, value in enumerate(array.cast(pa.binary()).to_pylist()):
            try:
                value.decode("utf-8")
            except UnicodeDecodeError:
                yield BadRow(int(rows[i]), f"{path} is {value[:40]!r}; allowed: UTF-8")
                return
