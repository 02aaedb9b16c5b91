"""A lockstep of both sides that counts what it reaches and notes the events of a trace."""

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from impl import layout as at
from impl.partition import FastSharePartition
from judge.dice import Dice
from judge.engine import SpecEngine
from judge.pair import Refused, answers_differ, attempt, broken_rule, states_differ
from judge.recorded_partition import RecordedPartition
from judge.view import snapshot
from judge.whole_state import partition_of, whole_state
from judge.written import Around, written_mismatch
from model.errors import ErrorCode
from model.guards import Guard
from model.operations import AdvanceTime, ArchiveAborted, Checkpoint, Gap, Operation
from model.outcome import Answer, Choice, Composed, Outcome, Write
from model.profile import Profile
from model.ranges import StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from model.whole_state import first_difference
from spec.partition import SharePartition

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


def _moment(write: Write, answer: Answer) -> int | None:
    """Return when a write is made, if not at once."""
    is_later = write.status is answer.status is ErrorCode.PENDING
    return answer.made_after if is_later else None


def reformed(write: Write, made_after: int | None, dice: Dice) -> Write:
    """Return a write in a form that some implementation may choose, or that none may."""
    form = dice.number(0, 6) if made_after is None else 0
    batches = write.state_batches
    if form == 1:
        write = attrs.evolve(write, start_offset=-1)
    elif form == 2 and batches:
        start = write.start_offset + dice.number(0, 4)
        rest = tuple(
            attrs.evolve(batch, first=max(batch.first, start))
            for batch in batches
            if batch.last >= start
        )
        count = max(0, write.delivery_complete_count - (start - write.start_offset))
        write = attrs.evolve(
            write, start_offset=start, delivery_complete_count=count, state_batches=rest
        )
    elif form == 3 and batches:
        after = batches[-1].last + dice.number(1, 2)
        told = StateBatch(
            after, after, dice.one_of((RecordState.ARCHIVED, RecordState.ACKNOWLEDGED)), 1
        )
        write = attrs.evolve(write, state_batches=(*batches, told))
    elif form == 4 and not dice.number(0, 3):
        write = attrs.evolve(write, counted=False)
    return attrs.evolve(write, made_after=made_after)


def _with_forms(outcome: Outcome, answers: tuple[Answer, ...]) -> Outcome:
    """Return the outcome with its writes as they were seen."""
    seen = [a.written for a in answers if a.written]
    if not seen:
        return outcome
    made = {write.id: write for write in outcome.writes}
    writes = tuple(attrs.evolve(w, status=made.get(w.id, w).status) for w in seen)
    return attrs.evolve(outcome, writes=writes)


class Pair:
    """Both under one profile. ``reached`` counts operations, statuses, guards and transitions.

    ``events`` are the operations that were not refused, as a trace would have them.
    """

    def __init__(self, profile: Profile, forms: Dice | None = None) -> None:
        self.forms = forms
        self.engine = SpecEngine(profile)
        self.impl = FastSharePartition(profile)
        self.reached: Counter[Enum | str] = Counter()
        self.events: list[TraceEvent] = []
        self.steps = 0

    @property
    def spec(self) -> RecordedPartition:
        return self.engine.partition

    def do(
        self,
        operation: Operation,
        choice: Choice | None = None,
        answers: tuple[Answer, ...] = (),
    ) -> Outcome | Refused:
        """Apply to both; compare outcome or refusal, whole state and every invariant."""
        self.steps += 1
        seq = len(self.events)
        answers = tuple(self._perhaps_later(answer, seq) for answer in answers)
        before = self.spec
        if self.forms is not None and not isinstance(operation, Checkpoint | Gap):
            answers = self._in_forms(operation, choice or Choice(), answers, seq)
        step = operation, choice or Choice(), answers, seq
        expected = attempt(self.engine.apply, *step)
        wrong = (
            answers_differ(expected, attempt(self.impl.apply, *step))
            or states_differ(self.engine, self.impl)
            or broken_rule(self.engine, expected)
        )
        assert wrong is None, f"{wrong}\n{step}\nfrom {snapshot(before)}"
        self._check_runs()
        self._count(operation, expected, before)
        if isinstance(expected, Outcome) and not self._is_between(operation, choice):
            after = self.engine.snapshot()
            recorded = _with_forms(_with_moments(expected, answers), answers)
            event = TraceEvent("lockstep", seq, self.spec.now, operation, recorded, after)
            self.events.append(event)
            for composed in expected.composed:
                self.reached["composed"] += 1
                self._note(composed)
        if self.steps % EXCHANGED_EVERY == 0:
            self._exchange()
        return expected

    def _check_runs(self) -> None:
        """Check that equal records side by side are one run, unless they await a write.

        No answer shows it; without it, runs become as many as the records.
        """
        state, records = self.impl._state, self.spec.window.records  # noqa: SLF001
        for one, two in pairwise(state.runs[state.header[at.HEAD] : state.header[at.TAIL]]):
            last, first = int(one[at.LAST]), int(two[at.FIRST])
            is_apart = last + 1 < first or records[first].pending
            assert is_apart or records[last] != records[first], (one, two)

    def _exchange(self) -> None:
        """Compare the whole states, and let each side go on from the other's."""
        profile, told, other = self.spec.profile, whole_state(self.spec), self.impl.whole()
        assert told == other, first_difference(told, other)
        self.engine.partition = partition_of(other, profile)
        self.impl = FastSharePartition.resumed(profile, told)
        self.reached["exchanged"] += 1

    def _in_forms(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> tuple[Answer, ...]:
        """Return the answers with writes in forms that the judge allows, where it does."""
        profile, before = self.spec.profile, self.spec
        trial = SpecEngine(profile, before)
        made = attempt(trial.apply, operation, choice, answers, seq)
        # Where a group of locks writes nothing, no one knows which answer is of which write.
        if isinstance(made, Refused) or 0 < len(made.writes) < len(answers):
            return answers
        seen = self._seen(made, answers)
        trial = SpecEngine(profile, before)
        made = attempt(trial.apply, operation, choice, seen, seq)
        if isinstance(made, Refused):
            return answers
        after = trial.snapshot()
        told = _with_forms(_with_moments(made, seen), seen)
        event = TraceEvent("lockstep", seq, 0, operation, told, after)
        if written_mismatch(event, made, Around(snapshot(before), after, trial)):
            self.reached["form refused"] += 1
            return answers
        self.reached["form"] += told.writes != made.writes
        return seen

    def _seen(self, made: Outcome, answers: tuple[Answer, ...]) -> tuple[Answer, ...]:
        """Let some writes be seen in another form, and some be made besides."""
        dice = self.forms
        if dice is None:
            return answers
        answers = (*answers, *(Answer(),) * len(made.writes))[: len(made.writes)]
        seen = tuple(
            attrs.evolve(a, id=w.id, written=reformed(w, _moment(w, a), dice))
            for a, w in zip(answers, made.writes, strict=True)
        )
        if self.engine.partition.ready and dice.happens(0.1):
            id_ = 1 + max([self.spec.next_write, *(write.id for write in made.writes)])
            status = dice.one_of((ErrorCode.NONE, ErrorCode.PENDING, ErrorCode.NOT_COORDINATOR))
            state = self.snapshot()
            numbers = state.start_offset, state.delivery_complete_count
            seen += (Answer(status, id_, written=Write(id_, *numbers, status=status)),)
        return seen

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
        self, operation: Operation, answer: Outcome | Refused, before: SharePartition
    ) -> None:
        name = type(operation).__name__
        self.reached[name] += 1
        if isinstance(answer, Refused):
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
