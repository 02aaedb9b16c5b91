"""Random histories of one share-partition, played by the object face itself."""

import json
import random
from typing import Any

import attrs

from impl.partition import FastSharePartition
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    AlterConfig,
    ArchiveAborted,
    CompleteWrite,
    EntryPoint,
    FinishDeadLetter,
    Initialize,
    MarkInProgress,
    Operation,
    Produce,
    ProgressBatch,
    Release,
    ResetOffset,
    SkipAcquire,
)
from model.outcome import Answer, Choice
from model.profile import Profile
from model.ranges import OffsetRange
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState
from model.trace import TraceEvent
from model.trace_codec import row_from_event

CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=12,
    record_lock_duration_ms=100,
    isolation_level=IsolationLevel.READ_COMMITTED,
    in_progress_staleness_threshold_ms=150,
    in_progress_max_lock_extension_ms=300,
    in_progress_rebalance_grace_ms=40,
)
_ANSWERS = (
    *[ErrorCode.NONE] * 6,
    *[ErrorCode.PENDING] * 3,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)


class Walk:
    """A share-partition that random operations happen to, and the events so far."""

    def __init__(self, partition: FastSharePartition, seed: int, profile: Profile) -> None:
        self.profile = profile
        self.partition = partition
        self.random = random.Random(seed)  # noqa: S311 - a test, no secret
        self.events: list[TraceEvent] = []
        self._clock = 0
        self._batches: list[OffsetRange] = []
        self._log_end = 0
        self._pending: list[int] = []
        self._config = CONFIG
        self._epoch = self._number = 0
        self.apply(Initialize(CONFIG, 0, 0, DurableState(0, 0)))

    def apply(self, operation: Operation, *answers: ErrorCode) -> None:
        """Apply an operation and note the event."""
        seq = len(self.events)
        outcome = self.partition.apply(
            operation, Choice(), tuple(Answer(status) for status in answers), seq
        )
        if outcome.acquisition is not None:
            self._number = outcome.acquisition
        if isinstance(operation, AdvanceTime):
            self._clock += operation.ms
        self._pending += [w.id for w in outcome.writes if w.status is ErrorCode.PENDING]
        after = self.partition.snapshot()
        if self.random.random() < 0.3:
            after = attrs.evolve(after, records=None)
        self.events.append(TraceEvent("g:t:0", seq, self._clock, operation, outcome, after))

    def run(self, steps: int) -> list[TraceEvent]:
        """Take so many random steps; return all events."""
        steps_of = {
            self._produce: 2, self._acquire: 5, self._acknowledge: 7, self._advance_time: 2,
            self._release: 1, self._complete_write: 2, self._rare: 1, self._finish_dead_letter: 1,
            self._alter_config: 1, self._archive_aborted: 1,
            self._mark: 4 if self.profile.in_progress else 0,
        }  # fmt: skip
        for step in self.random.choices(list(steps_of), list(steps_of.values()), k=steps):
            step()
        return self.events

    def rows(self, steps: int) -> list[dict[str, Any]]:
        """Take so many random steps; return all events as rows of a trace file."""
        return [json.loads(json.dumps(row_from_event(event))) for event in self.run(steps)]

    def _answer(self) -> ErrorCode:
        return self.random.choice(_ANSWERS)

    def _member(self) -> str:
        return self.random.choice("abc")

    def _produce(self) -> None:
        batches, at = [], self._log_end
        for _ in range(self.random.randint(0, 3)):
            at += self.random.choice((0, 0, 0, 2))
            batches.append(OffsetRange(at, at + self.random.randint(0, 4)))
            at = batches[-1].last + 1
        self._log_end = at + self.random.choice((0, 0, 1))
        self._batches += batches
        self.apply(Produce(tuple(batches), self._log_end))

    def _acquire(self) -> None:
        state = self.partition.snapshot()
        free = [r.first for r in state.records or () if r.state == 0 and not r.pending]
        full = state.end_offset - state.start_offset >= self._config.partition_max_record_locks
        if full and not free:
            self.apply(SkipAcquire(self._member()))
            return
        fetch = min([*free, state.end_offset])
        if self.random.random() < 0.05:
            # Compaction: what the next read does not see is gone.
            self._batches = [b for b in self._batches if b.first > fetch]
        read = [b for b in self._batches if b.last >= fetch][: self.random.randint(0, 4)]
        read = [b for b in read if b.first <= state.end_offset + 20]
        mode = self.random.choice(list(AcquireMode))
        limit = self.random.randint(0, 6)
        self.apply(Acquire(self._member(), mode, 5, limit, fetch, tuple(read)))

    def _acknowledge(self) -> None:
        state = self.partition.snapshot()
        held = [r for r in state.records or () if r.owner and not r.pending]
        batches = []
        for record in self.random.sample(held, min(len(held), self.random.randint(0, 2))):
            first = self.random.randint(record.first, record.last)
            last = self.random.randint(first, record.last + self.random.choice((0, 0, 0, 2)))
            single = self.random.random() < 0.5
            types = self.random.choices(range(5), k=1 if single else last - first + 1)
            batches.append(AcknowledgementBatch(first, last, tuple(types)))
        if self.random.random() < 0.1:
            batches.append(AcknowledgementBatch(0, self.random.choice((2, 2**60)), (1,)))
        if self.random.random() < 0.7:
            batches.sort(key=lambda b: b.first)
        owner = held[0].owner if held and self.random.random() < 0.5 else None
        entry = self.random.choice(list(EntryPoint))
        self.apply(Acknowledge(owner or self._member(), tuple(batches), entry), self._answer())

    def _advance_time(self) -> None:
        self.apply(AdvanceTime(self.random.choice((0, 1, 30, 99, 100))), self._answer())

    def _release(self) -> None:
        self.apply(Release(self._member()), self._answer())

    def _complete_write(self) -> None:
        if self._pending:
            name = self._pending.pop(self.random.randrange(len(self._pending)))
            status = self.random.choice((ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            self.apply(CompleteWrite(name, status))

    def _mark(self) -> None:
        state = self.partition.snapshot()
        held = [r for r in state.records or () if r.owner and not r.pending]
        batches = []
        for record in self.random.sample(held, min(len(held), self.random.randint(0, 2))):
            first = self.random.randint(record.first, record.last)
            last = self.random.randint(first, record.last + self.random.choice((0, 0, 0, 2)))
            number = self._number - self.random.choice((0, 0, 0, 1, 1, 2))
            batches.append(ProgressBatch(first, last, self._epoch, number))
        if self.random.random() < 0.1:
            batches.append(ProgressBatch(0, self.random.choice((2, 2**60)), self._epoch, -1))
        owner = held[0].owner if held and self.random.random() < 0.7 else None
        self.apply(MarkInProgress(owner or self._member(), tuple(batches)))

    def _finish_dead_letter(self) -> None:
        records = self.partition.snapshot().records or ()
        waiting = [r for r in records if r.state is RecordState.ARCHIVING and not r.pending]
        some = self.random.sample(waiting, self.random.randint(0, len(waiting)))
        self.apply(
            FinishDeadLetter(tuple(OffsetRange(r.first, r.last) for r in some)), self._answer()
        )

    def _archive_aborted(self) -> None:
        if self._config.isolation_level is IsolationLevel.READ_COMMITTED:
            near = self._batches[-8:]
            some = self.random.sample(near, self.random.randint(0, min(2, len(near))))
            self.apply(ArchiveAborted(tuple(some)))

    def _alter_config(self) -> None:
        self._config = attrs.evolve(
            CONFIG,
            delivery_count_limit=self.random.randint(1, 3),
            dead_letter_queue=self.random.random() < 0.5,
            isolation_level=self.random.choice(list(IsolationLevel)),
            renew_acknowledge_enable=self.random.random() < 0.8,
            in_progress_staleness_threshold_ms=self.random.choice((100, 150, 200)),
        )
        self.apply(AlterConfig(self._config))

    def _rare(self) -> None:
        state = self.partition.snapshot()
        kind = self.random.randrange(4)
        if kind == 0:
            log_start = state.start_offset + self.random.randint(0, 3)
            self._log_end = max(self._log_end, log_start)
            self.apply(AdvanceLogStart(log_start))
        elif kind == 1:
            self.apply(ResetOffset(self.random.randint(0, state.end_offset)))
            self._forget_fenced()
        elif kind == 2:
            self._pending.clear()
            self._clock += self.random.choice((0, 50))
            self._epoch += 1
            persisted = attrs.evolve(self.partition.durable(), leader_epoch=self._epoch)
            log_start = min(persisted.start_offset, self._log_end)
            self.apply(Initialize(self._config, log_start, self._log_end, persisted, self._clock))

    def _forget_fenced(self) -> None:
        if self.events[-1].outcome.status is ErrorCode.NONE:
            self._pending.clear()
