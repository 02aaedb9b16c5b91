"""What tests of several kits share."""

from typing import TypeVar

from conformance.kit import AnyKit
from conformance.shrink import shrunk

C = TypeVar("C")


def shrunk_to(kit: AnyKit, sequence: tuple[C, ...], *kinds: type) -> tuple[C, ...]:
    """Return the shortest sequence that still has commands of these kinds, in their order."""

    def fails(sequence: tuple[C, ...]) -> int | None:
        wanted = list(kinds)
        for at, ask in enumerate(sequence):
            if wanted and isinstance(ask, wanted[0]):
                wanted.pop(0)
            if not wanted:
                return at
        return None

    return shrunk(sequence, fails, kit)
