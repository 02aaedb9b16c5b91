"""An implementation under test, as the kit sees it."""

from collections.abc import Sequence
from typing import Any, Protocol

import attrs

from model.errors import ErrorCode

__all__ = ["Capabilities", "Hello", "Reply", "Target"]

Request = dict[str, Any]
Reply = dict[str, Any]


@attrs.frozen
class Capabilities:
    """What an implementation can do; what it cannot is not asked of it.

    ``write_errors``: the errors that the coordinator may give to a write and that the
    implementation passes on unchanged; none if its writes cannot be made to fail or to wait.
    ``validates_requests``: malformed acknowledgements may be sent to it.
    """

    acquire_modes: tuple[str, ...] = ("batch_optimized", "record_limit")
    renew: bool = True
    validates_requests: bool = False
    pending_writes: bool = False
    write_errors: tuple[ErrorCode, ...] = ()
    advance_log_start: bool = True
    take_over: bool = True
    alter_config: bool = False
    dead_letter_queue: bool = False
    aborted_transactions: bool = False


@attrs.frozen
class Hello:
    """Who an implementation says it is, and the profile that it is judged by."""

    name: str
    version: str
    profile: str
    capabilities: Capabilities = Capabilities()


class Target(Protocol):
    """One share-partition of an implementation. Every method may raise TargetError."""

    def hello(self) -> Hello:
        """Return who this is."""

    def reset(self) -> None:
        """Forget everything: the next operation is ``initialize``."""

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        """Apply one operation and return the reply, or ``{"error": text}`` if it failed."""

    def close(self) -> None:
        """Let the implementation go. Never raises."""
