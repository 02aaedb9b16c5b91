"""Records of __share_group_state out of what Kafka's tools print of it.

Two forms are read, also mixed. The console consumer with ShareGroupStateMessageFormatter prints
JSON objects and nothing between them, so that a file may be one line; kafka-dump-log with
``--share-group-state-decoder`` prints a line for each record, with its key and its payload in it.
"""

import json
import re
from collections.abc import Iterator
from typing import Protocol

import attrs

from model.errors import InvalidValueError
from model.state_topic import StateRecord
from model.state_topic_codec import record_from_json

__all__ = ["MAX_RECORD_BYTES", "Found", "Unreadable", "read_records"]

BLOCK_BYTES = 1 << 20
MAX_RECORD_BYTES = 16 << 20
"""How long one record may be, in bytes of text; what is longer is passed over unread."""

_CUT = re.compile(rb'\n|(?=\{"key":)')
"""Where a record may begin: a JSON string cannot hold the latter, since its quotes are escaped."""

_OVERLAP = 6
"""How much of a cut may stand at the end of what was read, in bytes."""

_KEY, _PAYLOAD, _DELETED = " key: ", " payload: ", "<DELETE>"
_DECODER = json.JSONDecoder()


class BinaryFile(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""


@attrs.frozen
class Found:
    """A record; ``place`` is the byte where it begins, counted from 0."""

    place: int
    record: StateRecord


@attrs.frozen
class Unreadable:
    """What should be a record and is not."""

    place: int
    message: str


def read_records(file: BinaryFile) -> Iterator[Found | Unreadable]:
    """Yield the records of a file in order; lines that say nothing of a record are passed over.

    What cannot be read is said with its place, and reading goes on after it.
    """
    for place, piece in _pieces(file):
        if piece is None:
            yield Unreadable(place, f"longer than {MAX_RECORD_BYTES} bytes")
            continue
        try:
            record = _record(piece)
        except InvalidValueError as error:
            yield Unreadable(place, str(error))
        except (ValueError, RecursionError) as error:
            yield Unreadable(place, f"not JSON in UTF-8: {error}")
        else:
            if record is not None:
                yield Found(place, record)


def _pieces(file: BinaryFile) -> Iterator[tuple[int, bytes | None]]:
    """Yield the text between cuts and where it begins; None for what is too long.

    ``dropped`` bytes of the piece that is being read came before ``kept`` and are not held.
    """
    kept, begin, dropped = b"", 0, 0
    while block := file.read(BLOCK_BYTES):
        text, start = kept + block, 0
        for cut in _CUT.finditer(text):
            if cut.end() > start or dropped:
                yield begin, _bounded(text[start : cut.start()], dropped)
                begin += dropped + cut.end() - start
                start, dropped = cut.end(), 0
        kept = text[start:]
        if dropped or len(kept) > MAX_RECORD_BYTES:
            # The end may be the beginning of a cut.
            dropped, kept = dropped + len(kept) - _OVERLAP, kept[-_OVERLAP:]
    yield begin, _bounded(kept, dropped)


def _bounded(piece: bytes, dropped: int) -> bytes | None:
    return None if dropped or len(piece) > MAX_RECORD_BYTES else piece


def _record(piece: bytes) -> StateRecord | None:
    text = piece.strip().decode()
    if text.startswith("{"):
        data = json.loads(text)
        if "key" not in data or "value" not in data:
            raise InvalidValueError("the object", data, "one with key and value")
        return record_from_json(data["key"], data["value"])
    at = text.find(_KEY)
    if at < 0 or _PAYLOAD not in text:
        return None
    key, end = _DECODER.raw_decode(text, at + len(_KEY))
    payload = text[end:]
    if not payload.startswith(_PAYLOAD):
        raise InvalidValueError(
            "the text after the key", payload, f"{_PAYLOAD.strip()} and a value"
        )
    payload = payload.removeprefix(_PAYLOAD).strip()
    return record_from_json(key, None if payload == _DELETED else json.loads(payload))
