"""Kafka's messages by the schemas of kio, read by a decoder that no broker can make grow.

kio's own decoder believes the counts in a message: one of 2**31 elements ends the process. Here
``model.wire`` reads them, which believes no more than there are bytes.
"""

import io
import struct
from collections.abc import Iterable
from dataclasses import MISSING, fields
from datetime import timedelta
from functools import lru_cache
from types import NoneType, SimpleNamespace
from typing import Any, TypeAlias, get_args, get_origin
from uuid import UUID

import attrs
from kio.index import KioIndexError, load_entity_schema, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.constants import EntityType

from model import wire
from model.errors import InvalidValueError
from model.wire import Reader, read

Message: TypeAlias = Any
"""A message or a part of one; the classes that kio generates have no base that they share."""

Kind: TypeAlias = Any

_MOST_ELEMENTS = 200_000
_KINDS = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
    "records": "bytes",
}
"""The types of kio that are read as the plain ones behind them: errors as numbers, times in ms."""
_ZEROS: dict[str, object] = {"bool": False, "bytes": b"", "records": b"", "string": ""}
"""What fields without a default are where nothing is said of them; others are 0."""
_MS = ("timedelta_i32", "timedelta_i64")
_SIZED = ("string", "bytes", "records")
CLIENT = "sharespec"
_TAGS = wire.Message("header", ())
"""What follows the fields of a flexible header, of which the client's id is as in earlier ones."""
_KEY_AND_VERSION = struct.Struct(">hh")


class MalformedError(ValueError):
    """Bytes that are no message of this kind."""


class UnsupportedError(ValueError):
    """A request of an API, or of a version of it, that is not known."""


@attrs.frozen
class _Field:
    """How one field of a message looks: ``entity`` or ``primitive``, one or an ``array``."""

    name: str
    tag: int | None
    optional: bool
    array: bool
    entity: Kind
    primitive: str
    default: object


@lru_cache(maxsize=256)
def _fields(kind: Kind) -> tuple[_Field, ...]:
    return tuple(_field(field) for field in fields(kind))


def _field(field: Kind) -> _Field:
    inner = field.type
    optional = NoneType in get_args(inner)
    if optional:
        inner = next(kind for kind in get_args(inner) if kind is not NoneType)
    array = get_origin(inner) is tuple
    primitive = field.metadata.get("kafka_type", "")
    entity = None if primitive else (get_args(inner)[0] if array else inner)
    return _Field(
        field.name, field.metadata.get("tag"), optional, array, entity, primitive, field.default
    )


def request(name: str, version: int, **values: Message) -> Message:
    """Return a request of kio's; ``name`` is that of its module, such as share_fetch."""
    return built(load_entity_schema(name, version, EntityType.request), values)


def built(kind: Kind, values: dict[str, Any]) -> Message:
    """Return one of kio's values, made of plain ones: dicts, lists, numbers, ms for durations.

    What is left out is as Kafka's schema has it, or else null, empty, false or 0. Raises TypeError
    for a field that this version does not have.
    """
    known = {field.name: field for field in _fields(kind)}
    zeros = {name: _zero(field) for name, field in known.items() if field.default is MISSING}
    return kind(
        **{name: _plain(known.get(name), value) for name, value in (zeros | values).items()}
    )


def _zero(field: _Field) -> object:
    if field.array or field.optional:
        return () if field.array else None
    return {} if field.entity else _ZEROS.get(field.primitive, 0)


def _plain(field: _Field | None, value: Message) -> Message:
    if field is None or value is None:
        return value
    if field.entity and field.array:
        return tuple(built(field.entity, item) for item in value)
    if field.entity:
        return built(field.entity, value)
    if field.primitive in _MS:
        return timedelta(milliseconds=value)
    if field.primitive == "error_code":
        return ErrorCode(value)
    return tuple(value) if field.array else value


def encoded(message: Message, correlation_id: int) -> bytes:
    """Return a request with its header, without the length of the frame."""
    header = built(
        message.__header_schema__,
        {
            "request_api_key": message.__api_key__,
            "request_api_version": message.__version__,
            "correlation_id": correlation_id,
            "client_id": CLIENT,
        },
    )
    buffer = io.BytesIO()
    for part in (header, message):
        entity_writer(type(part))(buffer, part)
    return buffer.getvalue()


def response(message: Message, frame: bytes, surplus: int = 0) -> tuple[int, SimpleNamespace]:
    """Return the correlation id and the response to ``message``. Raises MalformedError.

    ``surplus``: so many bytes at most may follow the response.
    """
    kind: Kind = load_response_schema(message.__api_key__, message.__version__)
    header, body = _read(frame, (kind.__header_schema__, kind), surplus)
    return header.correlation_id, body


def received(frame: bytes) -> tuple[SimpleNamespace, SimpleNamespace]:
    """Return the header and the body of a request. Raises MalformedError.

    Text is null only where the protocol allows it (Kafka: the request's ``read``). Raises
    UnsupportedError for an API or a version that kio does not have.
    """
    if len(frame) < _KEY_AND_VERSION.size:
        raise MalformedError(f"a request of {len(frame)} bytes")
    key, version = _KEY_AND_VERSION.unpack_from(frame)
    try:
        kind: Kind = load_request_schema(key, version)
    except KioIndexError:
        raise UnsupportedError(f"API {key} version {version}") from None
    header = _table(kind.__header_schema__)
    parts = [attrs.evolve(header, flexible=False), *((_TAGS,) if header.flexible else ())]
    read_header, *_, body = _read_tables(frame, (*parts, _table(kind, strict=True)))
    return read_header, body


def answered(key: int, version: int, correlation_id: int, values: dict[str, Any]) -> bytes:
    """Return a response with its header; values that this version does not have are left out."""
    kind: Kind = load_response_schema(key, version)
    header = built(kind.__header_schema__, {"correlation_id": correlation_id})
    buffer = io.BytesIO()
    for part in (header, built(kind, fitted(kind, values))):
        entity_writer(type(part))(buffer, part)
    return buffer.getvalue()


def fitted(kind: Kind, values: dict[str, Any]) -> dict[str, Any]:
    """Return values, and those within them, without the fields that a version does not have."""
    fitting = {}
    for field in _fields(kind):
        if field.name in values:
            value = values[field.name]
            if field.entity and value is not None:
                parts = [fitted(field.entity, part) for part in (value if field.array else [value])]
                value = parts if field.array else parts[0]
            fitting[field.name] = value
    return fitting


def decoded(kind: Kind, data: bytes) -> SimpleNamespace:
    """Return what the bytes say, by kio's names: durations and times in ms, errors as numbers.

    Raises MalformedError for bytes that are too few, too many or impossible.
    """
    (message,) = _read(data, (kind,))
    return message


def _read(data: bytes, kinds: Iterable[Kind], surplus: int = 0) -> tuple[SimpleNamespace, ...]:
    return _read_tables(data, map(_table, kinds), surplus)


def _read_tables(
    data: bytes, tables: Iterable[wire.Message], surplus: int = 0
) -> tuple[SimpleNamespace, ...]:
    reader = Reader(data, _MOST_ELEMENTS)
    try:
        parts = tuple(_named(read(reader, table)) for table in tables)
    except InvalidValueError as error:
        raise MalformedError(str(error)) from None
    if reader.remaining > surplus:
        raise MalformedError(f"{reader.remaining} bytes are left over")
    return parts


@lru_cache(maxsize=256)
def _table(kind: Kind, *, strict: bool = False) -> wire.Message:
    """Return the table by which ``model.wire`` reads a message of kio's."""
    columns = tuple(_column(field, strict=strict) for field in _fields(kind))
    return wire.Message(kind.__name__, columns, kind.__flexible__)


def _column(field: _Field, *, strict: bool) -> wire.Field:
    """Return a field as ``model.wire`` reads it; any text or records may be null, unless strict."""
    primitive, entity = field.primitive, field.entity
    return wire.Field(
        field.name,
        _table(entity, strict=strict).fields if entity else _KINDS.get(primitive, primitive),
        field.tag,
        field.default,
        is_array=field.array,
        nullable=field.optional or (not strict and primitive in _SIZED and not field.array),
    )


def _named(value: Message) -> Message:
    """Return what was read with attributes for keys, tuples for lists, None for the zero UUID."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _named(part) for name, part in value.items()})
    if isinstance(value, list):
        return tuple(_named(part) for part in value)
    if isinstance(value, UUID) and not value.int:
        return None
    return value
