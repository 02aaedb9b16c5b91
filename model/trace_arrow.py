"""A trace as Arrow and Parquet: the same schema, with the place where each event was read."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import pyarrow as pa

from model.errors import InvalidValueError
from model.trace_schema import EVENT, FieldKind, TraceField

_SCALARS = {
    FieldKind.INTEGER: pa.int64(),
    FieldKind.TEXT: pa.string(),
    FieldKind.FLAG: pa.bool_(),
    FieldKind.INTEGERS: pa.list_(pa.int64()),
    FieldKind.TEXTS: pa.list_(pa.string()),
}


def _type(field: TraceField) -> pa.DataType:
    if field.kind in _SCALARS:
        return _SCALARS[field.kind]
    struct = pa.struct([_field(part) for part in field.parts])
    return struct if field.kind is FieldKind.RECORD else pa.list_(struct)


def _field(field: TraceField) -> pa.Field:
    return pa.field(field.name, _type(field), nullable=True)


PLACE = (pa.field("source", pa.string()), pa.field("line", pa.int64()))
"""The file, and the line in it counted from 1, that an event was read from; may be absent."""

SCHEMA = pa.schema([_field(field) for field in EVENT])
"""The columns of a trace. All may be null for Arrow; the reader checks those that must not be."""


_ABSENT = "missing"


def check_schema(schema: pa.Schema) -> None:
    """Raise InvalidValueError for a schema that lacks a column of a trace or has another type."""
    for field in SCHEMA:
        index = schema.get_field_index(field.name)
        if index < 0:
            raise InvalidValueError(f"column {field.name}", _ABSENT, f"one of {field.type}")
        if not schema.field(index).type.equals(field.type):
            given = str(schema.field(index).type)
            raise InvalidValueError(f"column {field.name}", given, str(field.type))


def check_readable(schema: pa.Schema) -> None:
    """Raise InvalidValueError for a schema that ``completed`` cannot make one of a trace.

    What is optional may be missing: earlier versions did not have all of it. Integers may be
    narrower.
    """
    for field in EVENT:
        index = schema.get_field_index(field.name)
        if index < 0 and not field.optional:
            raise InvalidValueError(f"column {field.name}", _ABSENT, f"one of {_type(field)}")
        if index >= 0 and not _is_readable(schema.field(index).type, field):
            given = str(schema.field(index).type)
            raise InvalidValueError(f"column {field.name}", given, str(_type(field)))


_ITEMS = {
    FieldKind.INTEGERS: FieldKind.INTEGER,
    FieldKind.TEXTS: FieldKind.TEXT,
    FieldKind.RECORDS: FieldKind.RECORD,
    FieldKind.ROWS: FieldKind.RECORD,
}


def _is_readable(given: pa.DataType, field: TraceField) -> bool:
    if field.kind in _ITEMS:
        item = attrs.evolve(field, kind=_ITEMS[field.kind])
        return pa.types.is_list(given) and _is_readable(given.value_type, item)
    if field.kind is FieldKind.INTEGER:
        return bool(pa.types.is_signed_integer(given))
    if field.kind is not FieldKind.RECORD or not pa.types.is_struct(given):
        return bool(given.equals(_type(field)))
    present = {given.field(i).name: given.field(i).type for i in range(given.num_fields)}
    return present.keys() <= {part.name for part in field.parts} and all(
        _is_readable(present[part.name], part) if part.name in present else part.optional
        for part in field.parts
    )


def completed(table: pa.Table, schema: pa.Schema = SCHEMA, **missing: Any) -> pa.Table:  # noqa: ANN401 - of any type
    """Return the columns of a schema in order, by default those of a trace.

    ``missing`` has the values of a column that is missing, or the one value of all its rows; any
    other is null.
    """

    def column(field: pa.Field) -> Any:  # noqa: ANN401 - an array, or one in chunks
        if field.name in table.column_names:
            return table.column(field.name).cast(field.type)
        values = missing.get(field.name)
        if isinstance(values, pa.Array | pa.ChunkedArray):
            return values
        return pa.repeat(pa.scalar(values, field.type), table.num_rows)

    return pa.table([column(field) for field in schema], schema=schema)


def table_from_rows(rows: Iterable[Mapping[str, Any]], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Return the rows as one table; a field that a row lacks is null."""
    return pa.Table.from_pylist(list(rows), schema=schema)
