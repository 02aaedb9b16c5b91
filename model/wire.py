"""Kafka's encoding of messages: from bytes, and their JSON form to and from values by name.

A ``Message`` is a table of fields, which one decoder reads (Kafka protocol guide, Protocol
Primitive Types; KIP-482 for flexible versions and tagged fields).
"""

import base64
import binascii
import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

import attrs

from model.errors import InvalidValueError

_NUMBERS = {
    "bool": struct.Struct(">?"),
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
}
_MAX_SIZE = 2**31 - 1


def _limit_of(kind: str) -> int:
    return 1 << 8 * _NUMBERS[kind].size - 1


_UUID_BYTES = 16
_VARINT_BYTES, _VARLONG_BYTES = 5, 10


@attrs.frozen
class Field:
    """A field: ``kind`` is bool, int8 to int64, uint16, float64, uuid, string, bytes, or fields.

    With a ``tag`` it is there only if it is not the ``default``.
    """

    name: str
    kind: "str | tuple[Field, ...]"
    tag: int | None = None
    default: object = None
    is_array: bool = False
    nullable: bool = False
    limit: int = attrs.field(init=False)
    """A whole number is from -limit to limit, exclusive; 0 where there is none."""

    @limit.default
    def _limit(self) -> int:
        is_number = not self.is_array and self.kind in _NUMBERS
        return _limit_of(str(self.kind)) if is_number else 0


@attrs.frozen
class Message:
    """A version of a message: its fields, and whether it is flexible."""

    name: str
    fields: tuple[Field, ...]
    flexible: bool = True


def array(name: str, *fields: Field) -> Field:
    """Return a field that is an array of structures."""
    return Field(name, fields, is_array=True)


class Reader:
    """Reads forward through bytes that may be anything; never past their end.

    No count of elements is believed beyond the bytes that are left, or beyond ``most_elements`` in
    all. Every method raises InvalidValueError, which names the ``place``.
    """

    def __init__(self, data: bytes, most_elements: int = _MAX_SIZE) -> None:
        """Start at the first byte."""
        self._data, self._position, self._elements = data, 0, most_elements

    @property
    def remaining(self) -> int:
        """Return how many bytes are left."""
        return len(self._data) - self._position

    def take(self, size: int, place: str) -> bytes:
        """Return the next ``size`` bytes."""
        if not 0 <= size <= self.remaining:
            raise InvalidValueError(
                place, size, f"at most the {self.remaining} bytes that are left"
            )
        self._position += size
        return self._data[self._position - size : self._position]

    def number(self, kind: str, place: str) -> Any:  # noqa: ANN401 - as the kind says
        """Return a number of fixed size."""
        form = _NUMBERS[kind]
        return form.unpack(self.take(form.size, place))[0]

    def varint(self, place: str) -> int:
        """Return an UNSIGNED_VARINT: a number from 0 to 2**31 - 1."""
        value = self._seven_bits(_VARINT_BYTES, place)
        if value > _MAX_SIZE:
            raise InvalidValueError(place, value, f"at most {_MAX_SIZE}")
        return value

    def varlong(self, place: str) -> int:
        """Return a VARLONG, or a VARINT: a signed number."""
        value = self._seven_bits(_VARLONG_BYTES, place)
        return (value >> 1) ^ -(value & 1)

    def count(self, place: str, *, flexible: bool) -> int | None:
        """Return the number of elements of an array; None for null."""
        count: int = self.varint(place) - 1 if flexible else self.number("int32", place)
        if count == -1:
            return None
        most = min(self.remaining, self._elements)
        if not 0 <= count <= most:
            raise InvalidValueError(place, count, f"an array of at most {most} elements")
        self._elements -= count
        return count

    def sized(self, fixed: str, place: str, *, flexible: bool) -> bytes | None:
        """Return bytes after their number, which is of the kind ``fixed`` in inflexible versions.

        None for null.
        """
        size = self.varint(place) - 1 if flexible else self.number(fixed, place)
        return None if size == -1 else self.take(size, place)

    def _seven_bits(self, most_bytes: int, place: str) -> int:
        value = 0
        for shift in range(0, 7 * most_bytes, 7):
            byte = self.take(1, place)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follows
                return value
        raise InvalidValueError(place, value, f"a number of at most {most_bytes} bytes")


def decode(message: Message, data: bytes) -> dict[str, Any]:
    """Return the values of a message. Tagged fields that are not known are passed over.

    Raises InvalidValueError that names the place where the bytes cannot be such a message.
    """
    reader = Reader(data)
    values = read(reader, message)
    if reader.remaining:
        size = len(data)
        raise InvalidValueError(message.name, data, f"{size - reader.remaining} bytes, not {size}")
    return values


def read(reader: Reader, message: Message) -> dict[str, Any]:
    """Return the values of the message that comes next. Raises as ``decode`` does."""
    return _read_struct(reader, message.fields, "", flexible=message.flexible)


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


def _place(within: str, name: str) -> str:
    return f"{within}.{name}" if within else name


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise InvalidValueError(place, value, "a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidValueError(place, value, "a string of whole characters") from None
    return value


def _read_struct(
    reader: Reader, fields: tuple[Field, ...], within: str, *, flexible: bool
) -> dict[str, Any]:
    values = {
        field.name: field.default
        if field.tag is not None
        else _read_field(reader, field, _place(within, field.name), flexible=flexible)
        for field in fields
    }
    if flexible:
        _read_tagged(reader, {field.tag: field for field in fields}, values, within)
    return values


def _read_tagged(
    reader: Reader, fields: dict[int | None, Field], values: dict[str, Any], within: str
) -> None:
    place = _place(within, "tagged fields")
    for _ in range(reader.varint(place)):
        tag, size = reader.varint(place), reader.varint(place)
        if (field := fields.get(tag)) is None:
            reader.take(size, place)
            continue
        place_of_field, before = _place(within, field.name), reader.remaining
        values[field.name] = _read_field(reader, field, place_of_field, flexible=True)
        if before - reader.remaining != size:
            raise InvalidValueError(place_of_field, size, "the size of its kind")


def _read_field(reader: Reader, field: Field, place: str, *, flexible: bool) -> Any:  # noqa: ANN401 - as the kind says
    if not field.is_array:
        return _read_one(reader, field, place, flexible=flexible)
    count = reader.count(place, flexible=flexible)
    if count is None:
        return _null(field, place)
    return [_read_one(reader, field, f"{place}[{i}]", flexible=flexible) for i in range(count)]


def _read_one(reader: Reader, field: Field, place: str, *, flexible: bool) -> Any:  # noqa: ANN401 - as the kind says
    kind = field.kind
    if isinstance(kind, tuple):
        if field.nullable and not field.is_array and reader.number("int8", place) < 0:
            return None
        return _read_struct(reader, kind, place, flexible=flexible)
    if kind in _NUMBERS:
        return reader.number(kind, place)
    if kind == "uuid":
        return UUID(bytes=reader.take(_UUID_BYTES, place))
    raw = reader.sized("int16" if kind == "string" else "int32", place, flexible=flexible)
    if raw is None:
        return _null(field, place)
    try:
        return raw.decode() if kind == "string" else raw
    except UnicodeDecodeError:
        raise InvalidValueError(place, raw, "UTF-8") from None


def _null(field: Field, place: str) -> None:
    if not field.nullable:
        raise InvalidValueError(place, None, "a value, not null")


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
        value = data.get(field.name)
        if type(value) is int and -field.limit <= value < field.limit:  # As nearly all are.
            values[field.name] = value
            continue
        place = _place(within, field.name)
        if field.name in data:
            values[field.name] = _from_json(field.kind, value, place)
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
    if kind in _NUMBERS:  # One that fits was taken before.
        most = _limit_of(kind)
        raise InvalidValueError(place, value, f"an integer from {-most} to {most - 1}")
    if kind == "uuid":
        return _uuid_from(value, place)
    return _text(value, place)


@lru_cache(maxsize=1 << 10)
def _uuid_of(text: str) -> UUID:
    return UUID(bytes=base64.b64decode(f"{text}==", altchars=b"-_", validate=True))


def _uuid_from(value: object, place: str) -> UUID:
    try:
        return _uuid_of(str(value))
    except (ValueError, binascii.Error):
        raise InvalidValueError(place, value, "16 bytes in URL-safe base64") from None
