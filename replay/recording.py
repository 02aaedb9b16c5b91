"""What a recorder says of its own files: headers and trailers, which are no rows."""

import json

import attrs

_HEADER, _TRAILER = "recorder", "trailer"


@attrs.frozen
class Recording:
    """The headers and trailers of files, what trailers count, and last lines that were cut.

    A file with more headers than trailers is that of a broker that died, or still writes.
    ``sampled`` of the headers say that not every share-partition was recorded. ``broker`` is the id
    of the broker in the first of them, "" if there is none.
    """

    headers: int = 0
    trailers: int = 0
    dropped: int = 0
    faults: int = 0
    cut: int = 0
    sampled: int = 0
    broker: str = attrs.field(default="", kw_only=True)

    @property
    def is_unfinished(self) -> bool:
        """Return whether the recorder did not close the file."""
        return self.headers > self.trailers

    def __add__(self, other: "Recording") -> "Recording":
        """Return the sum of both."""
        numbers = (a + b for a, b in zip(_numbers(self), _numbers(other), strict=True))
        return Recording(*numbers, broker=self.broker or other.broker)


def mark_of(line: bytes) -> Recording | None:
    """Return what a header or trailer says; None for any other line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or len(value) != 1:
        return None
    if isinstance(header := value.get(_HEADER), dict):
        sampled, broker = int(_is_below_1(header.get("sampling"))), header.get("broker")
        return Recording(headers=1, sampled=sampled, broker="" if broker is None else str(broker))
    trailer = value.get(_TRAILER)
    if not isinstance(trailer, dict):
        return None
    dropped, faults = (_count(trailer.get(name)) for name in ("dropped", "faults"))
    return Recording(trailers=1, dropped=dropped, faults=faults)


def is_recorded(path: str, limit: int = 1 << 16) -> bool:
    """Return whether a file of plain lines begins with a header. Raises OSError."""
    with open(path, "rb") as file:  # noqa: PTH123 - a path from another process, as text
        return mark_of(file.readline(limit)) is not None


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def _is_below_1(value: object) -> bool:
    try:
        return float(str(value)) < 1
    except ValueError:
        return False


def _numbers(recording: Recording) -> tuple[int, ...]:
    return attrs.astuple(recording)[:-1]
