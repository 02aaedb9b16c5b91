"""The rules for one record: when each transition may happen and what it does.

These functions are the only place where a record changes. The proofs call them with Z3 terms; see
``spec.logic`` for the words they are written in. Times are in ms on the leader's clock.
"""

import attrs

from model.states import AcknowledgeType, RecordState
from spec.logic import Term, absent, by_case, either, negate

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
ARCHIVING, IN_PROGRESS = RecordState.ARCHIVING, RecordState.IN_PROGRESS


@attrs.frozen
class Record:
    """A record in flight (KIP-932, In-flight records). Fields hold values, or terms in a proof.

    ``owner`` and ``deadline``: who holds the acquisition lock and until when (ms); absent when not
    held. ``pending``: the state was written and the answer is outstanding. While it is,
    ``former_owner`` and ``former_deadline`` are what a failed write restores, and ``exhausted``
    says whether the delivery count had reached its limit when the transition began.
    ``acquisition``: the number that tells this delivery from others, where records may be marked.
    ``progress_start`` and ``last_progress``: when its owner first and last reported to be at work
    (ms); absent if it never did. A failed write restores these three as well.
    """

    state: Term
    delivery_count: Term
    owner: Term = None
    deadline: Term = None
    pending: Term = False
    former_owner: Term = None
    former_deadline: Term = None
    exhausted: Term = False
    acquisition: Term = None
    progress_start: Term = None
    last_progress: Term = None


UNDELIVERED = Record(AVAILABLE, 0)
"""A record that was never delivered, as are all records after the window."""


def is_terminal(record: Record) -> Term:
    """Whether the delivery is complete: ACKNOWLEDGED or ARCHIVED (KIP-1226)."""
    return (record.state == ACKNOWLEDGED) | (record.state == ARCHIVED)


def is_finished(record: Record) -> Term:
    """Whether the start offset may pass the record: terminal, and no write of it outstanding."""
    return is_terminal(record) & negate(record.pending)


def is_acquirable(record: Record) -> Term:
    """Whether a fetch may take the record: AVAILABLE, with no write of its state outstanding."""
    return (record.state == AVAILABLE) & negate(record.pending)


def is_held(record: Record) -> Term:
    """Whether an acquisition lock is on the record: it is ACQUIRED, or IN_PROGRESS."""
    return ((record.state == ACQUIRED) | (record.state == IN_PROGRESS)) & negate(record.pending)


def is_held_by(record: Record, member: Term) -> Term:
    """Whether this member holds the acquisition lock; only then may it acknowledge."""
    return is_held(record) & (record.owner == member)


def is_lock_over(record: Record, now: Term) -> Term:
    """Whether an acquisition lock is on the record and its duration has elapsed."""
    if record.deadline is None:
        return False
    return is_held(record) & negate(absent(record.deadline)) & (record.deadline <= now)


def failed_state(dead_letter_queue: Term) -> Term:
    """Return the state of a record that has failed for good (KIP-1191).

    ARCHIVING if there is a dead-letter queue, which takes it from there; otherwise ARCHIVED.
    """
    return either(dead_letter_queue, ARCHIVING, ARCHIVED)


def acquire(record: Record, member: Term, deadline: Term, acquisition: Term = None) -> Record:
    """Give the record to a member (KIP-932, In-flight records).

    Guard: ``is_acquirable``.
    Effect: ACQUIRED, owned by the member until the deadline.
    Delivery count: one more.
    Persistence: none; an acquisition is never durable.
    """
    return Record(ACQUIRED, record.delivery_count + 1, member, deadline, acquisition=acquisition)


def acknowledge(record: Record, kind: Term, limit: Term, failed: Term = ARCHIVED) -> Record:
    """End the delivery as its consumer says (KIP-932, ShareAcknowledge).

    Guard: ``is_held_by`` the member that acknowledges. ``kind`` is not RENEW.
    Effect: ACCEPT: ACKNOWLEDGED; REJECT: ``failed``, see ``failed_state``; GAP: ARCHIVED; RELEASE:
    as in ``release``. Nobody owns the record; it is pending until the write is answered.
    Delivery count: unchanged.
    Persistence: the new state and the delivery count are written.
    """
    state = by_case(
        kind,
        {
            AcknowledgeType.ACCEPT: ACKNOWLEDGED,
            AcknowledgeType.RELEASE: _after_attempt(record, limit, failed),
            AcknowledgeType.REJECT: failed,
            AcknowledgeType.GAP: ARCHIVED,
        },
    )
    return _begin(record, state, limit)


def release(record: Record, limit: Term, failed: Term = ARCHIVED) -> Record:
    """End the delivery without success: a consumer releases the record or leaves (KIP-932).

    Guard: ``is_held_by`` the member.
    Effect: AVAILABLE, or ``failed`` if the delivery count has reached the limit. Nobody owns the
    record; it is pending until the write is answered.
    Delivery count: unchanged: the attempt is not given back.
    Persistence: the new state and the delivery count are written.
    """
    return _begin(record, _after_attempt(record, limit, failed), limit)


def can_renew(record: Record, member: Term) -> Term:
    """Whether this member may extend its lock: a record IN_PROGRESS is marked instead."""
    return is_held_by(record, member) & (record.state == ACQUIRED)


def renew(record: Record, deadline: Term) -> Record:
    """Extend the acquisition lock (KIP-1222).

    Guard: ``can_renew``, and renewal is enabled.
    Effect: the lock lasts until the new deadline.
    Delivery count: unchanged.
    Persistence: none.
    """
    return attrs.evolve(record, deadline=deadline)


def can_mark(record: Record, member: Term, acquisition: Term, now: Term, extension: Term) -> Term:
    """Whether this member may report that it is at work on the record.

    It holds the record by the acquisition which it names, and has not been at work on it for
    ``extension`` (ms) or longer.
    """
    young = True
    if record.progress_start is not None:
        young = absent(record.progress_start) | (now - record.progress_start < extension)
    return is_held_by(record, member) & (record.acquisition == acquisition) & young


def mark(record: Record, now: Term, threshold: Term, extension: Term) -> Record:
    """Record that the owner is at work on the record (KAFKA-20458, markInProgress).

    Guard: ``can_mark``.
    Effect: IN_PROGRESS. One deadline takes the place of the one before: ``threshold`` from now,
    but no later than ``extension`` after the first mark of this delivery (both ms). It is not
    earlier than the one before, which the durations of an earlier configuration may have set.
    Delivery count: unchanged.
    Persistence: none; who holds a record, and how, is never durable.
    """
    start = either(absent(record.progress_start), now, record.progress_start)
    return attrs.evolve(
        record,
        state=IN_PROGRESS,
        deadline=_later(_earlier(now + threshold, start + extension), record.deadline),
        progress_start=start,
        last_progress=now,
    )


def can_stay(record: Record, member: Term, now: Term, threshold: Term) -> Term:
    """Whether the record stays with this member for a while although the member leaves.

    It is IN_PROGRESS, and the last sign of progress is younger than ``threshold`` (ms).
    """
    if record.last_progress is None:
        return False
    fresh = negate(absent(record.last_progress)) & (now < record.last_progress + threshold)
    return is_held_by(record, member) & (record.state == IN_PROGRESS) & fresh


def give_grace(record: Record, until: Term) -> Record:
    """Let an owner that has left keep the record for a while (KAFKA-20458, Rebalance flow).

    Guard: ``can_stay``.
    Effect: the lock lasts until ``until`` (ms), or its own deadline if that is earlier. A mark sets
    a new deadline: the owner is back.
    Delivery count: unchanged.
    Persistence: none.
    """
    return attrs.evolve(record, deadline=_earlier(until, record.deadline))


def expire(record: Record, limit: Term, failed: Term = ARCHIVED) -> Record:
    """End the delivery because its acquisition lock elapsed (KIP-932, In-flight records).

    Guard: ``is_lock_over``.
    Effect: AVAILABLE, or ``failed`` if the delivery count has reached the limit; at once, whatever
    becomes of the write.
    Delivery count: unchanged.
    Persistence: the new state and the delivery count are written.
    """
    return Record(_after_attempt(record, limit, failed), record.delivery_count)


def is_dead_letter(record: Record) -> Term:
    """Whether the record is on its way to the dead-letter queue, and no write could undo that."""
    return (record.state == ARCHIVING) & negate(record.pending)


def finish_dead_letter(record: Record) -> Record:
    """Archive a record that the dead-letter queue has, or could not take (KIP-1191).

    Guard: ``is_dead_letter``.
    Effect: ARCHIVED; at once, whatever becomes of the write.
    Delivery count: unchanged.
    Persistence: the new state and the delivery count are written.
    """
    return Record(ARCHIVED, record.delivery_count)


def can_vanish(record: Record) -> Term:
    """Whether the record is archived when the log no longer has it: only if nobody holds it."""
    return record.state == AVAILABLE


def vanish(record: Record) -> Record:
    """Archive a record which the log no longer has (compaction; Kafka: stale batches).

    Guard: ``can_vanish``: AVAILABLE, pending or not.
    Effect: ARCHIVED, also if the write that made it available fails.
    Delivery count: unchanged.
    Persistence: none.
    """
    return Record(ARCHIVED, record.delivery_count, pending=record.pending)


def can_archive_aborted(record: Record) -> Term:
    """Whether the record is archived if its transaction was aborted, whoever holds it.

    A record IN_PROGRESS is not: only its owner, time or a new leader ends that.
    """
    return (record.state == ACQUIRED) & negate(record.pending)


def archive_aborted(record: Record) -> Record:
    """Archive a record of an aborted transaction that a fetch has taken (KIP-932, read_committed).

    Guard: ``can_archive_aborted``.
    Effect: ARCHIVED; at once.
    Delivery count: unchanged: the acquisition has counted.
    Persistence: none (Kafka: SharePartition.filterAbortedTransactionalAcquiredRecords).
    """
    return Record(ARCHIVED, record.delivery_count)


def withhold(record: Record) -> Record:
    """Archive a record of an aborted transaction that is not acquired first (KIP-932).

    Guard: ``is_acquirable``, and the isolation level is read_committed.
    Effect: ARCHIVED; at once. Nobody is given the record, so no client can tell.
    Delivery count: unchanged.
    Persistence: none.
    """
    return Record(ARCHIVED, record.delivery_count)


def commit(record: Record) -> Record:
    """Make a pending state final: its write succeeded (KIP-932, durable state).

    Guard: pending.
    Effect: no longer pending.
    Delivery count: unchanged.
    Persistence: none; the coordinator has it.
    """
    return Record(record.state, record.delivery_count)


def roll_back(record: Record, now: Term, failed: Term = ARCHIVED) -> Record:
    """Undo a pending state: its write failed (Kafka: ``InFlightState.completeStateTransition``).

    Guard: pending.
    Effect: held by the former owner until the former deadline, IN_PROGRESS if it was; if that has
    passed, AVAILABLE, or ``failed`` if the delivery count had reached the limit when the write was
    made. A record that vanished meanwhile stays ARCHIVED.
    Delivery count: unchanged.
    Persistence: none.
    """
    count = record.delivery_count
    restored = Record(
        either(absent(record.progress_start), ACQUIRED, IN_PROGRESS),
        count,
        record.former_owner,
        record.former_deadline,
        acquisition=record.acquisition,
        progress_start=record.progress_start,
        last_progress=record.last_progress,
    )
    over = Record(either(record.exhausted, failed, AVAILABLE), count)
    gone = absent(record.former_owner)
    if gone is True:
        return commit(record)
    held_again = either(record.former_deadline > now, restored, over)
    return either(gone, commit(record), held_again)  # type: ignore[no-any-return] # of two records


def recover(state: Term, count: Term) -> Record:
    """Return the record as a new leader finds it in the durable state (KIP-932).

    Guard: the state is not ACQUIRED.
    Effect: nobody owns it and no write is outstanding. IN_PROGRESS, which only a leader that
    follows the draft as written makes durable, is AVAILABLE: its owner is not known any more.
    Delivery count: as last durable.
    Persistence: none.
    """
    return Record(either(state == IN_PROGRESS, AVAILABLE, state), count)


def durable_maximum(
    state: Term, count: Term, other_state: Term, other_count: Term
) -> tuple[Term, Term]:
    """Return the (state, delivery count) that survives when two are known of one record.

    The higher delivery count wins, then the higher state id (Kafka: PersisterStateBatchCombiner).
    """
    larger = (count > other_count) | ((count == other_count) & (state >= other_state))
    return either(larger, state, other_state), either(larger, count, other_count)


def _after_attempt(record: Record, limit: Term, failed: Term) -> Term:
    return either(record.delivery_count >= limit, failed, AVAILABLE)


def _earlier(time: Term, other: Term) -> Term:
    return either(time <= other, time, other)


def _later(time: Term, other: Term) -> Term:
    return either(time >= other, time, other)


def _begin(record: Record, state: Term, limit: Term) -> Record:
    return Record(
        state,
        record.delivery_count,
        pending=True,
        former_owner=record.owner,
        former_deadline=record.deadline,
        exhausted=record.delivery_count >= limit,
        acquisition=record.acquisition,
        progress_start=record.progress_start,
        last_progress=record.last_progress,
    )
