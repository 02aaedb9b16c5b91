"""The interface of a core to the kit."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import attrs

from conformance.target import Hello
from model.errors import ErrorCode

K = TypeVar("K", bound=attrs.AttrsInstance)

Request = dict[str, Any]
Reply = dict[str, Any]


@attrs.frozen
class Capabilities:
    """What a core can do; the kit does not ask for the rest.

    ``write_errors``: errors of the coordinator that the core passes on unchanged; empty if its
    writes cannot be made to fail or to wait. ``validates_requests``: the kit may send malformed
    acknowledgements. ``large_offsets``: offsets may exceed 2^53, which a double cannot tell apart.
    ``delivery_complete_count``: a write carries one, as KIP-1226 has it. ``renew_setting``: a group
    can switch renewals off.
    """

    acquire_modes: tuple[str, ...] = ("batch_optimized", "record_limit")
    renew: bool = True
    renew_setting: bool = True
    validates_requests: bool = False
    pending_writes: bool = False
    write_errors: tuple[ErrorCode, ...] = ()
    advance_log_start: bool = True
    take_over: bool = True
    alter_config: bool = False
    dead_letter_queue: bool = False
    aborted_transactions: bool = False
    large_offsets: bool = True
    delivery_complete_count: bool = True


CoreHello: TypeAlias = Hello[Capabilities]
"""What a core says of itself."""


class Target(Protocol):
    """One share-partition of a core. Every method may raise TargetError."""

    def hello(self) -> CoreHello:
        """Describe the core."""

    def reset(self) -> None:
        """Reset to an empty share-partition: the next operation is ``initialize``."""

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        """Apply one operation and return the reply, or ``{"error": text}`` if it failed."""

    def close(self) -> None:
        """Release the core. Never raises."""
