"""A trace as JSON lines: one object a line, decoded strictly against the schema."""

import json
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import product
from typing import Any

from model.checks import MAX_INT64
from model.errors import InvalidValueError
from model.trace_schema import EVENT, FieldKind, TraceField

MAX_LINE_BYTES = 64 << 20
"""The longest line that is read: a full window with one range for each offset takes 1 MB."""

_INTEGER, _TEXT = FieldKind.INTEGER, FieldKind.TEXT
_PLAIN = {_INTEGER: int, _TEXT: str, FieldKind.FLAG: bool}
_BY_NAME = {field.name: field for field in EVENT}


def row_from_line(line: bytes) -> dict[str, Any]:
    """Decode one line. Fields that are absent are absent in the row; unknown fields are refused.

    Raises InvalidValueError, which names the field, its value and what is allowed.
    """
    if len(line) > MAX_LINE_BYTES:
        raise InvalidValueError("line", f"{len(line)} bytes", f"at most {MAX_LINE_BYTES} bytes")
    try:
        value = _DECODER.decode(line.decode("utf-8"))
    except InvalidValueError:
        raise
    except UnicodeDecodeError as error:
        raise InvalidValueError("line", line[error.start : error.end], "UTF-8") from None
    except (ValueError, RecursionError) as error:
        text = f"one JSON object ({getattr(error, 'msg', error)})"
        raise InvalidValueError("line", line.decode("utf-8"), text) from None
    return row_from_object(value)


def _of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; of a name that occurs twice nothing says which value is right."""
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise InvalidValueError(twice, [v for n, v in pairs if n == twice], "one value")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_of_pairs)


def row_from_object(value: object) -> dict[str, Any]:
    """Check a value as ``json.loads`` returns it, and return its row; see ``row_from_line``."""
    return _record("event", value, EVENT, _BY_NAME)


def line_from_row(row: dict[str, Any]) -> bytes:
    """Encode one row as a line with its line feed; null fields of the event are left out."""
    plain = object_from_row(row)
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def object_from_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row as ``json.loads`` would of its line; null fields of the event are left out."""
    return {f.name: _encoded(f, row[f.name]) for f in EVENT if row.get(f.name) is not None}


def _record(
    path: str, value: object, fields: tuple[TraceField, ...], by_name: dict[str, TraceField]
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidValueError(path, value, "an object")
    for name in value:
        if name not in by_name:
            raise InvalidValueError(f"{path}.{name}", value[name], f"one of {', '.join(by_name)}")
    row = {}
    for field in fields:
        if field.name in value:
            item = value[field.name]
            plain = _is_plain(item, field.kind)
            row[field.name] = item if plain else _decoded(f"{path}.{field.name}", item, field)
        elif not field.optional:
            raise InvalidValueError(f"{path}.{field.name}", None, "a value: it is missing")
    return row


def _row(path: str, value: object, fields: tuple[TraceField, ...]) -> dict[str, Any]:
    if not isinstance(value, list) or len(value) != len(fields):
        allowed = f"an array of {', '.join(field.name for field in fields)}"
        raise InvalidValueError(path, value, allowed)
    row = {}
    for field, item in zip(fields, value, strict=True):
        plain = _is_plain(item, field.kind)
        row[field.name] = item if plain else _decoded(f"{path}.{field.name}", item, field)
    return row


def _rows(path: str, values: list[object], fields: tuple[TraceField, ...]) -> list[dict[str, Any]]:
    """Decode rows; a recording has thirty an event, most of them as in the event before."""
    plain, rows = _plain_rows(fields), []
    for value in values:
        try:
            row = plain(*value) if type(value) is list else None
        except TypeError:  # An array in a row.
            row = None
        rows.append(_row(path, value, fields) if row is None else row.copy())
    return rows


@cache
def _plain_rows(fields: tuple[TraceField, ...]) -> Callable[..., dict[str, Any] | None]:
    """Return what makes a row of values that have the types that they should have; None of others.

    Of none where a field has parts, or an optional one is a number.
    """
    names = tuple(field.name for field in fields)
    integers = tuple(i for i, field in enumerate(fields) if field.kind is _INTEGER)
    typed = frozenset[tuple[type, ...]]()
    if all(f.kind in _PLAIN and not (f.optional and f.kind is _INTEGER) for f in fields):
        kinds = ((_PLAIN[f.kind], *((type(None),) if f.optional else ())) for f in fields)
        typed = frozenset(product(*kinds))

    @lru_cache(maxsize=1 << 14, typed=True)
    def row(*values: Any) -> dict[str, Any] | None:  # noqa: ANN401 - of JSON
        if tuple(map(type, values)) not in typed:
            return None
        fit = all(-MAX_INT64 <= values[place] <= MAX_INT64 for place in integers)
        return dict(zip(names, values, strict=True)) if fit else None

    return row


def _is_plain(value: object, kind: FieldKind) -> bool:
    """Say whether a value is the number or the text that it should be, as nearly all are."""
    if type(value) is int:
        return kind is _INTEGER and -MAX_INT64 <= value <= MAX_INT64
    return type(value) is str and kind is _TEXT


def _decoded(path: str, value: object, field: TraceField) -> object:  # noqa: PLR0911 - one a kind
    if value is None and field.optional:
        return None
    match field.kind:
        case FieldKind.INTEGER:
            return _integer(path, value)
        case FieldKind.TEXT:
            return _typed(path, value, str, "a string")
        case FieldKind.FLAG:
            return _typed(path, value, bool, "true or false")
        case FieldKind.RECORD:
            return _record(path, value, field.parts, {part.name: part for part in field.parts})
    if not isinstance(value, list):
        raise InvalidValueError(path, value, "an array")
    match field.kind:
        case FieldKind.INTEGERS:
            return [_integer(path, item) for item in value]
        case FieldKind.TEXTS:
            return [_typed(path, item, str, "a string") for item in value]
        case FieldKind.ROWS:
            return _rows(path, value, field.parts)
    by_name = {part.name: part for part in field.parts}
    return [_record(path, item, field.parts, by_name) for item in value]


def _integer(path: str, value: object) -> int:
    if type(value) is not int or not -MAX_INT64 <= value <= MAX_INT64:
        raise InvalidValueError(path, value, "a whole number of 64 bits")
    return value


def _typed(path: str, value: object, kind: type, allowed: str) -> object:
    if not isinstance(value, kind):
        raise InvalidValueError(path, value, allowed)
    return value


def _encoded(field: TraceField, value: Any) -> object:  # noqa: ANN401 - a value of any kind
    if value is None:  # A table may lack what a trace must have.
        return None
    match field.kind:
        case FieldKind.RECORD:
            return _encoded_record(field, value)
        case FieldKind.RECORDS:
            return [_encoded_record(field, item) for item in value]
        case FieldKind.ROWS:
            nested = [(p.name, None if p.kind in _PLAIN else p) for p in field.parts]
            return [[_encoded(p, of.get(n)) if p else of.get(n) for n, p in nested] for of in value]
        case FieldKind.INTEGERS | FieldKind.TEXTS:
            return list(value)
    return value


def _encoded_record(field: TraceField, value: dict[str, Any]) -> dict[str, Any]:
    return {
        p.name: _encoded(p, value[p.name])
        for p in field.parts
        if not (p.optional and value.get(p.name) is None)
    }
