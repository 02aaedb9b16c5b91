"""The project's own specification and implementation as cores."""

from collections.abc import Callable, Sequence

import attrs

from conformance.cores.scene import NOTHING, REPLIED
from conformance.cores.target import Capabilities, CoreHello, Reply, Request
from judge.engine import Engine, engines_for
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import (
    Acquire,
    AlterConfig,
    ArchiveAborted,
    Compact,
    FinishDeadLetter,
    Initialize,
    Operation,
    SkipAcquire,
)
from model.outcome import Answer, Choice
from model.profile import profile_named
from model.ranges import OffsetRange
from model.snapshot import SharePartitionSnapshot
from model.states import AcquireMode, RecordState
from model.trace import TraceEvent
from model.trace_codec import operation_from_row, row_from_event
from model.trace_json import object_from_row, row_from_object
from spec.aborted import committed


class EngineTarget:
    """``spec`` or ``impl``, with the choices of this project."""

    def __init__(
        self,
        name: str,
        profile: str = "kip",
        new: Callable[[], Engine] | None = None,
        reported: Callable[[Engine, Operation], Operation] = lambda _engine, operation: operation,
    ) -> None:
        """Use the rules of a profile.

        ``new`` makes another engine than the one of that name, and ``reported`` alters operations
        as that engine does and reports them: faulty implementations are made so.
        """
        self._name, self._profile = name, profile
        self._new = new or (lambda: engines_for((name,), profile_named(profile))[name])
        self._reported = reported
        self._engine = self._new()
        self._config = SharePartitionConfig()
        self._now = 0
        self._log: list[list[int]] = []

    def hello(self) -> CoreHello:
        """Describe the core."""
        can = Capabilities(
            pending_writes=True,
            write_errors=(ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.FENCED_STATE_EPOCH),
            validates_requests=True,
            alter_config=True,
            dead_letter_queue=True,
            aborted_transactions=True,
        )
        return CoreHello(f"sharespec {self._name}", "of this project", self._profile, can)

    def reset(self) -> None:
        """Reset to an empty share-partition."""
        self._engine, self._now, self._log = self._new(), 0, []

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        """Apply one operation."""
        self._follow_log(operation)
        done = self._reported(self._engine, self._operation(operation))
        if operation["op"] == "advance_time":
            self._now += operation["ms"]
        given = tuple(Answer(answer) for answer in answers)
        outcome = self._engine.apply(done, Choice(), given, seq)
        read = self._aborted(operation, done)
        if read:
            self._engine.apply(ArchiveAborted(read), Choice(), (), seq)
            outcome = attrs.evolve(outcome, acquired=committed(outcome.acquired, read))
        event = TraceEvent("-", seq, self._now, done, outcome, self._engine.snapshot())
        fields = object_from_row(row_from_event(event))
        return {key: fields[key] for key in REPLIED if key in fields}

    def close(self) -> None:
        """Do nothing."""

    def _follow_log(self, operation: Request) -> None:
        """Note what was produced, and that compaction took out what a fetch no longer finds."""
        self._log += operation.get("log_batches", ())
        if operation["op"] != "acquire":
            return
        batches = [batch for batch in self._log if batch[1] >= operation["log_start_offset"]]
        gone = [batch for batch in batches if batch not in operation["log"]]
        self._log = [batch for batch in batches if batch in operation["log"]]
        compacted = tuple(OffsetRange(*batch) for batch in gone)
        if compacted:
            start = self._engine.snapshot().start_offset
            self._engine.apply(Compact(compacted), Choice(start_offset=start), (), 0)

    def _operation(self, operation: Request) -> Operation:
        if operation["op"] == "finish_dead_letter":
            return self._finish_dead_letter(operation["nth"])
        if operation["op"] != "acquire":
            self._now = operation.get("time_ms", self._now)
            asked = _decoded(operation, self._now)
            if isinstance(asked, Initialize | AlterConfig):
                self._config = asked.config
            return asked
        seen = self._engine.snapshot()
        offset = fetch_offset_of(seen, operation["log"])
        width = seen.end_offset - seen.start_offset
        if offset == seen.end_offset and width >= self._config.partition_max_record_locks:
            return SkipAcquire(operation["member"])
        read = [OffsetRange(*batch) for batch in operation["log"] if batch[1] >= offset]
        return Acquire(
            operation["member"],
            AcquireMode(operation["acquire_mode"]),
            operation["batch_size"],
            operation["max_fetch_records"],
            offset,
            tuple(read[: operation["max_batches"]]),
        )

    def _aborted(self, asked: Request, done: Operation) -> tuple[OffsetRange, ...]:
        """Return the aborted ranges that a fetch read and must not deliver."""
        level = self._config.isolation_level
        if not isinstance(done, Acquire) or level is IsolationLevel.READ_UNCOMMITTED:
            return ()
        listed = (OffsetRange(*part) for part in asked.get("aborted", ()))
        return tuple(part for part in listed if part in done.log_batches)

    def _finish_dead_letter(self, nth: int) -> Operation:
        """Finish the nth run of durable dead letters; do nothing if there are none."""
        seen = self._engine.snapshot().records or ()
        waiting = [r for r in seen if r.state is RecordState.ARCHIVING and not r.pending]
        chosen = waiting[nth % len(waiting) :][:1] if waiting else []
        return FinishDeadLetter(tuple(OffsetRange(r.first, r.last) for r in chosen))


def fetch_offset_of(seen: SharePartitionSnapshot, log: Sequence[Sequence[int]]) -> int:
    """Return the first offset that a fetch can acquire: available, or in the log and never read."""
    offset = seen.start_offset
    for record in seen.records or ():
        unread = next((max(first, offset) for first, last in log if last >= offset), record.first)
        if unread < record.first:
            return unread
        if record.state is RecordState.AVAILABLE and not record.pending:
            return record.first
        offset = record.last + 1
    return offset


def _decoded(operation: Request, now: int) -> Operation:
    """Check a request as an event at ``now``, and return its operation."""
    result = {"status": operation.get("status", "NONE")}
    known = {k: v for k, v in operation.items() if k not in ("time_ms", "status")}
    event = {"partition": "-", "seq": 0, "time_ms": now}
    plain = {**NOTHING, **known, **event, "result": result}
    return operation_from_row(row_from_object(plain))
