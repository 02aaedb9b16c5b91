"""What an implementation chose in a recorded event, as the choice and answers of that event."""

from model.errors import ErrorCode
from model.operations import Acknowledge, Acquire, AdvanceTime, MemberLeaves
from model.outcome import Answer, Choice, Expiry, Write
from model.ranges import OffsetRange, never_delivered
from model.trace import TraceEvent

_REFUSALS = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE})


def recorded_choice(event: TraceEvent) -> Choice:
    """Return the choice that the recorded result and state after the event show."""
    start = event.after.start_offset
    match event.operation:
        case Acquire():
            return _of_acquire(event, event.operation)
        case Acknowledge():
            status = event.outcome.status
            refusal = status if status in _REFUSALS else ErrorCode.NONE
            return Choice(
                start_offset=start, refusal=refusal, deadline_ms=event.outcome.deadline_ms
            )
        case AdvanceTime():
            expired = tuple(_expiry(write) for write in event.outcome.writes)
            return Choice(start_offset=start, expired=expired)
        case MemberLeaves():
            return Choice(start_offset=start, written=bool(event.outcome.writes))
    return Choice(start_offset=start)


def recorded_answers(event: TraceEvent) -> tuple[Answer, ...]:
    """Return how the share coordinator answered each write of the event, in order."""
    return tuple(Answer(write.status, write.id, write.made_after) for write in event.outcome.writes)


def _of_acquire(event: TraceEvent, operation: Acquire) -> Choice:
    return Choice(
        acquired=tuple(OffsetRange(r.first, r.last) for r in event.outcome.acquired),
        entered=_entered(event, operation.log_batches),
        end_offset=event.after.end_offset,
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


def _expiry(write: Write) -> Expiry:
    locks = tuple(OffsetRange(batch.first, batch.last) for batch in write.state_batches)
    return Expiry(locks, write.start_offset)
