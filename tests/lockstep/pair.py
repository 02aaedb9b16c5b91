"""A lockstep of both sides that counts what it reaches and notes the events of a trace."""

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from impl.partition import FastSharePartition
from judge.engine import SpecEngine
from judge.pair import Refusal, answers_differ, attempt, broken_rule, states_differ
from model.errors import ErrorCode
from model.guards import Guard
from model.operations import AdvanceTime, ArchiveAborted, Operation
from model.outcome import Answer, Choice, Composed, Outcome
from model.profile import Profile
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from model.whole_state import first_difference
from spec.partition import SharePartition
from spec.view import snapshot
from spec.whole_state import partition_of, whole_state

if TYPE_CHECKING:
    from enum import Enum


EXCHANGED_EVERY = 7
"""After how many steps each side goes on from the other's whole state."""


def _with_moments(outcome: Outcome, answers: tuple[Answer, ...]) -> Outcome:
    """Return the outcome as it is recorded: with when each write was made, if not at once."""
    if len(answers) == len(outcome.writes):
        pairs = zip(outcome.writes, answers, strict=True)
        waits = ErrorCode.PENDING
        writes = tuple(
            attrs.evolve(w, made_after=a.made_after) if w.status is a.status is waits else w
            for w, a in pairs
        )
        return attrs.evolve(outcome, writes=writes)
    return outcome


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
        seq = len(self.events)
        answers = tuple(self._perhaps_later(answer, seq) for answer in answers)
        step = operation, choice or Choice(), answers, seq
        before = self.spec
        expected = attempt(self.engine.apply, *step)
        wrong = (
            answers_differ(expected, attempt(self.impl.apply, *step))
            or states_differ(self.engine, self.impl)
            or broken_rule(self.engine, expected)
        )
        assert wrong is None, f"{wrong}\n{step}\nfrom {snapshot(before)}"
        self._count(operation, expected, before)
        if isinstance(expected, Outcome) and not self._is_between(operation, choice):
            after, recorded = self.engine.snapshot(), _with_moments(expected, answers)
            event = TraceEvent("lockstep", seq, self.spec.now, operation, recorded, after)
            self.events.append(event)
            for composed in expected.composed:
                self.reached["composed"] += 1
                self._note(composed)
        if self.steps % EXCHANGED_EVERY == 0:
            self._exchange()
        return expected

    def _exchange(self) -> None:
        """Compare the whole states, and let each side go on from the other's."""
        profile, told, other = self.spec.profile, whole_state(self.spec), self.impl.whole()
        assert told == other, first_difference(told, other)
        self.engine.partition = partition_of(other, profile)
        self.impl = FastSharePartition.resumed(profile, told)
        self.reached["exchanged"] += 1

    def _perhaps_later(self, answer: Answer, seq: int) -> Answer:
        """Let some writes be made after their event or a later one."""
        if answer.status is not ErrorCode.PENDING or self.steps % 3:
            return answer
        return attrs.evolve(answer, made_after=seq + self.steps // 3 % 4)

    def _note(self, composed: Composed) -> None:
        """Put the numbers of a write in the latest event that has it."""
        for place in reversed(range(len(self.events))):
            event = self.events[place]
            if any(write.id == composed.id for write in event.outcome.writes):
                writes = tuple(
                    attrs.evolve(write, **attrs.asdict(composed))
                    if write.id == composed.id
                    else write
                    for write in event.outcome.writes
                )
                outcome = attrs.evolve(event.outcome, writes=writes)
                self.events[place] = attrs.evolve(event, outcome=outcome)
                return

    def _is_between(self, operation: Operation, choice: Choice | None) -> bool:
        """Whether it is no event of its own: a real clock that moves on by itself."""
        unmoved = choice is not None and choice.start_offset is not None
        return self.spec.timed and isinstance(operation, AdvanceTime) and unmoved

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
