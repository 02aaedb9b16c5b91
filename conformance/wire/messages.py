"""Kafka's messages by the schemas of kio, with a decoder that no broker can make grow.

kio's own decoder takes the counts in a message at their word: one that says that it has 2**31
elements ends the process. This one reads no more than there is.
"""

import io
import struct
from dataclasses import fields
from datetime import timedelta
from functools import lru_cache
from types import NoneType, SimpleNamespace
from typing import Any, TypeAlias, get_args, get_origin
from uuid import UUID

import attrs
from kio.index import load_entity_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.constants import EntityType

__all__ = ["MalformedError", "Message", "built", "decoded", "encoded", "request", "response"]

Message: TypeAlias = Any
"""A message or a part of one; the classes that kio generates have no base that they share."""

Kind: TypeAlias = Any

_MOST_ELEMENTS = 200_000
_FIXED = {
    "bool": struct.Struct(">?"),
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
    "error_code": struct.Struct(">h"),
    "timedelta_i32": struct.Struct(">i"),
    "timedelta_i64": struct.Struct(">q"),
    "datetime_i64": struct.Struct(">q"),
}
_MS = ("timedelta_i32", "timedelta_i64")
_VARINT_BYTES = 5
_CLIENT = "sharespec"


class MalformedError(ValueError):
    """Bytes that are no message of this kind."""


@attrs.frozen
class _Field:
    """How one field of a message looks: ``entity`` or ``primitive``, one or an ``array``."""

    name: str
    tag: int | None
    optional: bool
    array: bool
    entity: Kind
    primitive: str


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
    return _Field(field.name, field.metadata.get("tag"), optional, array, entity, primitive)


def request(name: str, version: int, **values: Message) -> Message:
    """Return a request of kio's; ``name`` is that of its module, such as share_fetch."""
    return built(load_entity_schema(name, version, EntityType.request), values)


def built(kind: Kind, values: dict[str, Any]) -> Message:
    """Return one of kio's values, made of plain ones: dicts, lists, numbers, ms for durations.

    Raises TypeError for a field that this version does not have, or lacks.
    """
    known = {field.name: field for field in _fields(kind)}
    return kind(**{name: _plain(known.get(name), value) for name, value in values.items()})


def _plain(field: _Field | None, value: Message) -> Message:
    if field is None or value is None:
        return value
    if field.entity and field.array:
        return tuple(built(field.entity, one) for one in value)
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
            "client_id": _CLIENT,
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
    reader = _Reader(frame)
    header = reader.entity(kind.__header_schema__)
    body = reader.entity(kind)
    reader.end(surplus)
    return header.correlation_id, body


def decoded(kind: Kind, data: bytes) -> SimpleNamespace:
    """Return what the bytes say, by kio's names: durations and times in ms, errors as numbers.

    Raises MalformedError for bytes that are too few, too many or impossible.
    """
    reader = _Reader(data)
    found = reader.entity(kind)
    reader.end()
    return found


class _Reader:
    """Reads forward through bytes, never past their end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at, self._elements = data, 0, 0

    def end(self, surplus: int = 0) -> None:
        left = len(self._data) - self._at
        if left > surplus:
            raise MalformedError(f"{left} bytes are left over")

    def entity(self, kind: Kind) -> SimpleNamespace:
        """Read a struct; a tagged field that is not there has its default."""
        flexible = kind.__flexible__
        plain = [field for field in _fields(kind) if field.tag is None]
        found = SimpleNamespace(**{f.name: self._value(f, flexible) for f in plain})
        if flexible:
            self._tagged(kind, found)
        return found

    def _tagged(self, kind: Kind, found: SimpleNamespace) -> None:
        tags = {field.tag: field for field in _fields(kind) if field.tag is not None}
        for field in fields(kind):
            if "tag" in field.metadata:
                setattr(found, field.name, field.default)
        for _ in range(self._varint()):
            tag, size = self._varint(), self._varint()
            data = self._take(size)
            if known := tags.get(tag):
                inner = _Reader(data)
                inner._elements = self._elements
                setattr(found, known.name, inner._value(known, flexible=True))
                inner.end()
                self._elements = inner._elements

    def _value(self, field: _Field, flexible: bool) -> Message:  # noqa: FBT001
        if not field.array:
            return self._one(field, flexible)
        count = self._varint() - 1 if flexible else self._fixed("int32")
        if count < 0:
            if field.optional and count == -1:
                return None
            raise MalformedError(f"{field.name} has a count of {count}")
        self._elements += count
        if count > len(self._data) - self._at or self._elements > _MOST_ELEMENTS:
            raise MalformedError(f"{field.name} has a count of {count}, more than there can be")
        return tuple(self._one(field, flexible) for _ in range(count))

    def _one(self, field: _Field, flexible: bool) -> Message:  # noqa: FBT001
        if field.entity:
            absent = field.optional and not field.array and self._fixed("int8") < 0
            return None if absent else self.entity(field.entity)
        if field.primitive in _FIXED:
            return self._fixed(field.primitive)
        if field.primitive == "uuid":
            found = UUID(bytes=self._take(16))
            return found if found.int else None
        if field.primitive == "string":
            return self._text(flexible)
        return self._bytes(flexible, "int32")

    def _text(self, flexible: bool) -> str | None:  # noqa: FBT001
        data = self._bytes(flexible, "int16")
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            raise MalformedError(f"{data!r:.80} is not text") from None

    def _bytes(self, flexible: bool, size: str) -> bytes | None:  # noqa: FBT001
        length = self._varint() - 1 if flexible else self._fixed(size)
        return None if length == -1 else self._take(length)

    def _fixed(self, primitive: str) -> Message:
        form = _FIXED[primitive]
        return form.unpack(self._take(form.size))[0]

    def _varint(self) -> int:
        found = 0
        for place in range(_VARINT_BYTES):
            byte = self._take(1)[0]
            found |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follows
                return found
        raise MalformedError("a number does not end")

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            left = len(self._data) - self._at
            raise MalformedError(f"{size} bytes are due where {left} are left")
        found = self._data[self._at : end]
        self._at = end
        return found
