"""A lockstep of both sides that counts what it reaches and notes the events of a trace."""

from collections import Counter
from typing import TYPE_CHECKING

from impl.partition import FastSharePartition
from judge.engine import SpecEngine
from judge.pair import Refusal, answers_differ, attempt, broken_rule, states_differ
from model.guards import Guard
from model.operations import ArchiveAborted, Operation
from model.outcome import Answer, Choice, Outcome
from model.profile import Profile
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from spec.partition import SharePartition
from spec.view import snapshot

if TYPE_CHECKING:
    from enum import Enum


class Pair:
    """Both under one profile. ``reached`` counts operations, statuses, guards and transitions.

    ``events`` are the operations that were not refused, as a trace would have them.
    """

    def __init__(self, profile: Profile) -> None:
        self.engine = SpecEngine(profile)
        self.impl = FastSharePartition(profile)
        self.reached: Counter[Enum | str] = Counter()
        self.events: list[TraceEvent] = []
        self.steps = 0

    @property
    def spec(self) -> SharePartition:
        return self.engine.partition

    def do(
        self,
        operation: Operation,
        choice: Choice | None = None,
        answers: tuple[Answer, ...] = (),
    ) -> Outcome | Refusal:
        """Apply to both; compare outcome or refusal, whole state and every invariant."""
        self.steps += 1
        step = operation, choice or Choice(), answers, len(self.events)
        before = self.spec
        expected = attempt(self.engine.apply, *step)
        wrong = (
            answers_differ(expected, attempt(self.impl.apply, *step))
            or states_differ(self.engine, self.impl)
            or broken_rule(self.engine, expected)
        )
        assert wrong is None, f"{wrong}\n{step}\nfrom {snapshot(before)}"
        self._count(operation, expected, before)
        if isinstance(expected, Outcome):
            seq, after = len(self.events), self.engine.snapshot()
            event = TraceEvent("lockstep", seq, self.spec.now, operation, expected, after)
            self.events.append(event)
        return expected

    def snapshot(self) -> SharePartitionSnapshot:
        return self.engine.snapshot()

    def durable(self) -> DurableState:
        return self.engine.durable()

    def _count(
        self, operation: Operation, answer: Outcome | Refusal, before: SharePartition
    ) -> None:
        name = type(operation).__name__
        self.reached[name] += 1
        if isinstance(answer, Refusal):
            if isinstance(answer.reason, Guard):
                self.reached[answer.reason] += 1
            return
        self.reached[answer.status] += 1
        self.reached[f"{name} {answer.status.name}"] += 1
        for write in answer.writes:
            self.reached[f"{name} writes {write.status.name}"] += 1
        for status in answer.marked:
            self.reached[f"marked {status.name}"] += 1
        if isinstance(operation, ArchiveAborted):
            for offset in {o for r in operation.ranges for o in range(r.first, r.last + 1)}:
                record = before.window.records.get(offset)
                state = RecordState(record.state).name if record else "untracked"
                pending = " pending" if record is not None and record.pending else ""
                self.reached[f"aborted {state}{pending}"] += 1
