"""A target that remembers what it was asked and what it answered."""

from collections.abc import Sequence
from copy import deepcopy

import attrs

from conformance.cores.target import Hello, Reply, Request, Target
from model.errors import ErrorCode


@attrs.frozen
class Exchanged:
    """One operation: its ``seq`` and ``answers`` are those of the request."""

    seq: int
    operation: Request
    answers: tuple[str, ...]
    reply: Reply


class RememberingTarget:
    """Passes all on to another target."""

    def __init__(self, target: Target) -> None:
        """Remember nothing yet."""
        self._target = target
        self._taken: list[Exchanged] = []

    def hello(self) -> Hello:
        """Return what the target says of itself."""
        return self._target.hello()

    def reset(self) -> None:
        """Reset the target."""
        self._target.reset()

    def close(self) -> None:
        """Release the target."""
        self._target.close()

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        """Apply one operation and remember it."""
        reply = self._target.apply(seq, operation, answers)
        names = tuple(answer.name for answer in answers)
        # It contains the log of the scene, which changes.
        self._taken.append(Exchanged(seq, deepcopy(operation), names, reply))
        return reply

    def taken(self) -> list[Exchanged]:
        """Return what was asked since this was called before."""
        taken, self._taken = self._taken, []
        return taken
