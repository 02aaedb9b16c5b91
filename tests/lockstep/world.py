"""The world around a share-partition, for a driver: a log, members, and the operations on them."""

from collections.abc import Callable

import attrs

from model import operations as ops
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Expiry, Outcome
from model.profile import Profile
from model.ranges import OffsetRange, StateBatch
from model.states import AcquireMode, RecordState
from spec.expire import due_offsets
from spec.record import is_acquirable, is_dead_letter
from spec.view import durable
from spec.window import first_unfinished
from tests.lockstep.dice import Dice
from tests.lockstep.pair import Pair

__all__ = ["OPERATIONS", "World"]

MEMBERS = ("m1", "m2", "m3")
REFUSALS = (ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE)
FAILURES = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.FENCED_STATE_EPOCH)
DURATION = 10


class World:
    """A pair, the log under it as it really is, and a way to do each operation by the dice."""

    def __init__(self, profile: Profile, dice: Dice) -> None:
        self.pair = Pair(profile)
        self.dice = dice
        self.batches: list[OffsetRange] = []
        self.log_start = self.log_end = dice.number(0, 3)
        self.config = attrs.evolve(self._config(), in_progress_staleness_threshold_ms=DURATION)
        if not dice.rarely():
            self.take_over()

    def step(self, operation: "Callable[[World], None]") -> None:
        """Do an operation; a share-partition that failed mostly gets a new leader first."""
        if not self.pair.spec.ready and not self.dice.rarely():
            operation = World.take_over
        operation(self)

    @property
    def now(self) -> int:
        return self.pair.spec.now

    def take_over(self) -> None:
        """A new leader reads what is durable; now and then what it reads is malformed.

        Now and then a leader before it made a record durable IN_PROGRESS, as the draft has it.
        """
        persisted = durable(self.pair.spec)
        epoch = persisted.leader_epoch + (not self.dice.rarely())
        persisted = attrs.evolve(persisted, leader_epoch=epoch)
        if persisted.state_batches and self.dice.rarely():
            *others, last = persisted.state_batches
            marked = attrs.evolve(last, state=RecordState.IN_PROGRESS)
            persisted = attrs.evolve(persisted, state_batches=(*others, marked))
        config = self.config
        if self.dice.rarely() and self.dice.rarely():
            config = attrs.evolve(config, record_lock_duration_ms=100)
        resolved: int | None = self.dice.number(self.log_start, self.log_end)
        if self.dice.rarely():
            bad = StateBatch(self.dice.number(0, 5), 6, RecordState.AVAILABLE, 1)
            persisted = attrs.evolve(persisted, state_batches=(bad, *persisted.state_batches))
            resolved = None
        self.pair.do(
            ops.Initialize(config, self.log_start, self.log_end, persisted, self.now, resolved),
            self.start_choice(),
        )

    def produce(self) -> None:
        batches, at = [], self.log_end
        for _ in range(self.dice.number(1, 3)):
            at += 0 if self.dice.number(0, 3) else self.dice.number(1, 3)
            batches.append(OffsetRange(at, at + self.dice.number(0, 3)))
            at = batches[-1].last + 1
        at += self.dice.rarely()
        self.batches += batches
        self.log_end = at
        if self.dice.rarely() and self.dice.rarely():
            at -= 1
            batches = [OffsetRange(0, 0)] if self.dice.rarely() else []
        self.pair.do(ops.Produce(tuple(batches), at), self.start_choice())

    def compact(self) -> None:
        """The log loses a batch or the end of one; nobody is told."""
        window = self.pair.spec.window
        near = [i for i, batch in enumerate(self.batches) if batch.first < window.end_offset]
        if near:
            index = self.dice.one_of(near[-8:])
            batch = self.batches.pop(index)
            if batch.first < batch.last and self.dice.number(0, 1):
                self.batches.insert(index, OffsetRange(batch.first + 1, batch.last))

    def lose_while_pending(self) -> None:
        """The log loses a record whose release awaits its write, and a fetch shows it."""
        records = self.pair.spec.window.records
        waiting = [offset for offset in records if self._is_released(offset)]
        if not waiting:
            self.acknowledge()
            return
        at = self.dice.one_of(sorted(waiting))
        self.batches = [batch for batch in self.batches if not batch.first <= at <= batch.last]
        read = tuple(batch for batch in self.batches if batch.first > at)[:2]
        mode = self.dice.one_of(tuple(AcquireMode))
        member, most = self.dice.one_of(MEMBERS), self.dice.number(0, 6)
        self.pair.do(ops.Acquire(member, mode, 500, most, at, read), self.start_choice())

    def acquire(self) -> None:
        """A fetch by this project's policies."""
        self.pair.do(self._fetch(), Choice(end_offset=None, start_offset=self._start()))

    def acquire_otherwise(self) -> None:
        """A fetch in which the implementation chooses something else, legal or not."""
        fetch = self._fetch()
        taken = [o for o in self._read(fetch) if self._may_take(o) and self.dice.number(0, 3)]
        if self.dice.rarely():
            taken.append(self.dice.one_of((*self._read(fetch), self.dice.number(0, self.log_end))))
        waiting = [o for o in self._read(fetch) if self._is_released(o)]
        if waiting and self.dice.number(0, 1):
            taken.append(waiting[0])
        end = self.pair.spec.window.end_offset
        beyond = [o for o in self._read(fetch) if end <= o and o not in taken]
        entered = [o for o in beyond if not taken or o < taken[-1] or not self.dice.rarely()]
        if self.dice.rarely():
            entered = [self.dice.number(0, self.log_end), *entered[1:]]
        choice = Choice(
            acquired=_single(sorted(taken)),
            entered=self.dice.one_of((None, _single(entered))),
            end_offset=self.dice.one_of((None, end, *(o + 1 for o in beyond[-1:]))),
            start_offset=self._start(),
        )
        self.pair.do(fetch, choice)

    def skip_acquire(self) -> None:
        self.pair.do(ops.SkipAcquire(self.dice.one_of(MEMBERS)), self.start_choice())

    def acknowledge(self) -> None:
        """A member acknowledges what it holds, in one batch for each run of its records."""
        member = self.dice.one_of(MEMBERS)
        mine = self._some_held_by(member)
        batches = [ops.AcknowledgementBatch(o, o, (self._type(),)) for o in mine]
        self.pair.do(
            ops.Acknowledge(member, tuple(batches), self._entry()),
            attrs.evolve(self.start_choice(), refusal=self._refusal()),
            self.answers(),
        )

    def acknowledge_anything(self) -> None:
        """A member acknowledges batches that may touch anything and may be malformed."""
        window = self.pair.spec.window
        batches, at = [], max(0, window.start_offset - 2)
        member = self.dice.one_of(MEMBERS)
        if window.held and self.dice.number(0, 1):
            at = self.dice.one_of(sorted(window.held))
            member = str(window.records[at].owner)
        for _ in range(self.dice.number(1, 3)):
            first = at + self.dice.number(0, 4) * self.dice.number(0, 1)
            last = first + self.dice.number(0, 4)
            size = 1 if self.dice.number(0, 1) else last - first + 1
            types = tuple(self._type() for _ in range(size))
            batches.append(self._maybe_malformed(first, last, types))
            at = last + 1 - (self.dice.number(0, 2) == 0)
        self.pair.do(
            ops.Acknowledge(member, tuple(batches), self._entry()),
            attrs.evolve(self.start_choice(), refusal=self._refusal()),
            self.answers(),
        )

    def mark(self) -> None:
        """A member says that it is at work on some of what it holds."""
        if not self.pair.spec.profile.in_progress and not self.dice.rarely():
            self.acknowledge()
            return
        member = self.dice.one_of(MEMBERS)
        batches = [self._progress(o, o) for o in self._some_held_by(member)]
        self.pair.do(ops.MarkInProgress(member, tuple(batches)), self.start_choice())

    def mark_anything(self) -> None:
        """A member marks what may be another's, of an earlier delivery, or malformed."""
        if not self.pair.spec.profile.in_progress:
            self.acknowledge_anything()
            return
        batches, at = [], max(0, self.pair.spec.window.start_offset - 2)
        for _ in range(self.dice.number(1, 3)):
            first = at + self.dice.number(0, 3)
            last = first + self.dice.number(0, 3)
            batches.append(self._maybe_wrong(self._progress(first, last)))
            at = max(0, last + 1 - self.dice.number(0, 3))
        operation = ops.MarkInProgress(self.dice.one_of(MEMBERS), tuple(batches))
        self.pair.do(operation, self.start_choice())

    def keep_working(self) -> None:
        """A member marks what it has in progress again and again, until it may no more."""
        owner = self._at_work()
        for _ in range(self.dice.number(2, 5) if owner else 0):
            if self.dice.number(0, 3) == 0:
                self.alter_config()
            self.advance_time()
            batches = [self._progress(o, o) for o in self._some_held_by(str(owner))]
            self.pair.do(ops.MarkInProgress(str(owner), tuple(batches)), self.start_choice())

    def leave_late(self) -> None:
        """A member with records in progress says nothing, the configuration changes, it leaves."""
        owner = self._at_work()
        if owner:
            self.alter_config()
            self.advance_time()
            self.pair.do(ops.Release(owner), self.start_choice(), self.answers())

    def finish_dead_letters(self) -> None:
        """The dead-letter queue has some records; now and then it is told of others."""
        records = self.pair.spec.window.records
        found = sorted(o for o, r in records.items() if is_dead_letter(r))
        if not found and not self.dice.rarely():
            self.acknowledge()
            return
        found = [o for o in found if self.dice.number(0, 2)] or found
        if self.dice.rarely():
            found.append(self.dice.number(0, self.log_end))
        if self.dice.rarely():
            found = [0, *found, *found[:1]]
        operation = ops.FinishDeadLetter(_single(found))
        self.pair.do(operation, self.start_choice(), self.answers())

    def archive_aborted(self) -> None:
        """A fetch reads data of aborted transactions; now and then other offsets are named too.

        Half of the time it is told under read_uncommitted, which is refused.
        """
        fetch = self._fetch()
        self.pair.do(fetch, self.start_choice())
        found = [batch for batch in fetch.log_batches if self.dice.number(0, 2)]
        window = self.pair.spec.window
        for _ in range(self.dice.number(0, 3) // 2):
            first = max(0, window.start_offset - 2) + self.dice.number(0, 9)
            found.append(OffsetRange(first, first + self.dice.number(0, 9)))
        if self.dice.rarely():
            found.reverse()
        if isinstance(self.pair.do(ops.ArchiveAborted(tuple(found)), self.start_choice()), Outcome):
            for offset in {o for batch in found for o in range(batch.first, batch.last + 1)}:
                record = window.records.get(offset)
                kind = RecordState(record.state).name if record else "untracked"
                pending = record is not None and record.pending
                self.pair.reached[f"aborted {kind}{' pending' * pending}"] += 1

    def alter_config(self) -> None:
        """The configuration changes; now and then to one that is out of order."""
        altered = self._config()
        if isinstance(self.pair.do(ops.AlterConfig(altered), self.start_choice()), Outcome):
            self.config = altered

    def release(self) -> None:
        operation = ops.Release(self.dice.one_of(MEMBERS))
        self.pair.do(operation, self.start_choice(), self.answers())

    def advance_time(self) -> None:
        ms = self.dice.number(0, DURATION)
        self.pair.do(ops.AdvanceTime(ms), self.start_choice(), self.answers())

    def advance_time_in_groups(self) -> None:
        """Locks expire in several writes, or in a way that no rule allows."""
        ms = self.dice.number(0, DURATION)
        later = attrs.evolve(self.pair.spec, now=self.now + ms)
        groups: list[list[int]] = [[] for _ in range(self.dice.number(1, 3))]
        for offset in due_offsets(later):
            self.dice.one_of(groups).append(offset)
        if self.dice.rarely():
            groups[0].append(self.dice.number(0, self.log_end))
        if self.dice.rarely():
            groups[-1] = groups[-1][1:]
        expired = tuple(Expiry(_single(sorted(group)), self._start()) for group in groups)
        choice = attrs.evolve(self.start_choice(), expired=expired)
        self.pair.do(ops.AdvanceTime(ms), choice, (*self.answers(), *self.answers()))

    def complete_write(self) -> None:
        """An answer comes, in any order, now and then to a write that nobody made."""
        known = sorted(self.pair.spec.outstanding)
        if not known and not self.dice.rarely():
            self.acknowledge()
            return
        id_ = self.dice.one_of(known) if known else 0
        id_ += 100 * self.dice.rarely()
        status = self.dice.one_of((ErrorCode.NONE, *FAILURES))
        self.pair.do(ops.CompleteWrite(id_, status), self.start_choice())

    def advance_log_start(self) -> None:
        window = self.pair.spec.window
        offset = max(0, window.start_offset - 1) + self.dice.number(0, 4)
        self.log_start = max(self.log_start, offset)
        self.log_end = max(self.log_end, self.log_start)
        self.batches = [batch for batch in self.batches if batch.last >= self.log_start]
        self.pair.do(ops.AdvanceLogStart(offset), self.start_choice())

    def reset_offset(self) -> None:
        offset = self.dice.number(self.log_start, self.log_end)
        self.pair.do(ops.ResetOffset(offset))

    def start_choice(self) -> Choice:
        return Choice(start_offset=self._start())

    def answers(self) -> tuple[Answer, ...]:
        """What the coordinator says: mostly success, else later, else failure."""
        if self.dice.number(0, 1):
            return ()
        status = self.dice.one_of((ErrorCode.PENDING, ErrorCode.PENDING, *FAILURES))
        id_ = self.pair.spec.next_write + 2 if self.dice.rarely() else None
        return (Answer(status, id_),)

    def _config(self) -> SharePartitionConfig:
        threshold = self.dice.number(0 if self.dice.rarely() else DURATION, 2 * DURATION)
        return SharePartitionConfig(
            delivery_count_limit=self.dice.number(1, 3),
            partition_max_record_locks=self.dice.number(4, 12),
            record_lock_duration_ms=DURATION,
            auto_offset_reset=self.dice.one_of(tuple(AutoOffsetReset)),
            isolation_level=self.dice.one_of(tuple(IsolationLevel)),
            renew_acknowledge_enable=not self.dice.rarely(),
            dead_letter_queue=self.dice.number(0, 2) == 0,
            in_progress_staleness_threshold_ms=threshold,
            in_progress_max_lock_extension_ms=DURATION + self.dice.number(DURATION - 1, 30),
            in_progress_rebalance_grace_ms=self.dice.number(0, 8),
        )

    def _at_work(self) -> str | None:
        """Return a member with a record in progress; mark something if there is none."""
        window = self.pair.spec.window
        held = [window.records[offset] for offset in sorted(window.held)]
        owners = [record.owner for record in held if record.state == RecordState.IN_PROGRESS]
        if not owners:
            self.mark()
            return None
        return str(self.dice.one_of(owners))

    def _some_held_by(self, member: str) -> list[int]:
        window = self.pair.spec.window
        mine = [o for o in sorted(window.held) if window.records[o].owner == member]
        return [o for o in mine if self.dice.number(0, 2)] or mine

    def _progress(self, first: int, last: int) -> ops.ProgressBatch:
        """A batch with the token of the last record in it that has one."""
        partition = self.pair.spec
        there = (partition.window.records.get(offset) for offset in range(first, last + 1))
        numbers = [r.acquisition for r in there if r is not None and r.acquisition is not None]
        number = numbers[-1] if numbers else partition.next_acquisition - 1
        return ops.ProgressBatch(first, last, partition.durable.leader_epoch, number)

    def _maybe_wrong(self, batch: ops.ProgressBatch) -> ops.ProgressBatch:
        if self.dice.number(0, 3):
            return batch
        wrong = self.dice.one_of(("leader_epoch", "acquisition", "last", "first"))
        to = self.dice.one_of((-1, 1)) * (2**62 if self.dice.rarely() else 1)
        return attrs.evolve(batch, **{wrong: getattr(batch, wrong) + to})

    def _start(self) -> int | None:
        if self.dice.number(0, 4):
            return None
        window = self.pair.spec.window
        if not self.dice.rarely():
            return window.start_offset
        furthest = first_unfinished(window, self.pair.spec.log)
        return self.dice.number(max(0, window.start_offset - 1), furthest + 1)

    def _fetch(self) -> ops.Acquire:
        at = self._fetch_offset()
        read = [batch for batch in self.batches if batch.last >= at]
        read = read[: self.dice.number(0 if self.dice.rarely() else 1, 3)]
        return ops.Acquire(
            self.dice.one_of(MEMBERS),
            self.dice.one_of(tuple(AcquireMode)),
            500,
            self.dice.number(0 if self.dice.rarely() else 1, 6),
            at,
            tuple(read),
        )

    def _fetch_offset(self) -> int:
        window = self.pair.spec.window
        if self.dice.number(0, 4) == 0:
            return self.dice.number(window.start_offset, max(window.start_offset, self.log_end))
        inside = range(window.start_offset, window.end_offset)
        return next((o for o in inside if self._may_take(o)), window.end_offset)

    def _may_take(self, offset: int) -> bool:
        window = self.pair.spec.window
        record = window.records.get(offset)
        if record is None:
            return offset >= window.start_offset
        return bool(is_acquirable(record))

    def _is_released(self, offset: int) -> bool:
        """Whether the record is AVAILABLE, and the write of that outstanding."""
        record = self.pair.spec.window.records.get(offset)
        return record is not None and record.pending and record.state == RecordState.AVAILABLE

    def _read(self, fetch: ops.Acquire) -> list[int]:
        return [o for batch in fetch.log_batches for o in range(batch.first, batch.last + 1)]

    def _type(self) -> int:
        return self.dice.number(0, 4) if not self.dice.rarely() else self.dice.number(-1, 5)

    def _entry(self) -> ops.EntryPoint:
        return self.dice.one_of(tuple(ops.EntryPoint))

    def _refusal(self) -> ErrorCode | None:
        return self.dice.one_of(REFUSALS) if self.dice.number(0, 5) == 0 else None

    def _maybe_malformed(
        self, first: int, last: int, types: tuple[int, ...]
    ) -> ops.AcknowledgementBatch:
        if not self.dice.rarely():
            return ops.AcknowledgementBatch(first, last, types)
        if self.dice.rarely():
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


def _single(offsets: list[int]) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(offset, offset) for offset in offsets)


OPERATIONS: dict[Callable[[World], None], int] = {
    World.acquire: 14,
    World.acquire_otherwise: 6,
    World.acknowledge: 12,
    World.acknowledge_anything: 7,
    World.produce: 6,
    World.advance_time: 5,
    World.advance_time_in_groups: 3,
    World.complete_write: 6,
    World.release: 2,
    World.skip_acquire: 1,
    World.compact: 3,
    World.lose_while_pending: 2,
    World.advance_log_start: 1,
    World.take_over: 1,
    World.reset_offset: 1,
    World.mark: 7,
    World.mark_anything: 4,
    World.keep_working: 2,
    World.leave_late: 1,
    World.finish_dead_letters: 2,
    World.archive_aborted: 4,
    World.alter_config: 1,
}
"""Each operation, and how often the seeded driver does it."""
