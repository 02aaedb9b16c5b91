"""One line of a request log: when, and which request with which response."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import attrs

MARK = b"Completed request:"
"""What comes before the JSON of a request."""

_STAMP = re.compile(rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?")
_NAME = re.compile(r'"requestApiKeyName"\s*:\s*"([A-Z_]{1,64})"')
_SENDER = re.compile(r'"correlationId"\s*:\s*(\d{1,10})\s*,\s*"clientId"\s*:\s*"([^"]{0,256})"')
_CONNECTION = re.compile(rb'"connection"\s*:\s*"([^"]{1,512})"')
_NAME_WITHIN = 4096
_WAITS = ("requestQueueTimeMs", "responseQueueTimeMs", "sendTimeMs")
_LONGEST_MS = 1e10
_DECODER = json.JSONDecoder()


@attrs.frozen
class Entry:
    """A request that was completed at ``end``, ``total`` ms after it was received.

    So many ms of these it ``waited`` for threads of the broker. ``sender`` are its client and its
    correlation id. Who reads a log adds where the line is: the ``broker`` whose log it is, the file
    and the line, which may have been written so many ms ``late``.
    """

    end: float
    total: float
    api: str
    version: int
    request: dict[str, Any]
    response: dict[str, Any]
    connection: str
    waited: float = 0
    sender: tuple[str, int] | None = None
    broker: str = ""
    source: str = ""
    line: int = 0
    late: float = 0

    @property
    def begin(self) -> float:
        """When the request was received (ms)."""
        return self.end - self.total

    @property
    def local(self) -> str:
        """The host of the broker, as the connection names it."""
        return _host(self.connection)


@attrs.frozen
class Other:
    """A request of a kind that shows nothing of share groups; ``local`` is the broker's host."""

    end: float
    api: str
    sender: tuple[str, int] | None = None
    local: str = ""


@attrs.frozen
class Unusable:
    """A line, or a part of one, that cannot be read; ``api`` and ``end`` where they can be."""

    message: str
    api: str | None = None
    end: float | None = None


def entries(line: bytes, apis: frozenset[str]) -> Iterator[Entry | Other | Unusable]:
    """Yield what a line holds: one request, or several where lines have run together.

    Requests that are not of ``apis`` are not decoded. A line without the mark holds nothing.
    """
    before, *pieces = line.split(MARK)
    end = None
    for piece in pieces:
        end = _stamp(before) or end
        if end is None:
            yield Unusable("no time before the request", _name(_head(piece)))
        else:
            yield _entry(piece, end, apis)
        # Where lines have run together, the next one's time is after this request.
        before = piece[-200:]


def _stamp(text: bytes) -> float | None:
    """Return the last time in the text, in ms; time zones are not known, and all are one."""
    times = _STAMP.findall(text)
    if not times:
        return None
    day, clock, fraction = (part.decode() for part in times[-1])
    try:
        time = datetime.fromisoformat(f"{day} {clock}").replace(tzinfo=UTC)
    except ValueError:
        return None
    return time.timestamp() * 1000 + int(fraction.ljust(6, "0") or 0) / 1000


def _name(head: str) -> str | None:
    name = _NAME.search(head)
    return name[1] if name else None


def _sender(head: str) -> tuple[str, int] | None:
    sender = _SENDER.search(head)
    return (sender[2], int(sender[1])) if sender else None


def _host(connection: str) -> str:
    return connection.partition("-")[0].rpartition(":")[0]


def _local(piece: bytes) -> str:
    """Return the host of the broker of a request that is not decoded; its connection comes last."""
    connection = _CONNECTION.match(piece, max(piece.rfind(b'"connection"'), 0))
    return _host(connection[1].decode("utf-8", "replace")) if connection else ""


def _head(piece: bytes) -> str:
    return piece[:_NAME_WITHIN].decode("utf-8", "replace")


def _entry(piece: bytes, end: float, apis: frozenset[str]) -> Entry | Other | Unusable:
    head = _head(piece)
    name = _name(head)
    if name is not None and name not in apis:
        return Other(end, name, _sender(head), _local(piece))
    try:
        data, _ = _DECODER.raw_decode(piece.decode())
        header = data["requestHeader"]
        return Entry(
            end,
            _duration(data["totalTimeMs"]),
            _text(header["requestApiKeyName"]),
            int(header["requestApiVersion"]),
            _object(data["request"]),
            _object(data["response"]),
            _text(data["connection"]),
            sum(_duration(data.get(name, 0)) for name in _WAITS),
            _sender(head),
        )
    except (ValueError, OverflowError, RecursionError):
        return Unusable("the request is cut or is not JSON", name, end)
    except (KeyError, TypeError) as error:
        return Unusable(f"the request is not as KIP-673 has it: {error}", name, end)


def _duration(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= float(value) <= _LONGEST_MS:  # type: ignore[arg-type] # a number, as was just asked
        raise TypeError(f"{value!r} is not a duration")
    return float(value)  # type: ignore[arg-type] # as above


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    return value
