"""A coordinator behind a driver that speaks JSON lines."""

from typing import Any, Generic, Protocol, TypeVar

import attrs

from conformance.cores.malformed import error_text
from conformance.cores.protocol import VERSION, described
from conformance.target import TargetError

K = TypeVar("K", bound=attrs.AttrsInstance)


class Speaker(Protocol):
    """A driver, such as ``conformance.cores.process.ProcessTarget``."""

    def ask(self, message: dict[str, Any], /) -> dict[str, Any]:
        """Return the answer to a message. Raises TargetError."""

    def close(self) -> None:
        """Release the driver. Never raises."""


@attrs.frozen
class CoordinatorHello(Generic[K]):
    """A coordinator's name and version, the profile that judges it, and what it can do."""

    name: str
    version: str
    profile: str
    capabilities: K


@attrs.frozen
class CoordinatorTarget(Generic[K]):
    """A coordinator. ``kind`` is the class of its capabilities, whose fields are flags."""

    speaker: Speaker
    kind: type[K]

    def hello(self) -> CoordinatorHello[K]:
        """Ask the driver to describe itself. Raises TargetError."""
        message = self.speaker.ask({"do": "hello", "protocol": VERSION})
        return CoordinatorHello(*described(message, self.kind))

    def reset(self, **settings: object) -> None:
        """Begin anew, with these settings. Raises TargetError."""
        reply = self.ask("reset", **settings)
        if "error" in reply:
            raise TargetError(f"it cannot reset: {error_text(reply)[:200]}")

    def ask(self, do: str, **fields: object) -> dict[str, Any]:
        """Return the answer, or an ``error`` where the coordinator failed. Raises TargetError."""
        return self.speaker.ask({"do": do, **fields})

    def close(self) -> None:
        """Release the driver."""
        self.speaker.close()
