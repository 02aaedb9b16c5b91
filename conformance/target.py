"""What every target says of itself, and raises when it cannot be driven."""

from typing import Generic, TypeVar

import attrs

C = TypeVar("C")


@attrs.frozen
class Hello(Generic[C]):
    """The name and version of a target, the profile that judges it, and what it can do.

    ``capabilities`` are of the kit, which asks a target for nothing else; ``skipped`` is what it
    cannot be asked, each with the reason, for the report.
    """

    name: str
    version: str
    profile: str
    capabilities: C
    skipped: tuple[str, ...] = ()


class TargetError(Exception):
    """A target cannot be driven: it is silent, has ended, or does not speak the protocol."""


class GoneError(TargetError):
    """It is silent, or it has ended."""
