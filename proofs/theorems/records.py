"""What may be asked of a record, in its fields."""

from model.states import RecordState
from proofs.theorems.symbolic import conjunction, implies
from spec.logic import Term, absent, negate
from spec.record import Record


def is_whole(record: Record) -> Term:
    """Whether a record has an owner and a deadline if it is held, and none otherwise."""
    held = has_held_state(record)
    return conjunction(
        negate(absent(record.owner)) == held,
        negate(absent(record.deadline)) == held,
        negate(conjunction(held, record.pending)),
        implies(record.state == RecordState.IN_PROGRESS, negate(absent(record.last_progress))),
    )


def has_held_state(record: Record) -> Term:
    """Whether the record is ACQUIRED or IN_PROGRESS."""
    return (record.state == RecordState.ACQUIRED) | (record.state == RecordState.IN_PROGRESS)


def is_owned_by(record: Record, member: Term) -> Term:
    """Whether the member holds the record."""
    return conjunction(has_held_state(record), negate(record.pending), record.owner == member)


def is_complete(record: Record) -> Term:
    """Whether the delivery of the record is complete."""
    return (record.state == RecordState.ACKNOWLEDGED) | (record.state == RecordState.ARCHIVED)


def is_fresh(record: Record, now: Term, threshold: Term) -> Term:
    """Whether the record is in progress, and was seen to be for less than the threshold."""
    last = record.last_progress
    fresh = False if last is None else now < last + threshold
    return conjunction(record.state == RecordState.IN_PROGRESS, fresh)
