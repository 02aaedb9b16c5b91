"""The messages between the kit and a driver: one JSON object a line each way, version 1.

``protocol.schema.json`` defines them for authors of drivers; docs/verify.md explains them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol

import attrs

from conformance.cores.malformed import error_text
from conformance.cores.target import K, Reply, Request
from conformance.target import Hello, TargetError
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

    def hello(self) -> Hello[K]:
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


def hello_from(message: dict[str, Any], kind: type[K]) -> Hello[K]:
    """Return a driver's description of itself, whose capabilities are flags or lists.

    Raises TargetError that names the wrong field.
    """
    check_protocol(message)
    name, version, profile = (described(message, key) for key in ("name", "version", "profile"))
    if profile not in PROFILES:
        raise TargetError(f"its profile is {profile!r}, and not one of {', '.join(PROFILES)}")
    given = message.get("capabilities", {})
    if not isinstance(given, dict):
        raise TargetError("its capabilities are not an object")
    known = {field.name for field in attrs.fields(kind)}
    if unknown := sorted(set(given) - known):
        raise TargetError(f"it claims {unknown[0]!r}; capabilities are {', '.join(sorted(known))}")
    return Hello(name, version, profile, kind(**capabilities(given, _LISTS)))


def check_protocol(message: dict[str, Any]) -> None:
    """Raise TargetError unless a driver's description of itself is in the protocol of the kit."""
    spoken = message.get("protocol")
    if type(spoken) is not int or spoken != VERSION:
        raise TargetError(f"it speaks protocol {value_text(spoken)}, and not {VERSION}")


def described(message: dict[str, Any], key: str) -> str:
    """Return a text of a driver's description of itself. Raises TargetError if it is none."""
    value = message.get(key)
    if not isinstance(value, str) or not value:
        raise TargetError(f"its hello has no {key}")
    return printable(value, _MAX_NAME)


def capabilities(
    given: Mapping[str, object], lists: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return capabilities, of which some are ``lists`` of words and the others flags.

    Raises TargetError that names the wrong one.
    """
    return {
        key: _named(key, value, lists[key]) if key in lists else _flag(key, value)
        for key, value in given.items()
    }


_LISTS: Mapping[str, Mapping[str, Any]] = {
    "acquire_modes": {mode.value: mode.value for mode in AcquireMode},
    "write_errors": dict(ErrorCode.__members__),
}
_NOT_EMPTY = ("acquire_modes",)
"""Without a mode there is no fetch."""


_MAX_NAME = 200


def _flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TargetError(f"its capability {key} is {value_text(value)}, and not true or false")
    return value


def _named(key: str, value: object, allowed: Mapping[str, Any]) -> tuple[Any, ...]:
    names = value if isinstance(value, list) else [value]
    known = all(isinstance(name, str) and name in allowed for name in names)
    if names is not value or not known or (not names and key in _NOT_EMPTY):
        some = "one or more of" if key in _NOT_EMPTY else "of a list"
        text = f"its capability {key} is {value_text(value)}; allowed are, {some}: "
        raise TargetError(text + ", ".join(allowed))
    return tuple(allowed[item] for item in value)
