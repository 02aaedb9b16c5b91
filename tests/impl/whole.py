"""Specification and implementation held together, and what no event shows held to them too."""

import copy

from impl.layout import HEAD, HOLES_HEAD, HOLES_TAIL, TAIL
from model.operations import Operation
from model.outcome import Answer, Choice, Outcome
from spec.ranges import runs
from tests.lockstep.pair import Pair, Refused

__all__ = ["Whole"]


class Whole(Pair):
    """Compares what is known to be missing in the log, and that equal records are one run.

    Records of which a write is outstanding are not told apart by it, so there should be none.
    """

    def do(
        self,
        operation: Operation,
        choice: Choice | None = None,
        answers: tuple[Answer, ...] = (),
    ) -> Outcome | Refused:
        """Apply to both and compare all."""
        found = super().do(operation, choice, answers)
        state = self.impl._state  # noqa: SLF001 - no event can show it
        h, log = state.header, self.spec.log
        holes = [tuple(hole) for hole in state.holes[h[HOLES_HEAD] : h[HOLES_TAIL]].tolist()]
        assert holes == list(log.holes), operation
        assert h[TAIL] - h[HEAD] == len(list(runs(sorted(self.spec.window.records.items())))), (
            operation
        )
        return found

    def branch(self) -> "Whole":
        """Return a pair that goes on from here, and leaves this one where it is."""
        other = copy.copy(self)
        other.impl, other.events = copy.copy(self.impl), [*self.events]
        return other
