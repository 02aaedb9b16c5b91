"""What an implementation chose in a recorded event, as the choice and answers of that event."""

from operator import attrgetter

import attrs

from model import operations as ops
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Expiry, Write
from model.ranges import AcquiredRange, OffsetRange, never_delivered
from model.states import RecordState
from model.trace import TraceEvent

_REFUSALS = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE})


def recorded_choice(event: TraceEvent) -> Choice:
    """Return the choice that the recorded result and state after the event show."""
    start = event.after.start_offset
    match event.operation:
        case ops.Acquire():
            return _of_acquire(event, event.operation)
        case ops.Acknowledge():
            status = event.outcome.status
            refusal = status if status in _REFUSALS else ErrorCode.NONE
            return Choice(
                start_offset=start, refusal=refusal, deadline_ms=event.outcome.deadline_ms
            )
        case ops.AdvanceTime():
            expired = tuple(_expiry(write) for write in event.outcome.writes)
            return Choice(start_offset=start, expired=expired, paused_ms=event.paused_ms)
        case ops.ArchiveAborted() | ops.Compact():
            return Choice(start_offset=start, archived=_archived(event))
        case ops.MemberLeaves():
            # One that is answered otherwise is not the release's.
            answers = [write.status for write in event.outcome.writes[:1]]
            return Choice(start_offset=start, written=answers == [event.outcome.status])
    begun = isinstance(event.operation, ops.Initialize) and event.outcome.status is ErrorCode.NONE
    completed = next((each.seq for each in event.outcome.completed), None)
    return Choice(
        start_offset=start, refusal=ErrorCode.NONE if begun else None, completed=completed
    )


def recorded_answers(event: TraceEvent) -> tuple[Answer, ...]:
    """Return how the share coordinator answered each write of the event, in order."""
    return tuple(
        Answer(write.status, write.id, write.made_after, _sorted(write), _keeps_back(event, write))
        for write in event.outcome.writes
    )


def _sorted(write: Write) -> Write:
    """Return a write with its state batches in the order of their offsets: any is recorded."""
    batches = tuple(sorted(write.state_batches, key=attrgetter("first")))
    return write if batches == write.state_batches else attrs.evolve(write, state_batches=batches)


def _keeps_back(event: TraceEvent, write: Write) -> bool:
    """Return whether the records of a write that undoes nothing are kept back until its answer."""
    if write.status is not ErrorCode.PENDING:
        return False
    match event.operation:
        case ops.FinishDeadLetter(ranges):
            changed = [(part.first, part.last) for part in ranges]
        case ops.AdvanceTime() | ops.Expire():
            changed = [(batch.first, batch.last) for batch in write.state_batches]
            if write.made_after in {None, event.seq}:  # It needs no batches of what it finishes.
                # Below the start offset are records that another write keeps back.
                changed.append((event.after.start_offset, write.start_offset - 1))
        case _:
            return False
    return any(
        record.pending and record.first <= last and first <= record.last
        for record in event.after.records or ()
        for first, last in changed
    )


def _of_acquire(event: TraceEvent, operation: ops.Acquire) -> Choice:
    return Choice(
        acquired=tuple(OffsetRange(r.first, r.last) for r in event.outcome.acquired),
        entered=_entered(event, operation.log_batches),
        end_offset=event.after.end_offset,
        archived=_archived(event),
        start_offset=event.after.start_offset,
        deadline_ms=event.outcome.deadline_ms,
    )


def _entered(
    event: TraceEvent, log_batches: tuple[OffsetRange, ...]
) -> tuple[OffsetRange, ...] | None:
    """Return the records never delivered among those read; None where no record was recorded."""
    if event.after.records is None:
        return None
    if not log_batches:
        return ()
    low, high = log_batches[0].first, log_batches[-1].last
    return tuple(
        OffsetRange(max(record.first, low), min(record.last, high))
        for record in event.after.records
        if never_delivered(record) and record.last >= low and record.first <= high
    )


def _archived(event: TraceEvent) -> tuple[AcquiredRange, ...] | None:
    """Return what is ARCHIVED after the event; None where no record was recorded."""
    if event.after.records is None:
        return None
    return tuple(
        AcquiredRange(record.first, record.last, record.delivery_count)
        for record in event.after.records
        if record.state is RecordState.ARCHIVED
    )


def _expiry(write: Write) -> Expiry:
    locks = tuple(OffsetRange(batch.first, batch.last) for batch in write.state_batches)
    return Expiry(locks, write.start_offset)
