"""Whatever can happen to a share-partition, in one table, each made by ``spec.step`` as it runs.

A theorem knows the records at two offsets, which records wait for two outstanding writes, and what
is durable of the first. Checks of a fetch are left out, but not that of what it takes, nor where
one is seen, so that more is shown; and the start offset may move to any offset ahead.
"""

from collections.abc import Callable, Iterator
from typing import Any, Self

import attrs

from model import operations as ops
from model.config import IsolationLevel
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Expiry, Write
from model.profile import KAFKA
from model.ranges import AcquiredRange, OffsetRange, StateBatch
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode, RecordState
from proofs.theorems import any_partition as two
from proofs.theorems.any_partition import FAILED, AnyPartition, places, spans
from proofs.theorems.attempts import Refusal, attempted, standing_in
from proofs.theorems.points import Points
from proofs.theorems.record_operations import UNSEEN, as_it_is, is_sound
from proofs.theorems.situation import flag, number
from proofs.theorems.symbolic import conjunction
from spec import acquire, expire, initialize, read, step, writes
from spec import partition as partitions
from spec.coordinator import Durable
from spec.log import Log
from spec.logic import Term, negate
from spec.partition import Outstanding, SharePartition, Step

COMMITTED = IsolationLevel.READ_COMMITTED


UNCHECKED = dict.fromkeys(
    ("check_read", "check_maximum", "check_growth", "check_width", "check_full", "note_full")
) | {"note_fetch": ()}


@attrs.frozen
class OnePartition(AnyPartition):
    """A share-partition with two outstanding writes, what is durable, and an operation.

    The write ``waiting`` is of the record at ``awaited``, the write ``another`` of that at
    ``awaited_there``; a record at neither waits for no write. Both report the offsets ``second`` to
    ``second_last`` as ``sent_state``, with the start offset ``sent_start``. ``durable_start`` is
    the start offset that is durable. ``made`` acquisitions have a number, ``kind`` is a type of
    acknowledgement.

    A write of the operation, ``write_id``, is ``answered`` at once, and then ``succeeds`` or fails,
    or it stays outstanding, and ``keeps_back`` its records. The start offset moves to ``furthest``.
    """

    another: Term = number()
    awaited: Term = number()
    awaited_there: Term = number()
    sent_state: Term = number()
    sent_count: Term = number()
    sent_start: Term = number(-1)
    durable_start: Term = number(-1)
    made: Term = number()
    kind: Term = number()
    answered: Term = flag()
    succeeds: Term = flag()
    keeps_back: Term = flag()

    @classmethod
    def reached(cls, state: SharePartition) -> Iterator[Self]:
        """Yield operations on a share-partition that a run reached, and answers to its writes."""
        now, durable = state.window, state.durable
        known = StateBatch(now.start_offset, now.start_offset, RecordState.ARCHIVED, 1)
        sent = [batch for each in state.outstanding.values() for batch in each.write.state_batches]
        for one in super().reached(state):
            named = [
                p.offset if p.tracked and p.record.pending else now.start_offset - below
                for below, p in enumerate(places(one), 1)
            ]
            here = attrs.evolve(
                one, awaited=named[0], awaited_there=named[1], another=9,
                sent_state=(*sent, known)[0].state, sent_start=durable.start_offset,
                durable_start=durable.start_offset, made=state.next_acquisition,
                kind=AcknowledgeType.ACCEPT, furthest=now.start_offset, log_end=one.log_end + 1,
            )  # fmt: skip
            yield here
            yield attrs.evolve(here, write_id=one.waiting, furthest=one.offset + 1, succeeds=True)


def partition_of(s: OnePartition) -> SharePartition:
    """Return the share-partition before the operation."""
    reported = (StateBatch(s.second, s.second_last, s.sent_state, s.sent_count),)
    sent = (
        Outstanding(Write(id_, s.sent_start, 0, reported), (offset,))
        for id_, offset in ((s.waiting, s.awaited), (s.another, s.awaited_there))
    )
    outstanding: Any = Points(tuple((each.write.id, each) for each in sent))
    entries: Any = Points(((s.offset, (s.state, s.count)),))
    return attrs.evolve(
        two.partition_of(s, attrs.evolve(KAFKA, in_progress=s.marks), isolation_level=COMMITTED),
        log=Log(0, s.log_end, stable_offset=s.log_end),
        outstanding=outstanding,
        durable=Durable(s.durable_start, 0, entries, leader_epoch=1),
        next_acquisition=s.made,
    )


def can_be(s: Any) -> Term:  # noqa: ANN401 - as ``is_sound``
    """Whether its records can be, as ``record_theorems`` show, and the operation is well formed."""
    return conjunction(
        two.are_two(s),
        is_sound(s),
        negate(s.sent_state == RecordState.ACQUIRED),
        s.sent_state <= RecordState.IN_PROGRESS,
        s.waiting != s.another,
        # The two writes are alike, so that the second is never that of the first record.
        negate(s.awaited == s.other),
        negate(s.awaited_there == s.offset),
        s.first <= s.last,
        s.second <= s.second_last,
    )


@attrs.frozen
class PartitionTransition:
    """Something that happens to a share-partition: ``operate`` returns its step.

    ``rule`` is the function that makes it happen. ``is_empty``: of an empty window.
    """

    name: str
    operate: Callable[[OnePartition, SharePartition], Step]
    rule: str = "spec.step:transition"
    is_empty: bool = False

    def after(self, s: OnePartition, seen: tuple[str, ...]) -> SharePartition | None:
        """Return the share-partition after it, so far as is ``seen``; None where it is refused."""
        before = partition_of(s)
        unchecked = {name: given for name, given in UNCHECKED.items() if name not in seen}
        read = {} if "merge" in seen else {"durable_from": before.durable}
        with (
            standing_in(partitions, first_unfinished=s.furthest, passed=s.furthest),
            standing_in(acquire, **unchecked, learn=as_it_is, move_start=as_it_is),
            standing_in(expire, move_start=as_it_is),
            standing_in(initialize, check_in_progress=None, _highest_limit=s.highest, **read),
            standing_in(writes, **{n: given for n, given in UNSEEN.items() if n not in seen}),
        ):
            made = attempted(lambda: self.operate(s, before))
        return None if isinstance(made, Refusal) else made.partition


def _applied(
    name: str,
    operation: Callable[[OnePartition], ops.Operation],
    choice: Callable[[OnePartition], Choice] = lambda _s: Choice(),
    *,
    is_empty: bool = False,
) -> PartitionTransition:
    def operate(s: OnePartition, before: SharePartition) -> Step:
        return step.transition(before, operation(s), choice(s), (_answer(s),), s.seq)

    return PartitionTransition(name, operate, is_empty=is_empty)


def _answer(s: OnePartition) -> Answer:
    """Return the answer to a write of the operation: any that is not the form of one seen."""
    status = _status(s) if s.answered else ErrorCode.PENDING
    return Answer(status, s.write_id, keeps_back=s.keeps_back)


def _status(s: OnePartition) -> ErrorCode:
    return ErrorCode.NONE if s.succeeds else FAILED


def _chosen(s: OnePartition) -> Choice:
    archived = (AcquiredRange(s.first, s.last, s.elapsed),)
    return Choice(archived=archived, expired=(Expiry(spans(s)),), written=s.answered)


def _acknowledge(s: OnePartition) -> ops.Acknowledge:
    return ops.Acknowledge(s.member, (ops.AcknowledgementBatch(s.first, s.last, (s.kind,)),))


def _fetch(s: OnePartition) -> ops.Acquire:
    return ops.Acquire(s.member, AcquireMode.RECORD_LIMIT, 1, 2, s.start, spans(s))


def _mark(s: OnePartition) -> ops.MarkInProgress:
    return ops.MarkInProgress(s.member, (ops.ProgressBatch(s.first, s.last, 1, s.acquisition),))


def _new_leader(s: OnePartition) -> ops.Initialize:
    batch = StateBatch(s.first, s.last, s.sent_state, s.sent_count)
    persisted = DurableState(s.durable_start, 0, (batch,), 1, s.seq)
    end = s.last + 1 + s.log_end  # The log was not truncated: it holds what is durable.
    return ops.Initialize(two.config_of(s), s.second, end, persisted, s.elapsed)


def _passing(s: OnePartition) -> Choice:
    return Choice(refusal=ErrorCode.NONE, start_offset=s.furthest)


TRANSITIONS = (
    _applied("acknowledge", _acknowledge),
    _applied("member leaves", lambda s: ops.MemberLeaves(s.member), _chosen),
    _applied("time passes", lambda s: ops.AdvanceTime(s.elapsed)),
    _applied("chosen locks expire", lambda s: ops.AdvanceTime(s.elapsed), _chosen),
    _applied("a timer ends locks", lambda s: ops.Expire(spans(s))),
    _applied("dead letters are finished", lambda s: ops.FinishDeadLetter(spans(s))),
    _applied("aborted records are archived", lambda s: ops.ArchiveAborted(spans(s)), _chosen),
    PartitionTransition("read", lambda s, p: Step(read.learn(p, _fetch(s))), "spec.read:learn"),
    _applied("acquire", _fetch, lambda s: Choice(spans(s), ())),
    _applied("let enter", _fetch, lambda s: Choice((), spans(s))),
    _applied("skip acquire", lambda s: ops.SkipAcquire(s.member)),
    _applied("write is answered", lambda s: ops.CompleteWrite(s.write_id, _status(s))),
    _applied("mark", _mark),
    _applied("initialize", _new_leader, is_empty=True),
    _applied("initialize past what is below", _new_leader, _passing, is_empty=True),
    _applied("reset offset", lambda s: ops.ResetOffset(s.first)),
    _applied("advance log start", lambda s: ops.AdvanceLogStart(s.first)),
    _applied("alter config", lambda s: ops.AlterConfig(two.config_of(s))),
    _applied(
        "produce", lambda s: ops.Produce((OffsetRange(s.second, s.second_last),), s.second_last + 1)
    ),
    _applied("compact", lambda s: ops.Compact(spans(s)), _chosen),
    PartitionTransition(
        "move start", lambda _s, p: step.conclude(Step(p), Choice()), "spec.step:conclude"
    ),
)
"""Every operation of ``spec.step``, and the move of the start offset that follows each."""
