"""A trace as Arrow and Parquet: the same schema, with the place where each event was read."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from model.errors import InvalidValueError
from model.trace_schema import EVENT, Field, Kind

__all__ = ["PLACE", "SCHEMA", "check_schema", "table_from_rows"]

_SCALARS = {
    Kind.INTEGER: pa.int64(),
    Kind.TEXT: pa.string(),
    Kind.FLAG: pa.bool_(),
    Kind.INTEGERS: pa.list_(pa.int64()),
    Kind.TEXTS: pa.list_(pa.string()),
}


def _type(field: Field) -> pa.DataType:
    if field.kind in _SCALARS:
        return _SCALARS[field.kind]
    struct = pa.struct([_field(part) for part in field.parts])
    return struct if field.kind is Kind.RECORD else pa.list_(struct)


def _field(field: Field) -> pa.Field:
    return pa.field(field.name, _type(field), nullable=True)


PLACE = (pa.field("source", pa.string()), pa.field("line", pa.int64()))
"""The file, and the line in it counted from 1, that an event was read from; may be absent."""

SCHEMA = pa.schema([_field(field) for field in EVENT])
"""The columns of a trace. All may be null for Arrow; what must not be is checked in reading."""


def check_schema(schema: pa.Schema) -> None:
    """Raise InvalidValueError for a schema that lacks a column of a trace or has another type."""
    for field in SCHEMA:
        index = schema.get_field_index(field.name)
        if index < 0:
            raise InvalidValueError(f"column {field.name}", None, f"a column of {field.type}")
        if not schema.field(index).type.equals(field.type):
            given = str(schema.field(index).type)
            raise InvalidValueError(f"column {field.name}", given, str(field.type))


def table_from_rows(rows: Iterable[Mapping[str, Any]], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Return the rows as one table; a field that a row lacks is null."""
    return pa.Table.from_pylist(list(rows), schema=schema)
