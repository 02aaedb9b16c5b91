"""Which transitions the records of a share-partition made in one operation, in words."""

from collections.abc import Iterable, Iterator

from conformance.cores.universe import GONE, ITS_TRANSACTION, NEW
from model import operations as ops
from model.errors import ErrorCode
from model.states import AcknowledgeType, RecordState
from model.trace import TraceEvent
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record
from spec.window import Window, tracked

__all__ = ["Moved", "malformed", "moved", "typed"]

Moved = tuple[str, str, str]
"""A record's state before, the cause, and its state after."""


def _label(record: Record | None) -> str:
    if record is None or record == UNDELIVERED:
        return NEW
    return RecordState(record.state).name + (" pending" if record.pending else "")


def moved(before: SharePartition, event: TraceEvent, after: SharePartition) -> Iterator[Moved]:
    """Yield each transition of a record in one operation, which was as it should be."""
    match event.operation:
        case ops.Initialize():
            yield from _taken_over(before, after)
            return
        case ops.Acquire():
            yield from _acquired(before.window, event, after.window)
        case ops.Acknowledge() | ops.Release():
            yield from _ended(before.window, event, after.window)
        case ops.AdvanceTime():
            yield from _finished(before.window, event, after.window, "its lock expires")
        case ops.FinishDeadLetter():
            yield from _finished(
                before.window, event, after.window, "the dead-letter queue is done"
            )
        case ops.ArchiveAborted():
            yield from _kept_back(before.window, after.window)
        case ops.CompleteWrite(id_, status):
            offsets = before.outstanding[id_].offsets
            yield from _settled(before.window, offsets, status, after.window)
    yield from _passed(before.window, event, after.window)


def _taken_over(before: SharePartition, after: SharePartition) -> Iterator[Moved]:
    for offset, record in before.window.records.items():
        known = after.window.records.get(offset)
        if offset >= after.window.start_offset:
            yield _label(record), "a new leader reads", _label(known)


def _acquired(before: Window, event: TraceEvent, after: Window) -> Iterator[Moved]:
    taken = {o for r in event.outcome.acquired for o in range(r.first, r.last + 1)}
    for offset in taken:
        yield _label(before.records.get(offset)), "acquire", "ACQUIRED"
    for offset, record in before.records.items():
        if offset in taken or record.state != RecordState.AVAILABLE:
            continue
        now = after.records.get(offset)
        if now is None or now.state == RecordState.ARCHIVED:
            ended = "ARCHIVED pending" if record.pending else "ARCHIVED"
            yield _label(record), "the log has lost it", ended


def _kept_back(before: Window, after: Window) -> Iterator[Moved]:
    for offset in before.held:
        if offset not in after.held:
            yield "ACQUIRED", ITS_TRANSACTION, "ARCHIVED"


def _ended(before: Window, event: TraceEvent, after: Window) -> Iterator[Moved]:
    causes = _causes(event)
    for write in event.outcome.writes:
        offsets = []
        for batch in write.state_batches:
            for offset in range(max(batch.first, before.start_offset), batch.last + 1):
                offsets.append(offset)
                cause = causes.get(offset, "its holder leaves")
                yield "ACQUIRED", cause, f"{batch.state.name} pending"
                if write.status not in (ErrorCode.PENDING, ErrorCode.NONE):
                    yield f"{batch.state.name} pending", "its write fails", "ACQUIRED"
                elif write.status is ErrorCode.NONE:
                    yield f"{batch.state.name} pending", "its write succeeds", batch.state.name
    if event.outcome.writes or event.outcome.status is ErrorCode.NONE:
        for offset, cause in causes.items():
            if cause == "renew" and offset in after.held:
                yield "ACQUIRED", "renew", "ACQUIRED"


def _causes(event: TraceEvent) -> dict[int, str]:
    """Return what is said of each offset; of what is said of one twice, the last."""
    if not isinstance(event.operation, ops.Acknowledge):
        return {}
    return {
        offset: AcknowledgeType(type_).name.lower()
        for batch in event.operation.batches
        for offset, type_ in typed(batch)
    }


def _finished(before: Window, event: TraceEvent, after: Window, cause: str) -> Iterator[Moved]:
    for write in event.outcome.writes:
        for batch in write.state_batches:
            for offset in range(batch.first, batch.last + 1):
                if offset in before.records and offset >= after.start_offset:
                    yield _label(before.records[offset]), cause, _label(after.records[offset])
                elif offset in before.records:
                    yield _label(before.records[offset]), cause, batch.state.name


def _settled(
    before: Window, offsets: Iterable[int], status: ErrorCode, after: Window
) -> Iterator[Moved]:
    cause = "its write succeeds" if status is ErrorCode.NONE else "its write fails"
    for offset in offsets:
        if offset in before.records:
            now = after.records.get(offset)
            # A record that the start offset passes at once was finished.
            ended = RecordState.ARCHIVED if cause == "its write fails" else None
            name = RecordState(before.records[offset].state if ended is None else ended).name
            yield _label(before.records[offset]), cause, name if now is None else _label(now)


def _passed(before: Window, event: TraceEvent, after: Window) -> Iterator[Moved]:
    operation, below = event.operation, before.start_offset
    if isinstance(operation, ops.AdvanceLogStart):
        below = max(below, operation.log_start_offset)
        for offset in tracked(before, before.start_offset, below):
            if (state := _label(before.records[offset])) != NEW:
                yield state, "the log start offset passes", GONE
    written = {
        offset: batch.state.name
        for write in event.outcome.writes
        for batch in write.state_batches
        for offset in range(batch.first, batch.last + 1)
    }
    for offset in range(below, after.start_offset):
        record = before.records.get(offset)
        if record is not None or offset in written:
            state = written.get(offset) or _label(record).removesuffix(" pending")
            if state not in ("ACKNOWLEDGED", "ARCHIVED"):
                state = "ARCHIVED"  # It was archived in this operation: the log had lost it.
            yield state, "the start offset passes", GONE


def typed(batch: ops.AcknowledgementBatch) -> Iterator[tuple[int, int]]:
    """Yield each offset of a batch with the acknowledge type for it; none if it is malformed."""
    if malformed(batch):
        return
    for offset in range(batch.first, batch.last + 1):
        yield offset, batch.types[0 if len(batch.types) == 1 else offset - batch.first]


def malformed(batch: ops.AcknowledgementBatch) -> str:
    """Return what is wrong with a batch by itself; empty if nothing is."""
    if batch.first < 0:
        return "a negative offset"
    if batch.last < batch.first:
        return "its range ends before it begins"
    if not batch.types:
        return "no types"
    if len(batch.types) not in (1, batch.last - batch.first + 1):
        return "too few or too many types"
    there_is = all(0 <= type_ < len(AcknowledgeType) for type_ in batch.types)
    return "" if there_is else "a type that there is not"
