"""Specification and implementation side by side: every step is compared whole."""

from collections import Counter
from typing import TYPE_CHECKING

from impl.partition import FastSharePartition
from model.errors import IllegalChoiceError, InvalidValueError
from model.operations import Operation
from model.outcome import Answer, Choice, Outcome
from model.profile import Profile
from model.states import PERSISTED_STATES
from model.trace import TraceEvent
from spec.invariants import violated
from spec.lag import lag
from spec.step import apply, new_partition
from spec.view import durable, snapshot

if TYPE_CHECKING:
    from enum import Enum

__all__ = ["Pair", "Refused"]

Refused = tuple[str, str]


class Pair:
    """Both under one profile. ``reached`` counts operations, statuses, guards and transitions.

    ``events`` are the operations that were not refused, as a trace would have them.
    """

    def __init__(self, profile: Profile) -> None:
        self.spec = new_partition(profile)
        self.impl = FastSharePartition(profile)
        self.reached: Counter[Enum | str] = Counter()
        self.events: list[TraceEvent] = []
        self.steps = 0

    def do(
        self,
        operation: Operation,
        choice: Choice | None = None,
        answers: tuple[Answer, ...] = (),
    ) -> Outcome | Refused:
        """Apply to both, compare outcome, writes, whole state and every invariant."""
        self.steps += 1
        choice = choice or Choice()
        before = self.spec
        expected = self._spec(operation, choice, answers)
        found = self._impl(operation, choice, answers)
        told = f"\n{operation}\n{choice}\n{answers}\nfrom {snapshot(before)}"
        assert found == expected, f"impl {found}\nspec {expected}{told}"
        assert self.impl.snapshot() == snapshot(self.spec), told
        assert self.impl.durable() == durable(self.spec), told
        assert self.impl.lag() == lag(self.spec), told
        if isinstance(expected, Outcome):
            states = {batch.state for write in expected.writes for batch in write.state_batches}
            assert states <= PERSISTED_STATES, told
        broken = [invariant.name for invariant in violated(self.spec)]
        assert not broken, f"{broken} {told}"
        self._count(operation, expected)
        if isinstance(expected, Outcome):
            self._note(operation, expected)
        return expected

    def _spec(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...]
    ) -> Outcome | Refused:
        try:
            step = apply(self.spec, operation, choice, answers, len(self.events))
        except IllegalChoiceError as error:
            self.reached[error.guard] += 1
            return "guard", error.guard.name
        except InvalidValueError as error:
            return "value", error.name
        self.spec = step.partition
        return step.outcome

    def _impl(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...]
    ) -> Outcome | Refused:
        try:
            return self.impl.apply(operation, choice, answers, len(self.events))
        except IllegalChoiceError as error:
            return "guard", error.guard.name
        except InvalidValueError as error:
            return "value", error.name

    def _note(self, operation: Operation, outcome: Outcome) -> None:
        seq, after = len(self.events), snapshot(self.spec)
        self.events.append(TraceEvent("lockstep", seq, self.spec.now, operation, outcome, after))

    def _count(self, operation: Operation, outcome: Outcome | Refused) -> None:
        self.reached[type(operation).__name__] += 1
        if isinstance(outcome, Outcome):
            self.reached[outcome.status] += 1
            self.reached[f"{type(operation).__name__} {outcome.status.name}"] += 1
            for write in outcome.writes:
                self.reached[f"{type(operation).__name__} writes {write.status.name}"] += 1
            for answer in outcome.marked:
                self.reached[f"marked {answer.name}"] += 1
