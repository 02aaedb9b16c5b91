"""Records of __share_group_state, read from the output of Kafka's tools.

Two forms are read, also mixed. The console consumer with ShareGroupStateMessageFormatter prints
JSON objects and nothing between them, so that a file may be one line; kafka-dump-log with
``--share-group-state-decoder`` prints a line for each record, with its key and its payload in it.
"""

import json
import re
from collections.abc import Iterator
from gzip import GzipFile
from typing import BinaryIO

import attrs

from model.errors import InvalidValueError
from model.state_topic import StateRecord
from model.state_topic_codec import record_from_json

BLOCK_BYTES = 1 << 20
MAX_RECORD_BYTES = 16 << 20
"""How long one record may be, in bytes of text; a longer one is skipped."""

MAX_UNREADABLE = 100_000
"""After so many places that cannot be read, what follows is not read either: it is no dump."""

_LINE_ENDS, _BEGIN = re.compile(rb"\n\n*"), re.compile(rb'\{"key":')
"""Behind which and at which a record may begin; no JSON string holds the latter, with its quotes.

Each begins with a literal: apart they are found ten times as fast as by one expression.
"""

_OVERLAP = 6
"""How many bytes of a cut may be at the end of a block."""

_KEY, _PAYLOAD, _DELETED = " key: ", " payload: ", "<DELETE>"
_DECODER = json.JSONDecoder()


@attrs.frozen
class RecordAt:
    """A record; ``place`` is the byte where it begins, counted from 0."""

    place: int
    record: StateRecord


@attrs.frozen
class Unreadable:
    """Text that should be a record and is not; ``place`` as in RecordAt."""

    place: int
    message: str


def read_records(file: BinaryIO | GzipFile) -> Iterator[RecordAt | Unreadable]:
    """Yield the records of a file in order; skip lines that have no record.

    What cannot be read is Unreadable, and reading continues after it, MAX_UNREADABLE times.
    """
    unreadable = 0
    for place, piece in _pieces(file):
        read = _read(place, piece)
        if isinstance(read, Unreadable):
            unreadable += 1
            if unreadable > MAX_UNREADABLE:
                text = f"more than {MAX_UNREADABLE} places cannot be read: the rest is not read"
                yield Unreadable(place, text)
                return
        if read is not None:
            yield read


def _read(place: int, piece: bytes | None) -> RecordAt | Unreadable | None:
    if piece is None:
        return Unreadable(place, f"longer than {MAX_RECORD_BYTES} bytes")
    try:
        record = _record(piece)
    except InvalidValueError as error:
        return Unreadable(place, str(error))
    except (ValueError, RecursionError) as error:
        return Unreadable(place, f"not JSON in UTF-8: {error}")
    return None if record is None else RecordAt(place, record)


def _pieces(file: BinaryIO | GzipFile) -> Iterator[tuple[int, bytes | None]]:
    """Yield where each text between cuts begins, and the text; None if it is too long.

    ``dropped`` bytes of the current piece came before ``rest`` and are not in memory.
    """
    rest, begin, dropped = b"", 0, 0
    while block := file.read(BLOCK_BYTES):
        text, start = rest + block, 0
        cuts = [cut.span() for cut in _LINE_ENDS.finditer(text)]
        cuts += [(cut.start(), cut.start()) for cut in _BEGIN.finditer(text)]
        for end, after in sorted(cuts):
            if after > start or dropped:
                yield begin, _bounded(text[start:end], dropped)
                begin += dropped + after - start
                start, dropped = after, 0
        rest = text[start:]
        if dropped or len(rest) > MAX_RECORD_BYTES:
            # The end may be the beginning of a cut.
            dropped, rest = dropped + len(rest) - _OVERLAP, rest[-_OVERLAP:]
    yield begin, _bounded(rest, dropped)


def _bounded(piece: bytes, dropped: int) -> bytes | None:
    return None if dropped or len(piece) > MAX_RECORD_BYTES else piece


def _record(piece: bytes) -> StateRecord | None:
    text = piece.strip().decode()
    if text.startswith("{"):
        data = json.loads(text)
        if "key" not in data or "value" not in data:
            raise InvalidValueError("the object", data, "one with key and value")
        return record_from_json(data["key"], data["value"])
    place = text.find(_KEY)
    if place < 0 or _PAYLOAD not in text:
        return None
    key, end = _DECODER.raw_decode(text, place + len(_KEY))
    payload = text[end:]
    if not payload.startswith(_PAYLOAD):
        raise InvalidValueError(
            "the text after the key", payload, f"{_PAYLOAD.strip()} and a value"
        )
    payload = payload.removeprefix(_PAYLOAD).strip()
    return record_from_json(key, None if payload == _DELETED else json.loads(payload))
