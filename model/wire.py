"""Kafka's encoding of messages: between bytes, their JSON form, and values by name.

A ``Message`` is a table of fields; one encoder and one decoder read every table (Kafka protocol
guide, Protocol Primitive Types; KIP-482 for flexible versions and tagged fields).
"""

import base64
import binascii
import struct
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import attrs

from model.errors import InvalidValueError

__all__ = ["Field", "Message", "array", "decode", "encode", "from_json", "to_json", "uuid_text"]

_NUMBERS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q"}
_MAX_SIZE = 2**31 - 1
_UUID_BYTES = 16


@attrs.frozen
class Field:
    """A field: ``kind`` is int8 to int64, uuid, string, nullable string, or an array's fields.

    ``since``: the first version that has it; in others it has the ``default``. With a ``tag`` it
    is encoded only if it is not the default.
    """

    name: str
    kind: "str | tuple[Field, ...]"
    since: int = 0
    tag: int | None = None
    default: object = None


@attrs.frozen
class Message:
    """A message: its fields, its newest version, and whether its versions are flexible."""

    name: str
    fields: tuple[Field, ...]
    newest: int = 0
    flexible: bool = True


def array(name: str, *fields: Field) -> Field:
    """Return a field that is an array of structures."""
    return Field(name, fields)


def encode(message: Message, values: Mapping[str, Any], version: int = 0) -> bytes:
    """Return the bytes of a message; fields that the version does not have are left out.

    Raises InvalidValueError that names the field which does not fit.
    """
    _check_version(message, version)
    return _Writer(version, flexible=message.flexible).struct(message.fields, values, "")


def decode(message: Message, data: bytes, version: int = 0) -> dict[str, Any]:
    """Return the values of a message. Tagged fields that are not known are passed over.

    Raises InvalidValueError that names the place where the bytes cannot be such a message. No
    length that was read is believed before the bytes are there.
    """
    _check_version(message, version)
    reader = _Reader(data, version, flexible=message.flexible)
    values = reader.struct(message.fields, "")
    if reader.at != len(data):
        raise InvalidValueError(message.name, data, f"{reader.at} bytes, not {len(data)}")
    return values


def to_json(message: Message, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as Kafka's JSON has them: a tagged field of default value is left out."""
    return _struct_to_json(message.fields, values)


def from_json(message: Message, data: object) -> dict[str, Any]:
    """Return the values of Kafka's JSON form; names that are not known are passed over.

    Raises InvalidValueError that names the field which is missing or does not fit.
    """
    return _struct_from_json(message.fields, data, "")


def uuid_text(value: UUID) -> str:
    """Return a topic id as Kafka prints it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def _check_version(message: Message, version: int) -> None:
    if type(version) is not int or not 0 <= version <= message.newest:
        allowed = f"0 to {message.newest}" if message.newest else "0"
        raise InvalidValueError(f"{message.name} version", version, allowed)


def _place(within: str, name: str) -> str:
    return f"{within}.{name}" if within else name


def _plain(fields: tuple[Field, ...], version: int) -> list[Field]:
    return [field for field in fields if field.tag is None and field.since <= version]


def _whole(kind: str, value: object, place: str) -> int:
    most = 1 << 8 * struct.calcsize(">" + _NUMBERS[kind]) - 1
    if type(value) is not int or not -most <= value < most:
        raise InvalidValueError(place, value, f"an integer from {-most} to {most - 1}")
    return value


def _text(kind: str, value: object, place: str) -> str | None:
    if value is None and kind == "nullable string":
        return None
    if not isinstance(value, str):
        raise InvalidValueError(place, value, "a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidValueError(place, value, "a string of whole characters") from None
    return value


class _Writer:
    """Writes fields of one version of a message."""

    def __init__(self, version: int, *, flexible: bool) -> None:
        self.version, self.flexible = version, flexible

    def struct(self, fields: tuple[Field, ...], values: Mapping[str, Any], within: str) -> bytes:
        written = [
            self.field(field.kind, values[field.name], _place(within, field.name))
            for field in _plain(fields, self.version)
        ]
        if self.flexible:
            written.append(self.tagged(fields, values, within))
        return b"".join(written)

    def tagged(self, fields: tuple[Field, ...], values: Mapping[str, Any], within: str) -> bytes:
        parts = [
            (field.tag, self.field(field.kind, values[field.name], _place(within, field.name)))
            for field in fields
            if field.tag is not None and values[field.name] != field.default
        ]
        body = b"".join(_varint(tag) + _varint(len(part)) + part for tag, part in parts)
        return _varint(len(parts)) + body

    def field(self, kind: str | tuple[Field, ...], value: Any, place: str) -> bytes:  # noqa: ANN401 - as the kind says
        if isinstance(kind, tuple):
            items = [self.struct(kind, item, f"{place}[{i}]") for i, item in enumerate(value)]
            return _varint(len(items) + 1) + b"".join(items)
        if kind in _NUMBERS:
            return struct.pack(">" + _NUMBERS[kind], _whole(kind, value, place))
        if kind == "uuid":
            return _uuid(value, place).bytes
        text = _text(kind, value, place)
        return self.size(-1, place) if text is None else self.text(text.encode(), place)

    def text(self, raw: bytes, place: str) -> bytes:
        return self.size(len(raw), place) + raw

    def size(self, length: int, place: str) -> bytes:
        if self.flexible:
            return _varint(length + 1)
        return struct.pack(">h", _whole("int16", length, place))


class _Reader:
    """Reads fields of one version of a message, and never past the end of its bytes."""

    def __init__(self, data: bytes, version: int, *, flexible: bool) -> None:
        self.data, self.at = data, 0
        self.version, self.flexible = version, flexible

    def take(self, size: int, place: str) -> bytes:
        if size > len(self.data) - self.at:
            left = len(self.data) - self.at
            raise InvalidValueError(place, size, f"as many bytes as there are, {left}")
        self.at += size
        return self.data[self.at - size : self.at]

    def struct(self, fields: tuple[Field, ...], within: str) -> dict[str, Any]:
        values = {field.name: field.default for field in fields}
        for field in _plain(fields, self.version):
            values[field.name] = self.field(field.kind, _place(within, field.name))
        if self.flexible:
            self.tagged({field.tag: field for field in fields}, values, within)
        return values

    def tagged(self, fields: dict[int | None, Field], values: dict[str, Any], within: str) -> None:
        place = _place(within, "tagged fields")
        for _ in range(self.varint(place)):
            tag, size = self.varint(place), self.varint(place)
            if (field := fields.get(tag)) is None:
                self.take(size, place)
                continue
            end = self.at + size
            values[field.name] = self.field(field.kind, _place(within, field.name))
            if self.at != end:
                raise InvalidValueError(_place(within, field.name), size, "the size of its kind")

    def field(self, kind: str | tuple[Field, ...], place: str) -> Any:  # noqa: ANN401 - as the kind says
        if isinstance(kind, tuple):
            count = self.varint(place) - 1
            if not 0 <= count <= len(self.data) - self.at:
                allowed = f"an array of at most {len(self.data) - self.at} elements"
                raise InvalidValueError(place, count, allowed)
            return [self.struct(kind, f"{place}[{i}]") for i in range(count)]
        if kind in _NUMBERS:
            code = ">" + _NUMBERS[kind]
            return struct.unpack(code, self.take(struct.calcsize(code), place))[0]
        if kind == "uuid":
            return UUID(bytes=self.take(_UUID_BYTES, place))
        return self.text(kind, place)

    def text(self, kind: str, place: str) -> str | None:
        if self.flexible:
            size = self.varint(place) - 1
        else:
            size = struct.unpack(">h", self.take(2, place))[0]
        if size < 0:
            return _text(kind, None, place)
        raw = self.take(size, place)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise InvalidValueError(place, raw, "UTF-8") from None

    def varint(self, place: str) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1, place)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80 and value <= _MAX_SIZE:  # noqa: PLR2004 - the bit that says more follows
                return value
        raise InvalidValueError(place, value, f"at most {_MAX_SIZE}")


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - what seven bits hold
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _uuid(value: object, place: str) -> UUID:
    if not isinstance(value, UUID):
        raise InvalidValueError(place, value, "a UUID")
    return value


def _struct_to_json(fields: tuple[Field, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for field in fields:
        value = values[field.name]
        if field.tag is not None and value == field.default:
            continue
        if isinstance(field.kind, tuple):
            value = [_struct_to_json(field.kind, item) for item in value]
        elif field.kind == "uuid":
            value = uuid_text(value)
        shown[field.name] = value
    return shown


def _struct_from_json(fields: tuple[Field, ...], data: object, within: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise InvalidValueError(within or "the data", data, "a JSON object")
    values: dict[str, Any] = {}
    for field in fields:
        place = _place(within, field.name)
        if field.name in data:
            values[field.name] = _from_json(field.kind, data[field.name], place)
        elif field.tag is not None:
            values[field.name] = field.default
        else:
            raise InvalidValueError(place, None, "a value; it is missing")
    return values


def _from_json(kind: str | tuple[Field, ...], value: object, place: str) -> object:
    if isinstance(kind, tuple):
        if not isinstance(value, list):
            raise InvalidValueError(place, value, "a JSON array")
        return [_struct_from_json(kind, item, f"{place}[{i}]") for i, item in enumerate(value)]
    if kind in _NUMBERS:
        return _whole(kind, value, place)
    if kind == "uuid":
        return _uuid_from(value, place)
    return _text(kind, value, place)


def _uuid_from(value: object, place: str) -> UUID:
    try:
        return UUID(bytes=base64.b64decode(f"{value}==", altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        raise InvalidValueError(place, value, "16 bytes in URL-safe base64") from None
