"""Which records are in flight, since when each is held, and which show no progress.

The queries of the draft of an IN_PROGRESS state (DescribeShareGroupInFlight), over the state of any
share-partition under any profile.
"""

from collections.abc import Iterator, Mapping

import attrs

from model.config import SharePartitionConfig
from model.operations import Acknowledge, Acquire, Initialize
from model.outcome import Outcome
from model.ranges import join_neighbours
from model.states import AcknowledgeType, RecordState
from model.trace import TraceEvent
from spec.partition import SharePartition
from spec.record import is_held, is_held_by
from spec.window import tracked


@attrs.frozen
class Hold:
    """A delivery: when it began, and when its consumer last showed progress; in ms."""

    acquired_ms: int
    progress_ms: int


class Holds:
    """The deliveries of a share-partition, collected while ``operations.walk`` follows it.

    ``of`` maps an offset to the last delivery of its record. Acquisitions and renewals count as
    progress; the specification keeps only their deadlines. Marks it keeps itself.
    """

    def __init__(self) -> None:
        """Start with no delivery."""
        self.of: dict[int, Hold] = {}

    def __call__(self, event: TraceEvent, outcome: Outcome, after: SharePartition) -> None:
        """Update the deliveries after an event."""
        now = after.now
        if isinstance(event.operation, Initialize):
            self.of.clear()
        elif isinstance(event.operation, Acquire):
            for acquired in outcome.acquired:
                for offset in range(acquired.first, acquired.last + 1):
                    self.of[offset] = Hold(now, now)
            self._forget_below(after.window.start_offset)
        elif isinstance(event.operation, Acknowledge):
            for offset in _renewed(event.operation, after):
                self.of[offset] = Hold(self.of[offset].acquired_ms, now)

    def _forget_below(self, start: int) -> None:
        for offset in [offset for offset in self.of if offset < start]:
            del self.of[offset]


@attrs.frozen
class Query:
    """What to show; None: everything. Times in ms, as lower bounds (exclusive).

    ``progress_stale_longer_than_ms`` also makes a record stale; without it, the group's staleness
    threshold (inclusive) does.
    """

    held_longer_than_ms: int | None = None
    progress_stale_longer_than_ms: int | None = None
    only_state: RecordState | None = None


@attrs.frozen
class InFlight:
    """Offsets from ``first`` to ``last`` (inclusive) with equal values.

    ``held_ms`` and ``progress_age_ms``: the time since the delivery began and since it showed
    progress; None where nobody holds the records. ``stale``: their consumer seems stuck.
    """

    first: int
    last: int
    state: RecordState
    pending: bool
    delivery_count: int
    member: str | None
    held_ms: int | None
    progress_age_ms: int | None
    stale: bool


def in_flight(partition: SharePartition, holds: Mapping[int, Hold], query: Query) -> list[InFlight]:
    """Return the records between start and end offset that the query asks for, ascending.

    Ages are those at the share-partition's clock. ``holds`` has the delivery of each held
    record, as ``Holds`` collects them.
    """
    window = partition.window
    offsets = tracked(window, window.start_offset, window.end_offset)
    records = (_record(offset, partition, holds, query) for offset in offsets)
    wanted = (record for record in records if _is_wanted(record, query))
    alike = join_neighbours((r.first, r.last, attrs.astuple(r)[2:]) for r in wanted)
    return [InFlight(first, last, *values) for first, last, values in alike]


def _record(
    offset: int, partition: SharePartition, holds: Mapping[int, Hold], query: Query
) -> InFlight:
    record, held, progress = partition.window.records[offset], None, None
    if is_held(record):
        held = partition.now - holds[offset].acquired_ms
        last = record.last_progress
        progress = partition.now - (holds[offset].progress_ms if last is None else last)
    return InFlight(
        offset,
        offset,
        RecordState(record.state),
        record.pending,
        record.delivery_count,
        record.owner,
        held,
        progress,
        progress is not None and _is_stale(progress, partition.config, query),
    )


def _is_stale(age: int, config: SharePartitionConfig, query: Query) -> bool:
    limit = query.progress_stale_longer_than_ms
    return age >= config.in_progress_staleness_threshold_ms if limit is None else age > limit


def _is_wanted(record: InFlight, query: Query) -> bool:
    if query.only_state not in (None, record.state):
        return False
    least = query.held_longer_than_ms
    if least is not None and (record.held_ms is None or record.held_ms <= least):
        return False
    return query.progress_stale_longer_than_ms is None or record.stale


def _renewed(operation: Acknowledge, after: SharePartition) -> Iterator[int]:
    """Yield the offsets to renew whose lock lasts as long as one renewed now."""
    deadline = after.now + after.config.record_lock_duration_ms
    for batch in operation.batches:
        for offset in tracked(after.window, batch.first, batch.last + 1):
            kind = batch.types[0 if len(batch.types) == 1 else offset - batch.first]
            record = after.window.records[offset]
            renewed = kind == AcknowledgeType.RENEW and record.deadline == deadline
            if renewed and is_held_by(record, operation.member):
                yield offset
