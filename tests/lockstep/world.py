"""The world around a share-partition, for a driver: a log, members, and the operations on them."""

from collections.abc import Callable

import attrs

from model import operations as ops
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Expiry
from model.profile import Profile
from model.ranges import OffsetRange, StateBatch
from model.states import AcquireMode, RecordState
from spec.expire import due_offsets
from spec.record import is_acquirable
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
        self.config = SharePartitionConfig(
            delivery_count_limit=dice.number(1, 3),
            partition_max_record_locks=dice.number(4, 12),
            record_lock_duration_ms=DURATION,
            auto_offset_reset=dice.one_of(tuple(AutoOffsetReset)),
            renew_acknowledge_enable=not dice.rarely(),
        )
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
        """A new leader reads what is durable; now and then what it reads is malformed."""
        persisted = durable(self.pair.spec)
        resolved: int | None = self.dice.number(self.log_start, self.log_end)
        if self.dice.rarely():
            bad = StateBatch(self.dice.number(0, 5), 6, RecordState.AVAILABLE, 1)
            persisted = attrs.evolve(persisted, state_batches=(bad, *persisted.state_batches))
            resolved = None
        self.pair.do(
            ops.Initialize(
                self.config, self.log_start, self.log_end, persisted, self.now, resolved
            ),
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
        waiting = [o for o, r in records.items() if r.pending and r.state == RecordState.AVAILABLE]
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
        records = self.pair.spec.window.records
        mine = [o for o in sorted(self.pair.spec.window.held) if records[o].owner == member]
        mine = [o for o in mine if self.dice.number(0, 2)] or mine
        batches = [ops.AcknowledgementBatch(o, o, (self._type(),)) for o in mine]
        self.pair.do(
            ops.Acknowledge(member, tuple(batches), self._entry()),
            attrs.evolve(self.start_choice(), refusal=self._refusal()),
            self.answers(),
        )

    def acknowledge_anything(self) -> None:
        """A member acknowledges batches that may touch anything and may be malformed."""
        batches, at = [], max(0, self.pair.spec.window.start_offset - 2)
        for _ in range(self.dice.number(1, 3)):
            first = at + self.dice.number(0, 4)
            last = first + self.dice.number(0, 4)
            size = 1 if self.dice.number(0, 1) else last - first + 1
            types = tuple(self._type() for _ in range(size))
            batches.append(self._maybe_malformed(first, last, types))
            at = last + 1 - (self.dice.number(0, 2) == 0)
        self.pair.do(
            ops.Acknowledge(self.dice.one_of(MEMBERS), tuple(batches), self._entry()),
            attrs.evolve(self.start_choice(), refusal=self._refusal()),
            self.answers(),
        )

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
    World.acknowledge_anything: 6,
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
}
"""Each operation, and how often the seeded driver does it."""
