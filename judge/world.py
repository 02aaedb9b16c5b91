"""Random histories of a share-partition: a next operation that makes sense, by dice.

``World`` holds the log, the members and what a driver knows of the share-partition. Its methods
are the operations; how often each is done is for the driver to say. ``Load`` says how large the
log, the fetches and the batches are, and how often something is out of order.
"""

import bisect
from collections.abc import Sequence
from typing import Protocol

import attrs

from judge.dice import Dice
from judge.engine import Engine
from judge.pair import Refused, attempt
from model import operations as ops
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Outcome
from model.profile import Profile
from model.ranges import OffsetRange, RecordRange, offsets
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import TERMINAL_STATES, AcquireMode, RecordState
from model.trace import TraceEvent

_MANY_BATCHES = 1000


@attrs.frozen
class Load:
    """What members send and the coordinator answers. Of a tuple each element is as likely.

    ``disorder`` is the probability of each thing that a client, a broker or the coordinator
    should not do; ``choose`` that of the implementation choosing where the start offset goes.
    ``partial`` is the probability of an acknowledgement beginning, and ending, inside a range;
    ``open`` that of a transaction staying open when the log grows.
    """

    members: tuple[str, ...]
    batches: int = 3
    batch_length: int = 4
    gap: int = 3
    gaps: float = 0.25
    open: float = 0.0
    read: int = 3
    modes: tuple[AcquireMode, ...] = tuple(AcquireMode)
    limits: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    batch_sizes: tuple[int, ...] = (500,)
    partial: float = 0.4
    single: float = 0.5
    types: tuple[int, ...] = (0, 1, 2, 3, 4)
    answers: tuple[ErrorCode, ...] = (ErrorCode.NONE,)
    late_answers: tuple[ErrorCode, ...] = (ErrorCode.NONE,)
    wait_ms: int = 10
    log_start: int = 3
    disorder: float = 0.0
    choose: float = 0.0


class WorldSubject(Protocol):
    """What the operations of a world happen to."""

    def do(
        self, operation: ops.Operation, choice: Choice, answers: tuple[Answer, ...]
    ) -> Outcome | Refused:
        """Apply an operation; return its outcome or why it is refused."""

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the leader's view of the window."""

    def durable(self) -> DurableState:
        """Return what the share coordinator holds."""


class Recorder:
    """One engine, and an event for each operation that it did not refuse."""

    def __init__(self, partition: str, engine: Engine) -> None:
        """Record events of the share-partition of this name."""
        self._partition, self._engine = partition, engine
        self._seq = self._now = 0
        self._state = engine.snapshot()
        self.durable = engine.durable
        self.events: list[TraceEvent] = []

    def do(
        self, operation: ops.Operation, choice: Choice, answers: tuple[Answer, ...]
    ) -> Outcome | Refused:
        """Apply an operation; return its outcome or why it is refused."""
        outcome = attempt(self._engine.apply, operation, choice, answers, self._seq)
        if isinstance(outcome, Refused):
            return outcome
        if isinstance(operation, ops.Initialize):
            self._now = operation.time_ms
        elif isinstance(operation, ops.AdvanceTime):
            self._now += operation.ms
        self._state = self._engine.snapshot()
        self.events.append(
            TraceEvent(self._partition, self._seq, self._now, operation, outcome, self._state)
        )
        self._seq += 1
        return outcome

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the leader's view of the window after the last event."""
        return self._state


class World:
    """A subject, the log under it as it really is, and a way to do each operation by the dice.

    ``state`` is the window after the last operation, ``outstanding`` are the ids of writes
    without an answer, and ``tokens`` the acquisition number of each offset, where one was given.
    """

    def __init__(
        self,
        subject: WorldSubject,
        profile: Profile,
        config: SharePartitionConfig,
        load: Load,
        dice: Dice,
    ) -> None:
        """Start with an empty log; no leader has initialized the share-partition yet."""
        self.subject, self.profile, self.load, self.dice = subject, profile, load, dice
        self.config = config
        self.batches: list[OffsetRange] = []
        self.log_start = self.log_end = self.now = 0
        self.last_stable: int | None = None
        self.log_known = True
        self.timed = False
        self.ready = False
        self.state = subject.snapshot()
        self.outstanding: list[int] = []
        self.last_write = self.number = -1
        self.tokens: dict[int, int] = {}
        self.epoch = 0

    def do(
        self,
        operation: ops.Operation,
        choice: Choice | None = None,
        answers: tuple[Answer, ...] = (),
    ) -> Outcome | Refused:
        """Apply an operation, and follow what it changes if it is not refused."""
        outcome = self.subject.do(operation, choice or self.choice(), answers)
        if isinstance(outcome, Outcome):
            self.state = self.subject.snapshot()
            self._follow(operation, outcome)
        return outcome

    def _follow(self, operation: ops.Operation, outcome: Outcome) -> None:  # noqa: C901 - one case for each operation
        done = outcome.status is ErrorCode.NONE
        match operation:
            case ops.AdvanceTime():
                self.now += operation.ms
            case ops.Initialize():
                self.ready = done
                self.epoch = operation.persisted.leader_epoch
            case ops.CompleteWrite():
                self.outstanding.remove(operation.id)
            case ops.AlterConfig():
                self.config = operation.config
            case ops.Gap() | ops.Checkpoint():
                self._begin_anew(operation)
            case ops.Acquire() if operation.log_batches and not self.log_known:
                self._learn_end(max(operation.fetch_offset, operation.log_batches[-1].last + 1))
        if done and isinstance(operation, ops.Initialize | ops.ResetOffset):
            self.outstanding.clear()
        for write in outcome.writes:
            self.last_write = max(self.last_write, write.id)
            if write.status is ErrorCode.PENDING:
                self.outstanding.append(write.id)
        if outcome.acquisition is not None:
            self.number = outcome.acquisition
            self.tokens.update(dict.fromkeys(offsets(outcome.acquired), self.number))

    def _begin_anew(self, operation: ops.Gap | ops.Checkpoint) -> None:
        """Note that nothing is known, or what a leader tells then."""
        self.ready = isinstance(operation, ops.Checkpoint)
        if isinstance(operation, ops.Gap):
            return
        self.config, self.now = operation.config, operation.time_ms
        self.outstanding = [write.id for write in operation.outstanding]

    def _learn_end(self, end: int) -> None:
        end = max(end, self.state.start_offset)
        if end > self.log_end:
            self.log_end, self.last_stable = end, None

    def take_over(self) -> None:
        """Let a new leader read what is durable, with a later epoch unless out of order."""
        persisted = self.subject.durable()
        epoch = persisted.leader_epoch + (not self.disorder())
        self.initialize(attrs.evolve(persisted, leader_epoch=epoch))

    def initialize(self, persisted: DurableState, resolved: int | None = None) -> None:
        """Let a leader read this state; ``resolved`` is the offset that a reset leads to."""
        log = self.log_start, self.log_end
        begin = ops.Initialize(self.config, *log, persisted, self.now, resolved, self.last_stable)
        self.do(attrs.evolve(begin, log_known=self.log_known, timed=self.timed))

    def produce(self) -> None:
        """Let the log grow; some of its offsets hold no record."""
        load, dice = self.load, self.dice
        batches, end = [], self.log_end
        for _ in range(dice.number(1, load.batches)):
            first = end + (dice.number(1, load.gap) if dice.happens(load.gaps) else 0)
            batches.append(OffsetRange(first, first + dice.number(0, load.batch_length - 1)))
            end = batches[-1].last + 1
        self.batches += batches
        self.log_end = end + self.disorder()
        self.last_stable = self._stable(batches)
        self.do(ops.Produce(tuple(batches), self.log_end, self.last_stable))

    def _stable(self, batches: Sequence[OffsetRange]) -> int | None:
        """Return where the first open transaction begins once these batches are appended."""
        if not self.load.open or not self.dice.happens(self.load.open):
            return None
        if self.last_stable is not None and self.dice.happens(0.5):
            return self.last_stable
        return self.dice.one_of(batches).first

    @property
    def readable_end(self) -> int:
        """The offset where reads end."""
        is_bounded = self.config.isolation_level is IsolationLevel.READ_COMMITTED
        return self.last_stable if is_bounded and self.last_stable is not None else self.log_end

    def compact(self) -> None:
        """Let the log lose a batch or the first record of one."""
        near = [i for i, b in enumerate(self.batches) if b.first < self.state.end_offset]
        if near:
            index = self.dice.one_of(near[-8:])
            batch = self.batches.pop(index)
            if batch.first < batch.last and self.dice.happens(0.5):
                self.batches.insert(index, OffsetRange(batch.first + 1, batch.last))
                batch = OffsetRange(batch.first, batch.first)
            self.do(ops.Compact((batch,)))

    def acquire(self) -> None:
        """Let a member fetch; if it can read nothing, let the log grow or a member acknowledge."""
        fetch = self.fetch()
        width = self.state.end_offset - self.state.start_offset
        full = width >= self.config.partition_max_record_locks
        if full and fetch.fetch_offset == self.state.end_offset and not self.disorder():
            if self.dice.happens(0.1):
                self.do(ops.SkipAcquire(fetch.member))
            else:
                self.acknowledge()
        elif fetch.log_batches or self.disorder():
            self.do(fetch)
        else:
            self.produce()

    def fetch(self) -> ops.Acquire:
        """Return a fetch of some batches from where a record may be acquired."""
        load, dice = self.load, self.dice
        start, offset = self.state.start_offset, self._acquirable()
        if self.disorder():
            offset = dice.number(start, max(start, self.log_end))
        self._forget_read_batches()
        batch = self.batch_at(offset)
        read = self.batches[batch : batch + dice.number(0 if self.disorder() else 1, load.read)]
        read = [each for each in read if each.last < self.readable_end]
        return ops.Acquire(
            dice.one_of(load.members),
            dice.one_of(load.modes),
            dice.one_of(load.batch_sizes),
            0 if self.disorder() else dice.one_of(load.limits),
            offset,
            tuple(read),
        )

    def _acquirable(self) -> int:
        """Return the first offset that may be acquired; the end of the window if none within is."""
        place = self.state.start_offset
        for record in self.state.records or ():
            if record.first > place:
                # A leader that took over knows nothing of these: they may be in the log.
                batch = self.batch_at(place)
                if batch < len(self.batches) and self.batches[batch].first < record.first:
                    return place
            if record.state is RecordState.AVAILABLE and not record.pending:
                return record.first
            place = record.last + 1
        return self.state.end_offset

    def batch_at(self, offset: int) -> int:
        """Return the index of the log batch that holds the offset, or else of the next one."""
        return bisect.bisect_left(self.batches, offset, key=lambda batch: batch.last)

    def _forget_read_batches(self) -> None:
        gone = self.batch_at(self.state.start_offset)
        if gone > _MANY_BATCHES:  # Seldom enough to cost nothing.
            del self.batches[:gone]

    def held(self) -> list[RecordRange]:
        """Return the ranges that members hold."""
        return [r for r in self.state.records or () if r.owner is not None and not r.pending]

    def held_by_one(self) -> tuple[str, list[RecordRange]]:
        """Return a member and one to three ranges that it holds; none if nobody holds any."""
        held = self.held()
        if not held or self.disorder():
            return self.dice.one_of(self.load.members), []
        member = self.dice.one_of(held).owner or ""
        mine = [r for r in held if r.owner == member]
        first = self.dice.number(0, len(mine) - 1) if self.dice.happens(self.load.partial) else 0
        return member, mine[first : first + self.dice.number(1, 3)]

    def part(self, held: RecordRange) -> tuple[int, int]:
        """Return the first and last offset, inclusive, of a range or of a part of it."""
        first, last = held.first, held.last
        if self.dice.happens(self.load.partial):
            first = self.dice.number(first, last)
        if self.dice.happens(self.load.partial):
            last = self.dice.number(first, last)
        return first, last

    def acknowledge(self) -> None:
        """Let a member acknowledge what it holds; if nobody holds anything, let the log grow."""
        member, mine = self.held_by_one()
        if not mine and not self.disorder():
            self.produce()
            return
        parts = [self.part(record) for record in mine]
        batches = [ops.AcknowledgementBatch(*part, self.types(*part)) for part in parts]
        self.send(member, batches)

    def acknowledge_anything(self) -> None:
        """Let a member acknowledge offsets of others, outside the window or malformed batches."""
        member, offset = self.dice.one_of(self.load.members), max(0, self.state.start_offset - 2)
        held = self.held()
        if held and self.dice.happens(0.5):
            record = self.dice.one_of(held)
            member, offset = record.owner or "", self.dice.number(record.first, record.last)
        batches = []
        for _ in range(self.dice.number(1, 3)):
            first = offset + (self.dice.number(0, 4) if self.dice.happens(0.5) else 0)
            last = first + self.dice.number(0, 4)
            batches.append(self._maybe_malformed(first, last, self.types(first, last)))
            offset = last + 1 - self.dice.happens(0.3)
        self.send(member, batches)

    def send(self, member: str, batches: Sequence[ops.AcknowledgementBatch]) -> None:
        """Let a member acknowledge these batches."""
        entry = self.dice.one_of(tuple(ops.EntryPoint))
        choice = self.choice()
        if self.dice.happens(self.load.choose):
            choice = attrs.evolve(choice, refusal=self.dice.one_of(_REFUSALS))
        self.do(ops.Acknowledge(member, tuple(batches), entry), choice, self.answers())

    def types(self, first: int, last: int) -> tuple[int, ...]:
        """Return one type for all offsets of a batch, or one for each."""
        number = 1 if self.dice.happens(self.load.single) else last - first + 1
        return tuple(self._type() for _ in range(number))

    def _type(self) -> int:
        return self.dice.number(-1, 5) if self.disorder() else self.dice.one_of(self.load.types)

    def _maybe_malformed(
        self, first: int, last: int, types: tuple[int, ...]
    ) -> ops.AcknowledgementBatch:
        if not self.dice.happens(0.1):
            return ops.AcknowledgementBatch(first, last, types)
        if self.dice.happens(0.1):
            last = 2**62
        return self.dice.one_of(
            (
                ops.AcknowledgementBatch(first, last, types[:1]),
                ops.AcknowledgementBatch(first, last, ()),
                ops.AcknowledgementBatch(first, last, (*types, 1)),
                ops.AcknowledgementBatch(last + 1, first, types),
                ops.AcknowledgementBatch(-1, last, types),
            )
        )

    def release(self) -> None:
        """Let a member leave its session."""
        self.do(ops.MemberLeaves(self.dice.one_of(self.load.members)), answers=self.answers())

    def advance_time(self) -> None:
        """Let time pass."""
        wait = ops.AdvanceTime(self.dice.number(0, self.load.wait_ms))
        self.do(wait, answers=self.answers())

    def expire(self) -> None:
        """Let time pass until every lock is over."""
        ms = self.config.record_lock_duration_ms + self.dice.number(0, 5)
        self.do(ops.AdvanceTime(ms), answers=self.answers())

    def complete_write(self) -> None:
        """Answer an outstanding write, in any order; if there is none, let a member fetch."""
        if not self.outstanding and not self.disorder():
            self.acquire()
            return
        id_ = self.dice.one_of(self.outstanding) if self.outstanding else 0
        id_ += 100 * self.disorder()
        status = self.dice.one_of(self.load.late_answers)
        self.do(ops.CompleteWrite(id_, status, self._late_locks()))

    def _late_locks(self) -> tuple[OffsetRange, ...]:
        """Return ranges whose locks a timer that is late has not ended, if any are over."""
        if not (self.dice.happens(0.5) if self.timed else self.disorder()):
            return ()
        first = self.dice.number(max(0, self.state.start_offset - 1), self.state.end_offset)
        return (OffsetRange(first, first + self.dice.number(0, 5)),)

    def advance_log_start(self) -> None:
        """Let the log lose its first offsets."""
        start = self.state.start_offset + self.dice.number(0, self.load.log_start)
        start = max(0, start - self.disorder())
        self.log_start = max(self.log_start, start)
        self.log_end = max(self.log_end, self.log_start)
        if self.last_stable is not None:
            self.last_stable = max(self.last_stable, self.log_start)
        self.batches = self.batches[self.batch_at(self.log_start) :]
        self.do(ops.AdvanceLogStart(start))

    def reset_offset(self) -> None:
        """Let an administrator alter the offsets of the group."""
        self.do(ops.ResetOffset(self.dice.number(self.log_start, self.log_end)), Choice())

    def mark(self) -> None:
        """Let a member mark that it is at work on some of what it holds."""
        if not self.profile.in_progress and not self.disorder():
            self.acknowledge()
            return
        member, mine = self.held_by_one()
        batches = tuple(self.progress(*self.part(record)) for record in mine)
        self.do(ops.MarkInProgress(member, batches))

    def progress(self, first: int, last: int) -> ops.ProgressBatch:
        """Return a batch with the token of the last record in it that has one."""
        tokens = [self.tokens[o] for o in range(first, last + 1) if o in self.tokens]
        return ops.ProgressBatch(first, last, self.epoch, tokens[-1] if tokens else self.number)

    def finish_dead_letters(self) -> None:
        """Let the dead-letter queue take some of the records that are ARCHIVING."""
        archiving = [
            OffsetRange(r.first, r.last)
            for r in self.state.records or ()
            if r.state is RecordState.ARCHIVING and not r.pending
        ]
        if not archiving and not self.disorder():
            self.acknowledge()
            return
        some = [each for each in archiving if self.dice.happens(0.7)] or archiving
        if self.disorder():
            offset = self.dice.number(0, self.log_end)
            some.append(OffsetRange(offset, offset))
        if self.disorder():
            some = [] if len(some) > 1 else [OffsetRange(0, 0), *some, *some]
        self.do(ops.FinishDeadLetter(tuple(some)), answers=self.answers())

    def archive_aborted(self) -> None:
        """Archive some of what a fetch read as aborted, sometimes together with other offsets."""
        fetch = self.fetch()
        self.do(fetch)
        aborted = [batch for batch in fetch.log_batches if self.dice.happens(0.7)]
        for _ in range(self.dice.number(0, 3) // 2):
            first = max(0, self.state.start_offset - 2) + self.dice.number(0, 9)
            aborted.append(OffsetRange(first, first + self.dice.number(0, 9)))
        if self.disorder():
            aborted.reverse()
        self.do(ops.ArchiveAborted(tuple(aborted)))

    def disorder(self) -> bool:
        """Return whether something is out of order this time."""
        return self.load.disorder > 0 and self.dice.happens(self.load.disorder)

    def choice(self) -> Choice:
        """Return what the implementation chooses: mostly nothing, or a start offset."""
        if not self.load.choose or not self.dice.happens(self.load.choose):
            return _FREE
        return Choice(start_offset=self.start_offset())

    def start_offset(self) -> int:
        """Return where the start offset may go: nowhere, or up to where a record is unfinished."""
        start = self.state.start_offset
        if not self.disorder():
            return start
        records = self.state.records or ()
        unfinished = (r.first for r in records if r.pending or r.state not in TERMINAL_STATES)
        furthest = next(unfinished, self.state.end_offset)
        return self.dice.number(max(0, start - 1), max(start, furthest) + 1)

    def answers(self) -> tuple[Answer, ...]:
        """Return how the coordinator answers the write of an operation."""
        status = self.dice.one_of(self.load.answers)
        id_ = self.last_write + 3 if self.disorder() else None
        answer = Answer(status, id_, keeps_back=self.load.choose > 0 and self.dice.happens(0.3))
        return (answer,) if status is not ErrorCode.NONE or id_ is not None else ()


_FREE = Choice()
_REFUSALS = (ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE)
