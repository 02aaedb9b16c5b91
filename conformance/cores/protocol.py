"""The messages between the kit and a driver: one JSON object a line each way, version 1.

``protocol.schema.json`` defines them for authors of drivers; docs/verify.md explains them.
"""

import json
from collections.abc import Sequence
from typing import Any, Generic, Protocol

import attrs

from conformance.cores.malformed import error_text
from conformance.cores.target import DriverHello, K, Reply, Request
from conformance.target import TargetError
from judge.words import printable
from model.errors import ErrorCode, value_text
from model.profile import PROFILES
from model.states import AcquireMode

VERSION = 1

MAX_LINE_BYTES = 16 << 20
"""The longest line that the kit reads from a driver."""


def encoded(message: dict[str, Any]) -> bytes:
    """Return a message as a line with its line feed."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decoded(line: bytes) -> dict[str, Any]:
    """Return the message in a line. Raises TargetError for anything else."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise TargetError(f"its answer is not JSON: {_shown(line)}") from None
    if not isinstance(value, dict):
        raise TargetError(f"its answer is not an object: {_shown(line)}")
    return value


def _shown(line: bytes) -> str:
    return printable(line[:_MAX_NAME].decode(errors="replace"))


class Speaker(Protocol):
    """Takes messages, such as ``conformance.cores.process.ProcessTarget``."""

    def ask(self, message: dict[str, Any], /) -> Reply:
        """Return the answer to a message. Raises TargetError if there is none."""

    def close(self) -> None:
        """Release the driver. Never raises."""


@attrs.frozen
class DriverTarget(Generic[K]):
    """A core or a coordinator behind a driver. ``kind`` is the class of its capabilities."""

    speaker: Speaker
    kind: type[K]

    def hello(self) -> DriverHello[K]:
        """Ask the driver to describe itself. Raises TargetError."""
        return hello_from(self.ask("hello", protocol=VERSION), self.kind)

    def reset(self, **settings: object) -> None:
        """Begin anew, a coordinator with these settings. Raises TargetError."""
        reply = self.ask("reset", **settings)
        if "error" in reply:
            raise TargetError(f"it cannot reset: {error_text(reply)[:200]}")

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        """Apply one operation of a core. Raises TargetError."""
        statuses = [answer.name for answer in answers]
        return self.ask("apply", seq=seq, operation=operation, answers=statuses)

    def ask(self, do: str, **fields: object) -> Reply:
        """Return the answer, or an ``error`` where the target failed. Raises TargetError."""
        return self.speaker.ask({"do": do, **fields})

    def close(self) -> None:
        """Release the driver."""
        self.speaker.close()


def hello_from(message: dict[str, Any], kind: type[K]) -> DriverHello[K]:
    """Return a driver's description of itself, whose capabilities are flags or lists.

    Raises TargetError that names the wrong field.
    """
    spoken = message.get("protocol")
    if type(spoken) is not int or spoken != VERSION:
        raise TargetError(f"it speaks protocol {value_text(spoken)}, and not {VERSION}")
    name, version, profile = (_text(message, key) for key in ("name", "version", "profile"))
    if profile not in PROFILES:
        raise TargetError(f"its profile is {profile!r}, and not one of {', '.join(PROFILES)}")
    given = message.get("capabilities", {})
    if not isinstance(given, dict):
        raise TargetError("its capabilities are not an object")
    known = {field.name for field in attrs.fields(kind)}
    if unknown := sorted(set(given) - known):
        raise TargetError(f"it claims {unknown[0]!r}; capabilities are {', '.join(sorted(known))}")
    values: dict[str, Any] = {
        key: _named(key, value) if key in _LISTS else _flag(key, value)
        for key, value in given.items()
    }
    return DriverHello(name, version, profile, kind(**values))


_LISTS: dict[str, dict[str, Any]] = {
    "acquire_modes": {mode.value: mode.value for mode in AcquireMode},
    "write_errors": dict(ErrorCode.__members__),
}
_NOT_EMPTY = ("acquire_modes",)
"""Without a mode there is no fetch."""


_MAX_NAME = 200


def _text(message: dict[str, Any], key: str) -> str:
    value = message.get(key)
    if not isinstance(value, str) or not value:
        raise TargetError(f"its hello has no {key}")
    return printable(value, _MAX_NAME)


def _flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TargetError(f"its capability {key} is {value_text(value)}, and not true or false")
    return value


def _named(key: str, value: object) -> Any:  # noqa: ANN401 - a tuple of what the key lists
    allowed = _LISTS[key]
    names = value if isinstance(value, list) else [value]
    known = all(isinstance(name, str) and name in allowed for name in names)
    if names is not value or not known or (not names and key in _NOT_EMPTY):
        some = "one or more of" if key in _NOT_EMPTY else "of a list"
        text = f"its capability {key} is {value_text(value)}; allowed are, {some}: "
        raise TargetError(text + ", ".join(allowed))
    return tuple(allowed[item] for item in value)
