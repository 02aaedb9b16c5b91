"""The transitions of one record, each made by the operation that runs.

The window holds one record, the first of the situation, at any offset. That an operation does to
each record of a window of any width what it does to this one is what the theorems on operations
prove. Writes are proved there too: here they are made, and what they report is left out.
"""

from collections.abc import Callable
from typing import Any

import attrs

from judge.invariants import RECORD_INVARIANTS
from model import operations as ops
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Write
from model.profile import DRAFT_RESOLVED, KIP
from model.ranges import AcquiredRange, OffsetRange, StateBatch
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode, RecordState
from proofs.theorems.any_partition import FAILED, AnyPartition, config_of
from proofs.theorems.attempts import Refusal, attempted, standing_in
from proofs.theorems.points import Points
from proofs.theorems.records import is_fresh
from proofs.theorems.symbolic import conjunction
from spec import initialize, window, writes
from spec.coordinator import Durable
from spec.log import Log
from spec.logic import Term, negate
from spec.partition import Outstanding, SharePartition, Step, new_partition
from spec.record import Record
from spec.step import transition
from spec.window import Window

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
ARCHIVING, IN_PROGRESS = RecordState.ARCHIVING, RecordState.IN_PROGRESS
ENDED = (AVAILABLE, ARCHIVING, ARCHIVED)
NONE, WAITS = ErrorCode.NONE, Answer(ErrorCode.PENDING)


def as_it_is(state: Any, *_of: object) -> Any:  # noqa: ANN401 - a state that stays
    """Return the state, in the place of a rule that changes it."""
    return state


UNSEEN = {"coalesce": (), "merge": as_it_is}
"""What writes report, and what becomes durable by them, left out."""


def partition_of(s: AnyPartition) -> SharePartition:
    """Return a share-partition whose window is the record; its write waits if it is pending."""
    empty: Any = Points()
    waiting: Any = empty
    if s.record.pending:
        waiting = Points(((0, Outstanding(Write(0, 0, 0), (s.offset,))),))
    alone = window.replace(Window(s.offset, s.offset + 1, empty, empty), {s.offset: s.record})
    return SharePartition(
        DRAFT_RESOLVED if s.marks else KIP,
        config_of(s, isolation_level=IsolationLevel.READ_COMMITTED),
        s.now,
        Log(s.offset, s.offset + 2, known=False),
        alone,
        waiting,
        next_write=1,
        durable=Durable(leader_epoch=1),
        ready=True,
        next_acquisition=s.acquisition,
    )


@attrs.frozen
class Transition:
    """A transition of one record: the operation that makes it, and when it makes it.

    ``rule`` and ``guard`` name the functions of ``spec.record`` by which it does. ``enters`` are
    the states that the record may have afterwards.
    """

    name: str
    rule: str
    guard: str
    operate: Callable[[AnyPartition, SharePartition], Step]
    enters: tuple[RecordState, ...]
    given: Callable[[AnyPartition], Term] = lambda _s: True

    def after(self, s: Any) -> Record | None:  # noqa: ANN401 - a situation with these fields
        """Return the record after the operation, or None if that is refused or leaves it alone."""
        if not self.given(s):
            return None
        before = partition_of(s)
        with standing_in(writes, **UNSEEN):
            step = attempted(lambda: self.operate(s, before))
        if isinstance(step, Refusal):
            return None
        record: Record | None = step.partition.window.records.get(s.offset)
        return None if record is s.record else record

    def happens(self, s: Any) -> Term:  # noqa: ANN401 - a situation with these fields
        """Return whether the operation changes the record."""
        return self.after(s) is not None


def _named(s: AnyPartition) -> tuple[OffsetRange, ...]:
    return (OffsetRange(s.offset, s.offset),)


def _enter(s: AnyPartition, before: SharePartition) -> Step:
    empty: Any = Points()
    begun = attrs.evolve(before, window=Window(s.offset, s.offset, empty, empty))
    choice = Choice(acquired=(), entered=_named(s), start_offset=s.offset)
    return transition(begun, _fetch(s, s.offset, 0), choice, (), 0)


def _fetch(s: AnyPartition, first: Term, maximum: int) -> ops.Acquire:
    batches = (OffsetRange(first, first),)
    return ops.Acquire(s.member, AcquireMode.RECORD_LIMIT, 1, maximum, s.offset, batches)


def _by(
    operation: Callable[[AnyPartition], ops.Operation],
    choice: Callable[[AnyPartition], Choice] = lambda _s: Choice(),
) -> Callable[[AnyPartition, SharePartition], Step]:
    return lambda s, before: transition(before, operation(s), choice(s), (WAITS,), 0)


def _by_acknowledging(kind: AcknowledgeType) -> Callable[[AnyPartition, SharePartition], Step]:
    def batch(s: AnyPartition) -> ops.AcknowledgementBatch:
        return ops.AcknowledgementBatch(s.offset, s.offset, (kind,))

    return _by(lambda s: ops.Acknowledge(s.member, (batch(s),)), lambda _s: Choice(refusal=NONE))


_acquire = _by(
    lambda s: _fetch(s, s.offset, 1), lambda s: Choice(_named(s), (), start_offset=s.offset)
)
_mark = _by(
    lambda s: ops.MarkInProgress(
        s.member, (ops.ProgressBatch(s.offset, s.offset, 1, s.acquisition),)
    )
)
_leave = _by(lambda s: ops.MemberLeaves(s.member))
_expire = _by(lambda s: ops.Expire(_named(s)))
_finish = _by(lambda s: ops.FinishDeadLetter(_named(s)))
_vanish = _by(lambda s: _fetch(s, s.offset + 1, 0), lambda s: Choice((), (), start_offset=s.offset))
_abort = _by(lambda s: ops.ArchiveAborted(_named(s)))
_withhold = _by(
    lambda s: ops.ArchiveAborted(_named(s)),
    lambda s: Choice(archived=(AcquiredRange(s.offset, s.offset, s.record.delivery_count),)),
)
_commit = _by(lambda _s: ops.CompleteWrite(0, NONE))
_roll_back = _by(lambda _s: ops.CompleteWrite(0, FAILED))


def recovered(s: AnyPartition) -> Record | None:
    """Return the record as a new leader finds it, where all that is durable is one batch."""
    batch = StateBatch(s.offset, s.offset, s.state, s.count)
    persisted = DurableState(s.offset, 0, (batch,), 1, 1)
    operation = ops.Initialize(SharePartitionConfig(), s.offset, s.offset + 1, persisted, s.now)
    step = initialize.initialize(new_partition(DRAFT_RESOLVED), operation)
    record: Record | None = step.partition.window.records.get(s.offset)
    return record


def _stays(s: AnyPartition) -> Term:
    return is_fresh(s.record, s.now, s.threshold)


def _acknowledged(name: str, kind: AcknowledgeType, *enters: RecordState) -> Transition:
    return Transition(name, "acknowledge", "is_held_by", _by_acknowledging(kind), enters)


def _awaits_its_write(s: AnyPartition) -> Term:
    return s.record.pending


_RENEW, _OUTCOMES = _by_acknowledging(AcknowledgeType.RENEW), (*ENDED, ACKNOWLEDGED)
TRANSITIONS = (
    Transition("enter", "UNDELIVERED", "", _enter, (AVAILABLE,)),
    Transition("acquire", "acquire", "is_acquirable", _acquire, (ACQUIRED,)),
    _acknowledged("accept", AcknowledgeType.ACCEPT, ACKNOWLEDGED),
    _acknowledged("reject", AcknowledgeType.REJECT, ARCHIVING, ARCHIVED),
    _acknowledged("acknowledge as gap", AcknowledgeType.GAP, ARCHIVED),
    _acknowledged("acknowledge as release", AcknowledgeType.RELEASE, *ENDED),
    Transition("renew", "renew", "can_renew", _RENEW, (ACQUIRED,)),
    Transition("mark", "mark", "can_mark", _mark, (IN_PROGRESS,)),
    Transition("stay for the grace", "give_grace", "can_stay", _leave, (IN_PROGRESS,), _stays),
    Transition("release", "release", "is_held_by", _leave, ENDED, lambda s: negate(_stays(s))),
    Transition("expire", "expire", "is_lock_over", _expire, ENDED),
    Transition("finish dead letter", "finish_dead_letter", "is_dead_letter", _finish, (ARCHIVED,)),
    Transition("vanish", "vanish", "can_vanish", _vanish, (ARCHIVED,)),
    Transition("archive aborted", "archive_aborted", "can_archive_aborted", _abort, (ARCHIVED,)),
    Transition("withhold", "withhold", "is_acquirable", _withhold, (ARCHIVED,)),
    Transition("commit", "commit", "", _commit, _OUTCOMES, _awaits_its_write),
    Transition("roll back", "roll_back", "", _roll_back, tuple(RecordState), _awaits_its_write),
)
"""Every transition of a record under one leader; a new leader does ``recover``."""
CHANGES = TRANSITIONS[1:]
"""The transitions of a record that is in the window: all but the first, by which it enters."""


def is_sound(situation: AnyPartition) -> Term:
    """Whether every invariant holds for the record, under possible limits; it is the first."""
    holds = (
        known.holds(situation.record, situation.highest, situation.now)
        for known in RECORD_INVARIANTS
    )
    possible = situation.offset < situation.other, situation.limit <= situation.highest
    return conjunction(*possible, *holds)
