"""Which situations one operation on a share-partition met, in words."""

from collections.abc import Iterator, Sequence

from conformance.cores.transitions import malformed, typed
from model import operations as ops
from model.errors import ErrorCode
from model.states import AcknowledgeType, AcquireMode
from model.trace import TraceEvent
from spec.log import hole_end
from spec.partition import SharePartition
from spec.record import UNDELIVERED, is_acquirable, is_finished, is_held, is_held_by
from spec.window import Window, tracked

__all__ = ["LogBatches", "named", "situations"]

LogBatches = Sequence[Sequence[int]]
"""The log batches that there are, each as [first, last]."""


def situations(
    before: SharePartition, event: TraceEvent, after: SharePartition, log: LogBatches
) -> Iterator[str]:
    """Yield each situation that one operation met, which was as it should be.

    ``log`` are the log batches that there are, as [first, last].
    """
    yield from _asked(before, event, after, log)
    start = after.window.start_offset
    if any(is_finished(record) for o, record in after.window.records.items() if o > start):
        yield "a finished record waits behind one that is not"
    if len(after.outstanding) > 1:
        yield "several writes are outstanding"
    moved = range(before.window.start_offset, start)
    loses = isinstance(event.operation, ops.AdvanceLogStart | ops.Initialize)
    if not loses and any(o not in before.window.records and _is_gap(before, o) for o in moved):
        yield "the start offset passes a gap in the log"


def _asked(  # noqa: C901 - one a kind
    before: SharePartition, event: TraceEvent, after: SharePartition, log: LogBatches
) -> Iterator[str]:
    match event.operation:
        case ops.SkipAcquire():
            yield "a fetch finds the window full and nothing available"
        case ops.Acquire() if not event.operation.log_batches:
            yield "a fetch reads no log batch"
        case ops.Acquire():
            yield from _read_over(before.window, event.operation)
            yield from _stopped(before, event, event.operation, after)
            yield from _taken(before, event, after)
        case ops.Acknowledge():
            yield from _acknowledged(before, event, event.operation)
        case ops.Release(member):
            if not any(is_held_by(r, member) for r in before.window.records.values()):
                yield "a member leaves that holds nothing"
        case ops.AdvanceTime():
            yield from _time_passed(before.window, before.now, after.now)
        case ops.CompleteWrite(id_, status):
            yield from _answered(before, id_, status)
        case ops.AdvanceLogStart(start):
            yield from _log_start_moved(before, start, log)
        case ops.Initialize() if before.ready:
            yield from _led(before, event.operation, after)
        case ops.AlterConfig():
            yield from _altered(before, event.operation)


def _is_gap(partition: SharePartition, offset: int) -> bool:
    return hole_end(partition.log, offset) is not None


def _stopped(
    before: SharePartition, event: TraceEvent, asked: ops.Acquire, after: SharePartition
) -> Iterator[str]:
    """Yield what ended the taking of records."""
    window, limit = after.window, before.config.partition_max_record_locks
    taken, most = _offsets(event), asked.max_fetch_records
    last = asked.log_batches[-1].last
    strict = asked.acquire_mode is AcquireMode.RECORD_LIMIT
    if strict and len(taken) == most and last > max(taken, default=-1):
        yield "a fetch is stopped by its maximum of records"
    if not strict and len(taken) > most:
        yield "a fetch goes past its maximum of records, to the end of a log batch"
    if len(taken) < most and last >= window.end_offset:
        yield "a fetch is stopped by the limit of the window"
    if window.end_offset > max(before.window.end_offset, window.start_offset + limit):
        yield "a fetch goes past the limit of the window, to the end of a log batch"


def _taken(before: SharePartition, event: TraceEvent, after: SharePartition) -> Iterator[str]:
    """Yield what was special about the records that were taken."""
    window, config, taken = before.window, before.config, _offsets(event)
    old = [offset for offset in taken if offset < window.end_offset]
    if old and window.end_offset - window.start_offset >= config.partition_max_record_locks:
        yield "a fetch takes what is available again in a full window"
    if any(offset not in window.records for offset in old):
        yield "a fetch takes a record that a new leader does not know"
    if any(_is_gap(after, offset + 1) for offset in taken[:-1]):
        yield "a fetch takes records on both sides of a gap in the log"
    records = after.window.records.items()
    if any(r == UNDELIVERED and o not in window.records for o, r in records):
        yield "records enter the window without being acquired"
    if any(r.delivery_count == config.delivery_count_limit for r in event.outcome.acquired):
        yield "a record is delivered for the last time"


def _offsets(event: TraceEvent) -> list[int]:
    return sorted(o for r in event.outcome.acquired for o in range(r.first, r.last + 1))


def _read_over(window: Window, asked: ops.Acquire) -> Iterator[str]:
    read = [
        window.records[offset]
        for batch in asked.log_batches
        for offset in tracked(window, batch.first, batch.last + 1)
    ]
    if any(is_held(record) for record in read):
        yield "a fetch reads over records that are held"
    if any(record.pending for record in read):
        yield "a fetch reads over records whose write is outstanding"
    if any(is_finished(record) for record in read):
        yield "a fetch reads over records that are finished"
    if asked.log_batches[0].first < window.start_offset:
        yield "a fetch reads a log batch that begins below the start offset"


def _acknowledged(
    before: SharePartition, event: TraceEvent, asked: ops.Acknowledge
) -> Iterator[str]:
    kinds = [kind for batch in asked.batches if (kind := malformed(batch))]
    if kinds:
        yield f"a malformed acknowledgement: {kinds[0]}"
        return
    for batch in asked.batches:
        yield from named(before.window, batch, asked.member)
    if len(asked.batches) > 1:
        yield "an acknowledgement of several batches"
        ordered = asked.batches[0].first >= before.window.start_offset and all(
            (record := before.window.records.get(offset)) and is_held_by(record, asked.member)
            for offset, _type in typed(asked.batches[0])
        )
        refused = event.outcome.status is not ErrorCode.NONE and not event.outcome.writes
        if ordered and refused:
            yield "an acknowledgement refused after batches that were in order"
    yield from _renewed(before, asked)


def _renewed(before: SharePartition, asked: ops.Acknowledge) -> Iterator[str]:
    types = {type_ for batch in asked.batches for type_ in batch.types}
    named = (offset for batch in asked.batches for offset, _type in typed(batch))
    held = [before.window.records[offset] for offset in named if offset in before.window.held]
    if AcknowledgeType.RENEW in types:
        full = before.now + before.config.record_lock_duration_ms
        if any(record.deadline < full for record in held):
            yield "a renewal after part of the lock's duration"
        if not before.config.renew_acknowledge_enable:
            yield "a renewal where renewals are switched off"
        if len(types) > 1:
            yield "a renewal together with other types"


def named(window: Window, batch: ops.AcknowledgementBatch, member: str) -> Iterator[str]:
    """Yield what is special about the offsets that a member's acknowledgement names."""
    if batch.last < window.start_offset:
        yield "an acknowledgement wholly below the start offset"
        return
    if batch.first < window.start_offset:
        yield "an acknowledgement across the start offset"
    if batch.last >= window.end_offset:
        yield "an acknowledgement past the end offset"
    if len(batch.types) > 1:
        yield "an acknowledgement with a type for each offset"
    inside = range(max(batch.first, window.start_offset), min(batch.last + 1, window.end_offset))
    if any(offset not in window.records for offset in inside):
        yield "an acknowledgement of an offset in the window that was never in flight"
    records = [window.records[offset] for offset in inside if offset in window.records]
    found = {
        "that another member holds": any(is_held(r) and r.owner != member for r in records),
        "that is available": any(is_acquirable(r) for r in records),
        "that is finished": any(is_finished(r) for r in records),
        "whose write is outstanding": any(r.pending for r in records),
    }
    yield from (f"an acknowledgement of a record {what}" for what, there in found.items() if there)


def _time_passed(window: Window, earlier: int, now: int) -> Iterator[str]:
    held = [window.records[offset] for offset in window.held]
    due = [record for record in held if record.deadline <= now]
    if len(due) < len(held):
        yield "time passes while a lock that is not due is held"
        if due:
            yield "some locks expire, and others stay"
    if len({record.owner for record in due}) > 1:
        yield "locks of several members expire together"
    if any(
        r.pending and _between(earlier, r.former_deadline, now) for r in window.records.values()
    ):
        yield "a lock would expire whose write is outstanding"


def _between(earlier: int, deadline: int | None, now: int) -> bool:
    return deadline is not None and earlier < deadline <= now


def _answered(before: SharePartition, id_: int, status: ErrorCode) -> Iterator[str]:
    if id_ != min(before.outstanding):
        yield "a later write is answered before an earlier one"
    window, offsets = before.window, before.outstanding[id_].offsets
    if any(offset < window.start_offset for offset in offsets):
        yield "a write is answered after the log start offset passed its records"
    deadlines = [window.records[o].former_deadline for o in offsets if o in window.records]
    if any(_between(-1, deadline, before.now) for deadline in deadlines):
        yield "a write is answered after its lock would have expired"
        if status is not ErrorCode.NONE:
            yield "a write fails after its lock would have expired"


def _log_start_moved(before: SharePartition, start: int, log: LogBatches) -> Iterator[str]:
    window = before.window
    if before.log.start_offset < start <= window.start_offset:
        yield "the log start offset moves, below the start offset"
    if start <= window.start_offset:
        return
    if any(first < start <= last for first, last in log):
        yield "the log start offset moves into a log batch"
    if {start - 1, start} <= set(window.held):
        lost, kept = window.records[start - 1], window.records[start]
        if lost.owner == kept.owner:
            yield "the log start offset moves into records that one member holds"
    if start > window.end_offset:
        yield "the log start offset moves past the window"


def _led(before: SharePartition, asked: ops.Initialize, after: SharePartition) -> Iterator[str]:
    if before.window.held:
        yield "a new leader while records are held"
    if before.outstanding:
        yield "a new leader while a write is outstanding"
    window = after.window
    if len(window.records) < window.end_offset - window.start_offset:
        yield "a new leader finds records that it does not know between those it does"
    if asked.persisted.start_offset < asked.log_start_offset:
        yield "a new leader finds the durable start offset below the log"


def _altered(before: SharePartition, asked: ops.AlterConfig) -> Iterator[str]:
    window, old, new = before.window, before.config, asked.config
    counts = [r.delivery_count for r in window.records.values() if not is_finished(r)]
    if any(new.delivery_count_limit <= c < old.delivery_count_limit for c in counts):
        yield "the delivery count limit falls to the count of a record or below"
    width = window.end_offset - window.start_offset
    if new.partition_max_record_locks < min(width, old.partition_max_record_locks):
        yield "the limit of the window falls below its width"
    if window.held and new.record_lock_duration_ms != old.record_lock_duration_ms:
        yield "the lock duration is altered while records are held"
