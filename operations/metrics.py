"""The metrics of a broker that a trace determines (KIP-932, Metrics), counted event by event."""

from collections.abc import Callable, Iterable, Mapping

import attrs

from model.errors import ErrorCode
from model.operations import (
    Acknowledge,
    AdvanceTime,
    CompleteWrite,
    FinishDeadLetter,
    Initialize,
    Operation,
)
from model.outcome import Outcome
from model.profile import Profile
from model.states import AcknowledgeType
from model.trace import TraceEvent
from operations.walk import TraceTime, walk
from replay.pieces import PartitionRows
from replay.tables import events_of
from replay.verdict import Problem
from spec.partition import SharePartition


@attrs.frozen
class Interval:
    """A time on the trace's clock from ``first_ms`` to ``last_ms``, both inclusive, in ms."""

    first_ms: int = 0
    last_ms: int | None = None

    def has(self, time_ms: int) -> bool:
        """Return whether a time lies in the interval."""
        return self.first_ms <= time_ms and (self.last_ms is None or time_ms <= self.last_ms)


@attrs.define
class Figures:
    """What was counted in an interval; ``began_ms`` and ``ended_ms`` are its first and last event.

    ``width`` is the number of offsets in flight at its end. Latencies in ms.
    """

    partitions: int = 1
    acknowledged: dict[int, int] = attrs.field(factory=dict)
    requests: int = 0
    failed_requests: int = 0
    writes: int = 0
    late_writes: int = 0
    latency_sum: int = 0
    latency_max: int = 0
    timeouts: int = 0
    dead_letters: int = 0
    width: int = 0
    width_max: int = 0
    began_ms: int | None = None
    ended_ms: int | None = None

    def seconds(self) -> float:
        """Return how long the interval is, in seconds."""
        return ((self.ended_ms or 0) - (self.began_ms or 0)) / 1000

    @classmethod
    def together(cls, figures: Iterable["Figures"]) -> "Figures":
        """Return the sum over share-partitions."""
        total = cls(partitions=0)
        for part in figures:
            total._add(part)
        return total

    def _add(self, other: "Figures") -> None:
        for kind, offsets in other.acknowledged.items():
            self.acknowledged[kind] = self.acknowledged.get(kind, 0) + offsets
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("latency_max", "width_max"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        began = [ms for ms in (self.began_ms, other.began_ms) if ms is not None]
        ended = [ms for ms in (self.ended_ms, other.ended_ms) if ms is not None]
        self.began_ms, self.ended_ms = min(began, default=None), max(ended, default=None)


_SUMS = (
    "partitions", "requests", "failed_requests", "writes", "late_writes", "latency_sum",
    "timeouts", "dead_letters", "width",
)  # fmt: skip


class Counter:
    """Counts one share-partition, as recorded or by the specification."""

    def __init__(self, interval: Interval) -> None:
        """Count the events of the interval; those before it must be noted, too."""
        self.figures = Figures()
        self._interval = interval
        self._unanswered: dict[int, Acknowledge] = {}
        self._outstanding: dict[int, int] = {}

    def note(self, event: TraceEvent, outcome: Outcome, width: int) -> None:
        """Count an event with its outcome, after which ``width`` offsets are in flight."""
        within = self._interval.has(event.time_ms)
        figures = self.figures if within else Figures()
        self._count_acknowledgements(event.seq, event.operation, outcome, figures)
        self._count_writes(event, outcome, figures)
        if within:
            figures.width, figures.width_max = width, max(figures.width_max, width)
            figures.ended_ms = event.time_ms
            if figures.began_ms is None:
                figures.began_ms = event.time_ms
        elif event.time_ms < self._interval.first_ms:
            # A gauge keeps its value from before the interval until an event changes it.
            self.figures.width = self.figures.width_max = width

    def _count_acknowledgements(
        self, seq: int, operation: Operation, outcome: Outcome, figures: Figures
    ) -> None:
        if isinstance(operation, Initialize):
            self._unanswered.clear()
            self._outstanding.clear()
        if isinstance(operation, Acknowledge):
            figures.requests += 1
            self._unanswered[seq] = operation
            if outcome.status is not ErrorCode.PENDING:
                self._answer(seq, outcome.status, figures)
        for completion in outcome.completed:
            self._answer(completion.seq, completion.status, figures)

    def _answer(self, seq: int, status: ErrorCode, figures: Figures) -> None:
        operation = self._unanswered.pop(seq, None)
        if operation is None:
            return
        if status is not ErrorCode.NONE:
            figures.failed_requests += 1
            return
        for batch in operation.batches:
            times = batch.last - batch.first + 1 if len(batch.types) == 1 else 1
            for kind in batch.types:
                figures.acknowledged[kind] = figures.acknowledged.get(kind, 0) + times

    def _count_writes(self, event: TraceEvent, outcome: Outcome, figures: Figures) -> None:
        figures.writes += len(outcome.writes)
        for write in outcome.writes:
            if write.status is ErrorCode.PENDING:
                self._outstanding[write.id] = event.time_ms
            offsets = sum(batch.last - batch.first + 1 for batch in write.state_batches)
            if isinstance(event.operation, AdvanceTime):
                figures.timeouts += offsets
            elif isinstance(event.operation, FinishDeadLetter):
                figures.dead_letters += offsets
        if isinstance(event.operation, CompleteWrite):
            took = event.time_ms - self._outstanding.pop(event.operation.id, event.time_ms)
            figures.late_writes += 1
            figures.latency_sum += took
            figures.latency_max = max(figures.latency_max, took)


def pending_locks(before: SharePartition, now: int) -> int:
    """Return how many locks end at ``now`` of records whose write was outstanding ``before``."""
    records = before.window.records
    return sum(
        records[offset].former_deadline is not None
        and before.now < records[offset].former_deadline <= now
        for waiting in before.outstanding.values()
        for offset in waiting.offsets
        if offset in records
    )


@attrs.frozen
class Measured:
    """The figures as recorded and as the specification expects them.

    ``pending_locks``: how many locks ended while the write of their record was outstanding, which
    Kafka counts as timeouts although nothing happens to the record.
    """

    recorded: Figures
    expected: Figures
    pending_locks: int

    @classmethod
    def together(cls, parts: list["Measured"]) -> "Measured":
        """Return the sum over share-partitions."""
        return cls(
            Figures.together(part.recorded for part in parts),
            Figures.together(part.expected for part in parts),
            sum(part.pending_locks for part in parts),
        )


class _Expected:
    """Counts each event by the outcome that the specification expects."""

    def __init__(self, interval: Interval) -> None:
        self.counter = Counter(interval)
        self.pending_locks = 0
        self._interval = interval
        self._before: SharePartition | None = None

    def __call__(self, event: TraceEvent, outcome: Outcome, after: SharePartition) -> None:
        window = after.window
        width = window.end_offset - window.start_offset if window.records else 0
        self.counter.note(event, outcome, width)
        passes = isinstance(event.operation, AdvanceTime) and self._interval.has(event.time_ms)
        if passes and self._before is not None:
            self.pending_locks += pending_locks(self._before, after.now)
        self._before = after


def measured(
    rows: PartitionRows, profile: Profile, interval: Interval
) -> tuple[Measured, Problem | None]:
    """Return the figures of one share-partition, and the problem that makes them incomplete.

    Both are of the same events: those that could be followed.
    """
    end, expected = TraceTime(interval.last_ms), _Expected(interval)
    walked = walk(rows, profile, end, expected)
    recorded = Counter(interval)
    for event in events_of(rows.table.slice(0, walked.events)):
        after = event.after
        width = after.end_offset - after.start_offset if after.records != () else 0
        recorded.note(event, event.outcome, width)
    figures = Measured(recorded.figures, expected.counter.figures, expected.pending_locks)
    return figures, walked.problem


@attrs.frozen
class Metric:
    """A metric: its name in KIP-932 or in Kafka, and its value; None where there is none."""

    name: str
    value: Callable[[Figures], float | None]


def _rate(count: Callable[[Figures], float]) -> Callable[[Figures], float | None]:
    """Return the mean for each second of the interval."""
    return lambda f: count(f) / f.seconds() if f.seconds() > 0 else None


def _of_type(kind: AcknowledgeType) -> Callable[[Figures], int]:
    return lambda f: f.acknowledged.get(kind, 0)


def _all_types(figures: Figures) -> int:
    return sum(figures.acknowledged.values())


def _counted(
    name: str, count: Callable[[Figures], int], total: str = "count"
) -> tuple[Metric, Metric]:
    """Return the two metrics of a meter: the total, and its rate."""
    head, brace, tag = name.partition("{")
    return (
        Metric(f"{head}-{total}{brace}{tag}", count),
        Metric(f"{head}-rate{brace}{tag}", _rate(count)),
    )


METRICS = (
    Metric("num-partitions", lambda f: f.partitions),
    *_counted("share-acknowledgement", _all_types),
    *(
        metric
        for kind in ("accept", "release", "reject", "renew")
        for metric in _counted(
            f"record-acknowledgement{{ack-type={kind}}}", _of_type(AcknowledgeType[kind.upper()])
        )
    ),
    *_counted("write", lambda f: f.writes, "total"),
    Metric("write-latency-avg", lambda f: f.latency_sum / f.late_writes if f.late_writes else None),
    Metric("write-latency-max", lambda f: f.latency_max if f.late_writes else None),
    Metric("AcquisitionLockTimeout count", lambda f: f.timeouts),
    Metric("AcquisitionLockTimeoutPerSec", _rate(lambda f: f.timeouts)),
    Metric("InFlightMessageCount", lambda f: f.width),
    Metric("InFlightMessageCount, highest of a share-partition", lambda f: f.width_max),
    Metric("DeadLetterQueueRecordCount count", lambda f: f.dead_letters),
    Metric("TotalShareAcknowledgementRequests count", lambda f: f.requests),
    Metric("FailedShareAcknowledgementRequests count", lambda f: f.failed_requests),
)
"""The metrics in the order in which they are shown; rates are means over the interval."""

_MEMBERS = "who is a member of a group, and when it rebalances, is not in a trace"
_REAL_TIME = "a trace has the times at which operations took effect, not how long they ran"
_CACHE = "how a broker splits the records in flight into batches is its own choice"

NOT_DETERMINED: Mapping[str, str] = {
    "rebalance-rate, rebalance-count": _MEMBERS,
    "group-count{state}": _MEMBERS,
    "partition-load-time-avg, -max (group coordinator)": _REAL_TIME,
    "partition-load-time-avg, -max (share coordinator)": _REAL_TIME,
    "thread-idle-ratio-min, -avg": _REAL_TIME,
    "FetchLockTimeMs, FetchLockRatio": _REAL_TIME,
    "TopicPartitionsAcquireTimeMs": _REAL_TIME,
    "InFlightBatchCount, InFlightBatchMessageCount": _CACHE,
    "RequestTopicPartitionsFetchRatio": "which operations came in one request is not in a trace",
    "TotalShareFetchRequests, FailedShareFetchRequests": (
        "a trace has the acquisitions of a fetch, not a fetch that found no records"
    ),
    "DeadLetterQueueTotalProduceRequests, -Failed": (
        "a trace has the end of a record's way to the dead-letter queue, not its requests"
    ),
}
"""The metrics of KIP-932 and of Kafka's share groups that no trace determines, and why."""
