"""The rules for one record: when each transition may happen and what it does.

These functions are the only place where a record changes. The specification runs them, and the
proofs call the same functions with Z3 terms; see ``spec.logic`` for the words they are written in.
Times are in ms on the share-partition leader's clock.
"""

import attrs

from model.states import AcknowledgeType, RecordState
from spec.logic import Term, absent, either, negate

__all__ = [
    "UNDELIVERED",
    "Record",
    "acknowledge",
    "acquire",
    "can_vanish",
    "commit",
    "durable_maximum",
    "expire",
    "is_acquirable",
    "is_finished",
    "is_held",
    "is_held_by",
    "is_lock_over",
    "is_terminal",
    "recover",
    "release",
    "renew",
    "roll_back",
    "vanish",
]

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


@attrs.frozen
class Record:
    """A record in flight (KIP-932, In-flight records). Fields hold values, or terms in a proof.

    ``owner`` and ``deadline``: who holds the acquisition lock and until when (ms); absent when not
    acquired. ``pending``: the state was written and the answer is outstanding. While it is,
    ``former_owner`` and ``former_deadline`` are what a failed write restores, and ``exhausted``
    says whether the delivery count had reached its limit when the transition began.
    """

    state: Term
    delivery_count: Term
    owner: Term = None
    deadline: Term = None
    pending: Term = False
    former_owner: Term = None
    former_deadline: Term = None
    exhausted: Term = False


UNDELIVERED = Record(AVAILABLE, 0)
"""A record that no consumer was ever given: all records after the window are like this."""


def is_terminal(record: Record) -> Term:
    """Whether the delivery is complete: ACKNOWLEDGED or ARCHIVED (KIP-1226)."""
    return (record.state == ACKNOWLEDGED) | (record.state == ARCHIVED)


def is_finished(record: Record) -> Term:
    """Whether the start offset may pass the record: terminal, and its write not outstanding."""
    return is_terminal(record) & negate(record.pending)


def is_acquirable(record: Record) -> Term:
    """Whether a fetch may take the record: AVAILABLE, with no write of its state outstanding."""
    return (record.state == AVAILABLE) & negate(record.pending)


def is_held(record: Record) -> Term:
    """Whether an acquisition lock is on the record."""
    return (record.state == ACQUIRED) & negate(record.pending)


def is_held_by(record: Record, member: Term) -> Term:
    """Whether this member holds the acquisition lock; only then may it acknowledge."""
    return is_held(record) & (record.owner == member)


def is_lock_over(record: Record, now: Term) -> Term:
    """Whether an acquisition lock is on the record and its duration has elapsed."""
    if record.deadline is None:
        return False
    return is_held(record) & (record.deadline <= now)


def acquire(record: Record, member: Term, deadline: Term) -> Record:
    """Give the record to a member (KIP-932, In-flight records).

    Guard: ``is_acquirable``.
    Effect: ACQUIRED, owned by the member until the deadline.
    Delivery count: one more.
    Persistence: none; an acquisition is never durable.
    """
    return Record(ACQUIRED, record.delivery_count + 1, member, deadline)


def acknowledge(record: Record, kind: Term, limit: Term) -> Record:
    """End the delivery as its consumer says (KIP-932, ShareAcknowledge).

    Guard: ``is_held_by`` the member that acknowledges. ``kind`` is not RENEW.
    Effect: ACCEPT: ACKNOWLEDGED; REJECT and GAP: ARCHIVED; RELEASE: as in ``release``. Nobody owns
    the record; it is pending until the write is answered.
    Delivery count: unchanged.
    Persistence: the new state and the delivery count are written.
    """
    state = either(
        kind == AcknowledgeType.ACCEPT,
        ACKNOWLEDGED,
        either(kind == AcknowledgeType.RELEASE, _after_attempt(record, limit), ARCHIVED),
    )
    return _begin(record, state, limit)


def release(record: Record, limit: Term) -> Record:
    """End the delivery without success: a consumer releases the record or leaves (KIP-932).

    Guard: ``is_held_by`` the member.
    Effect: AVAILABLE, or ARCHIVED if the delivery count has reached the limit. Nobody owns the
    record; it is pending until the write is answered.
    Delivery count: unchanged: the attempt is not given back.
    Persistence: the new state and the delivery count are written.
    """
    return _begin(record, _after_attempt(record, limit), limit)


def renew(record: Record, deadline: Term) -> Record:
    """Extend the acquisition lock (KIP-1222).

    Guard: ``is_held_by`` the member, and renewal is enabled.
    Effect: the lock lasts until the new deadline.
    Delivery count: unchanged.
    Persistence: none.
    """
    return Record(record.state, record.delivery_count, record.owner, deadline)


def expire(record: Record, limit: Term) -> Record:
    """End the delivery because its acquisition lock elapsed (KIP-932, In-flight records).

    Guard: ``is_lock_over``.
    Effect: AVAILABLE, or ARCHIVED if the delivery count has reached the limit; at once, whatever
    becomes of the write.
    Delivery count: unchanged.
    Persistence: the new state and the delivery count are written.
    """
    return Record(_after_attempt(record, limit), record.delivery_count)


def can_vanish(record: Record) -> Term:
    """Whether the record is archived when the log no longer has it: nobody is at work on it."""
    return record.state == AVAILABLE


def vanish(record: Record) -> Record:
    """Archive a record which the log no longer has (compaction; Kafka: stale batches).

    Guard: ``can_vanish``: AVAILABLE, pending or not.
    Effect: ARCHIVED, also if the write that made it available fails.
    Delivery count: unchanged.
    Persistence: none.
    """
    return Record(ARCHIVED, record.delivery_count, pending=record.pending)


def commit(record: Record) -> Record:
    """Make a pending state final: its write succeeded (KIP-932, durable state).

    Guard: pending.
    Effect: no longer pending.
    Delivery count: unchanged.
    Persistence: none; the coordinator has it.
    """
    return Record(record.state, record.delivery_count)


def roll_back(record: Record, now: Term) -> Record:
    """Undo a pending state: its write failed (Kafka: ``InFlightState.completeStateTransition``).

    Guard: pending.
    Effect: ACQUIRED by the former owner until the former deadline; if that has passed, as in
    ``expire``. A record that vanished meanwhile stays ARCHIVED.
    Delivery count: unchanged.
    Persistence: none.
    """
    count = record.delivery_count
    restored = Record(ACQUIRED, count, record.former_owner, record.former_deadline)
    over = Record(either(record.exhausted, ARCHIVED, AVAILABLE), count)
    gone = absent(record.former_owner)
    if gone is True:
        return commit(record)
    held_again = either(record.former_deadline > now, restored, over)
    return either(gone, commit(record), held_again)  # type: ignore[no-any-return] # of two records


def recover(state: Term, count: Term) -> Record:
    """Return the record as a new leader finds it in the durable state (KIP-932).

    Guard: the state is one that is written: not ACQUIRED.
    Effect: nobody owns it and no write is outstanding.
    Delivery count: as last durable.
    Persistence: none.
    """
    return Record(state, count)


def durable_maximum(
    state: Term, count: Term, other_state: Term, other_count: Term
) -> tuple[Term, Term]:
    """Return the (state, delivery count) that survives when two are known of one record.

    The higher delivery count wins, then the higher state id (Kafka: PersisterStateBatchCombiner).
    """
    larger = (count > other_count) | ((count == other_count) & (state >= other_state))
    return either(larger, state, other_state), either(larger, count, other_count)


def _after_attempt(record: Record, limit: Term) -> Term:
    return either(record.delivery_count >= limit, ARCHIVED, AVAILABLE)


def _begin(record: Record, state: Term, limit: Term) -> Record:
    return Record(
        state,
        record.delivery_count,
        pending=True,
        former_owner=record.owner,
        former_deadline=record.deadline,
        exhausted=record.delivery_count >= limit,
    )
