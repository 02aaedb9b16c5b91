"""A share-partition under made-up load: operations drawn at random, results by the implementation.

What is drawn depends on the seed and the name of the share-partition and on nothing else.
"""

import bisect
import random
from collections.abc import Iterator
from typing import Any

import attrs

from impl.partition import FastSharePartition
from model import operations as ops
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Outcome
from model.profile import Profile
from model.ranges import OffsetRange, RecordRange
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode, RecordState
from model.trace import TraceEvent

__all__ = ["SyntheticPartition"]

RECORDS_EVERY = 50
"""The records after an event are recorded at every so many events: they are most of a trace."""

ACKNOWLEDGE_TYPES = (
    (AcknowledgeType.ACCEPT, 84),
    (AcknowledgeType.RELEASE, 6),
    (AcknowledgeType.RENEW, 5),
    (AcknowledgeType.REJECT, 3),
    (AcknowledgeType.GAP, 2),
)

ANSWERS = (
    (ErrorCode.NONE, 92),
    (ErrorCode.PENDING, 6),
    (ErrorCode.COORDINATOR_NOT_AVAILABLE, 1),
    (ErrorCode.FENCED_STATE_EPOCH, 1),
)

LATE_ANSWERS = ((ErrorCode.NONE, 85), (ErrorCode.NOT_COORDINATOR, 15))

OPERATIONS = (
    ("acquire", 44),
    ("acknowledge", 46),
    ("advance_time", 5),
    ("expire", 0.3),
    ("produce", 6),
    ("release", 1.2),
    ("complete_write", 6),
    ("bad_acknowledge", 2),
    ("advance_log_start", 0.2),
    ("fail_over", 0.15),
    ("reset_offset", 0.05),
)
"""The operations and how often each is drawn; what cannot be done then gives way to another."""

_NAMES = tuple(name for name, _ in OPERATIONS)
_WEIGHTS = tuple(weight for _, weight in OPERATIONS)
_FREE = Choice()


class SyntheticPartition:
    """One share-partition with its log, members and outstanding writes."""

    def __init__(self, name: str, seed: int, profile: Profile) -> None:
        """Draw the configuration; nothing has happened yet."""
        self._random = random.Random(f"{seed}/{name}")  # noqa: S311 - not a secret
        self._name = name
        self._partition = FastSharePartition(profile)
        self._members = [f"member-{i}" for i in range(self._random.randint(1, 6))]
        self._config = SharePartitionConfig(
            delivery_count_limit=self._random.choice((2, 3, 5, 5)),
            partition_max_record_locks=self._random.choice((100, 200, 200, 500, 2000)),
            record_lock_duration_ms=self._random.choice((15_000, 30_000)),
            auto_offset_reset=AutoOffsetReset.EARLIEST,
        )
        self._clock = 0
        self._log_start = 0
        self._log_end = 0
        self._batches: list[OffsetRange] = []
        self._outstanding: list[int] = []
        self._state = self._partition.snapshot()

    def events(self, number: int) -> Iterator[TraceEvent]:
        """Yield so many events, the first of them an initialize."""
        for seq in range(number):
            operation, answers = (
                self._drawn() if seq else (self._initialize(DurableState(0, 0)), ())
            )
            outcome = self._partition.apply(operation, _FREE, answers, seq)
            self._follow(operation, outcome)
            after = self._state
            if seq % RECORDS_EVERY:
                after = attrs.evolve(after, records=None)
            yield TraceEvent(self._name, seq, self._clock, operation, outcome, after)

    def _follow(self, operation: ops.Operation, outcome: Outcome) -> None:
        self._state = self._partition.snapshot()
        if isinstance(operation, ops.Initialize | ops.ResetOffset) and (
            outcome.status is ErrorCode.NONE
        ):
            self._outstanding.clear()
        self._outstanding += [w.id for w in outcome.writes if w.status is ErrorCode.PENDING]

    def _drawn(self) -> tuple[ops.Operation, tuple[Answer, ...]]:
        """Return the next operation and what the share coordinator will say to its write."""
        (name,) = self._random.choices(_NAMES, _WEIGHTS)
        draw = getattr(self, f"_{name}")
        operation: ops.Operation = (
            draw() or self._acquire() or self._acknowledge() or self._produce()
        )
        if isinstance(operation, ops.Acknowledge | ops.Release | ops.AdvanceTime):
            return operation, (Answer(self._one_of(ANSWERS)),)
        return operation, ()

    def _one_of(self, weighted: tuple[tuple[Any, int], ...]) -> Any:  # noqa: ANN401 - as given
        (chosen,) = self._random.choices(*zip(*weighted, strict=True))
        return chosen

    def _happens(self, probability: float) -> bool:
        return self._random.random() < probability

    def _initialize(self, persisted: DurableState) -> ops.Initialize:
        return ops.Initialize(
            self._config, self._log_start, self._log_end, persisted, time_ms=self._clock
        )

    def _fail_over(self) -> ops.Operation:
        return self._initialize(self._partition.durable())

    def _produce(self) -> ops.Operation:
        batches = []
        end = self._log_end
        for _ in range(self._random.randint(1, 8)):
            # Some offsets are not in the log: compacted, or markers of transactions.
            first = end + (self._random.randint(1, 5) if self._happens(0.05) else 0)
            batches.append(OffsetRange(first, first + self._random.randint(0, 30)))
            end = batches[-1].last + 1
        self._batches += batches
        self._log_end = end
        return ops.Produce(tuple(batches), end)

    def _acquire(self) -> ops.Operation | None:
        fetch = self._fetch_offset()
        member = self._random.choice(self._members)
        width = self._state.end_offset - self._state.start_offset
        if fetch == self._state.end_offset and width >= self._config.partition_max_record_locks:
            return ops.SkipAcquire(member) if self._happens(0.1) else self._acknowledge()
        self._forget_read_batches()
        place = self._batch_at(fetch)
        read = self._batches[place : place + self._random.randint(1, 4)]
        if not read:
            return None
        strict = self._happens(0.3)
        return ops.Acquire(
            member,
            AcquireMode.RECORD_LIMIT if strict else AcquireMode.BATCH_OPTIMIZED,
            self._random.choice((10, 100, 500)),
            self._random.choice((1, 10, 50, 500)),
            fetch,
            tuple(read),
        )

    def _fetch_offset(self) -> int:
        """Return the first offset that may be acquired; the end of the window if none within is."""
        place = self._state.start_offset
        for record in self._state.records or ():
            if record.first > place:
                # A leader that took over knows nothing of these: they may be in the log.
                batch = self._batch_at(place)
                if batch < len(self._batches) and self._batches[batch].first < record.first:
                    return place
            if record.state is RecordState.AVAILABLE and not record.pending:
                return record.first
            place = record.last + 1
        return self._state.end_offset

    def _batch_at(self, offset: int) -> int:
        """Return the index of the log batch that holds the offset, or else of the next one."""
        return bisect.bisect_left(self._batches, offset, key=lambda batch: batch.last)

    def _forget_read_batches(self) -> None:
        gone = self._batch_at(self._state.start_offset)
        if gone > 1000:  # noqa: PLR2004 - seldom enough to cost nothing
            del self._batches[:gone]

    def _acknowledge(self) -> ops.Operation | None:
        held = [r for r in self._state.records or () if r.owner is not None and not r.pending]
        if not held:
            return None
        member = self._random.choice(held).owner or ""
        mine = [r for r in held if r.owner == member][: self._random.randint(1, 3)]
        batches = tuple(self._acknowledged(r) for r in mine)
        return ops.Acknowledge(member, batches, self._random.choice(list(ops.EntryPoint)))

    def _acknowledged(self, held: RecordRange) -> ops.AcknowledgementBatch:
        first, last = held.first, held.last
        if self._happens(0.1):
            first = self._random.randint(first, last)
        width = last - first + 1
        single = self._happens(0.9)
        types = tuple(int(self._one_of(ACKNOWLEDGE_TYPES)) for _ in range(1 if single else width))
        return ops.AcknowledgementBatch(first, last, types)

    def _bad_acknowledge(self) -> ops.Operation:
        start, end = self._state.start_offset, self._state.end_offset
        member = self._random.choice(self._members)
        first, last, types = self._random.choice(
            (
                (start, max(start, end - 1), (1,)),
                (max(0, start - 5), start, (1,)),
                (end + 3, end + 9, (1,)),
                (start, start + 2, (1, 1)),
                (start, start, (7,)),
                (start + 1, start, (1,)),
                (start, start, ()),
            )
        )
        batch = ops.AcknowledgementBatch(first, last, types)
        return ops.Acknowledge(member, (batch,), self._random.choice(list(ops.EntryPoint)))

    def _release(self) -> ops.Operation:
        return ops.Release(self._random.choice(self._members))

    def _advance_time(self) -> ops.Operation:
        return self._wait(self._random.randint(1, 2000))

    def _expire(self) -> ops.Operation:
        return self._wait(self._config.record_lock_duration_ms + self._random.randint(0, 5))

    def _wait(self, ms: int) -> ops.Operation:
        self._clock += ms
        return ops.AdvanceTime(ms)

    def _complete_write(self) -> ops.Operation | None:
        if not self._outstanding:
            return None
        place = self._random.randrange(len(self._outstanding))
        return ops.CompleteWrite(self._outstanding.pop(place), self._one_of(LATE_ANSWERS))

    def _advance_log_start(self) -> ops.Operation:
        start = self._state.start_offset + self._random.randint(0, 20)
        self._log_start = max(self._log_start, start)
        self._log_end = max(self._log_end, start)
        return ops.AdvanceLogStart(start)

    def _reset_offset(self) -> ops.Operation:
        return ops.ResetOffset(self._random.randint(self._log_start, self._log_end))
