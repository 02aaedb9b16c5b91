"""The rules for one record under the draft as written (KAFKA-20458), reading by reading.

Times are in ms on the leader's clock. Sections are those of the draft.
"""

import attrs

from model.config import SharePartitionConfig
from model.states import HELD_STATES, TERMINAL_STATES, AcknowledgeType, RecordState
from proofs.hazards.draft_readings import LimitTest, Readings

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
IN_PROGRESS, ARCHIVED = RecordState.IN_PROGRESS, RecordState.ARCHIVED

NEVER = -1
"""What a progress time is before the first mark (§3.1)."""

Token = tuple[int, int]


@attrs.frozen
class DraftRecord:
    """A record in flight (§3.1).

    ``lock_end``: when the acquisition lock timer fires; None without a timer. ``last_progress``
    and ``progress_start`` as in §3.1. ``grace_end``: when the grace time of an owner that left is
    over. ``token`` names the delivery: leader epoch and acquisition. ``before`` is what a failed
    write restores; None when no write is outstanding.
    """

    state: RecordState = AVAILABLE
    delivery_count: int = 0
    owner: str | None = None
    lock_end: int | None = None
    last_progress: int = NEVER
    progress_start: int = NEVER
    grace_end: int | None = None
    token: Token | None = None
    before: "DraftRecord | None" = None


@attrs.frozen
class DraftRules:
    """The values that a rule takes besides the record."""

    config: SharePartitionConfig
    readings: Readings


def is_held(record: DraftRecord) -> bool:
    """Whether a member holds the record and no write of its state is outstanding."""
    return record.state in HELD_STATES and record.before is None


def is_terminal(record: DraftRecord) -> bool:
    """Whether the delivery is complete; ARCHIVING and IN_PROGRESS are not (KIP-1226)."""
    return record.state in TERMINAL_STATES


def acquire(
    record: DraftRecord, member: str, token: Token, now: int, rules: DraftRules
) -> DraftRecord:
    """Give the record to a member (KIP-932, In-flight records).

    Guard: AVAILABLE and no write outstanding.
    Effect: ACQUIRED by the member, with a lock timer; what survived of progress times stays.
    Delivery count: one more.
    Persistence: none.
    """
    return attrs.evolve(
        record,
        state=ACQUIRED,
        delivery_count=record.delivery_count + 1,
        owner=member,
        token=token,
        lock_end=now + rules.config.record_lock_duration_ms,
    )


def may_mark(record: DraftRecord, member: str, token: Token, now: int, rules: DraftRules) -> bool:
    """Whether a mark is accepted (§3.2 steps 1 and 2)."""
    readings, longest = rules.readings, rules.config.in_progress_max_lock_extension_ms
    named = readings.mark_names_no_delivery or record.token == token
    again = record.state == IN_PROGRESS and readings.second_mark_is_refused
    within = record.progress_start == NEVER or now - record.progress_start <= longest
    return is_held(record) and record.owner == member and named and within and not again


def mark(record: DraftRecord, now: int, rules: DraftRules) -> DraftRecord:
    """Record that work is going on (§3.2 steps 3 and 4).

    Guard: ``may_mark``.
    Effect: IN_PROGRESS; the progress time is now; the lock timer is rescheduled or ends.
    Delivery count: unchanged.
    Persistence: the state is written, or nothing; if it waits, it is pending until the answer.
    """
    readings, config = rules.readings, rules.config
    by = config.in_progress_staleness_threshold_ms
    if readings.timer_has_the_lock_duration:
        by = config.record_lock_duration_ms
    waits = readings.marks_are_written and readings.mark_waits_for_its_write
    return attrs.evolve(
        record,
        state=IN_PROGRESS,
        lock_end=now + by if readings.lock_timer_runs_on else None,
        last_progress=now,
        progress_start=now if record.progress_start == NEVER else record.progress_start,
        grace_end=record.grace_end if readings.grace_outlasts_a_mark else None,
        before=record if waits else None,
    )


def acknowledge(record: DraftRecord, kind: int, rules: DraftRules) -> DraftRecord:
    """End the delivery as its consumer says (§2.2; KIP-932, ShareAcknowledge).

    Guard: held by the member that acknowledges.
    Effect: ACCEPT: ACKNOWLEDGED; RELEASE: as in ``expire``; REJECT: ARCHIVING or ARCHIVED. Pending
    until the write is answered.
    Delivery count: unchanged.
    Persistence: the new state is written.
    """
    match kind:
        case AcknowledgeType.ACCEPT:
            state = RecordState.ACKNOWLEDGED
        case AcknowledgeType.RELEASE:
            state = _after_attempt(record, rules)
        case _:
            state = _failed(record, rules)
    return attrs.evolve(_ended(record, state, rules), before=record)


def leave(record: DraftRecord, now: int, rules: DraftRules) -> DraftRecord:
    """Act on the departure of the owner ("Rebalance flow").

    Guard: held by the member that leaves.
    Effect: IN_PROGRESS with fresh progress: held on for the grace time; otherwise as in ``expire``,
    pending until the write is answered.
    Delivery count: unchanged.
    Persistence: what is released is written.
    """
    fresh_until = record.last_progress + rules.config.in_progress_staleness_threshold_ms
    if rules.readings.fresh_at_the_threshold:
        fresh_until += 1
    if record.state == IN_PROGRESS and now < fresh_until:
        end = now + rules.config.in_progress_rebalance_grace_ms
        return attrs.evolve(record, grace_end=min(end, record.grace_end or end))
    return attrs.evolve(_ended(record, _after_attempt(record, rules), rules), before=record)


def expire(record: DraftRecord, now: int, rules: DraftRules) -> DraftRecord | None:
    """End the delivery because the lock timer or the grace time ran out; None if not.

    Guard: held; the timer is due, or the grace time over.
    Effect: AVAILABLE, or if the delivery count has reached the limit, ARCHIVED or ARCHIVING.
    Delivery count: unchanged.
    Persistence: the new state is written.
    """
    if not is_held(record) or now < min(timers(record), default=now + 1):
        return None
    return _ended(record, _after_attempt(record, rules), rules)


def sweep(record: DraftRecord, now: int, rules: DraftRules) -> DraftRecord | None:
    """End the delivery because its progress is stale or lasts too long (§3.3); None if not.

    Guard: IN_PROGRESS (or any state) and stale, or IN_PROGRESS for longer than the maximum.
    Effect: AVAILABLE, or if the delivery count has reached the limit, as in ``expire``.
    Delivery count: one more if stale, or unchanged.
    Persistence: the new state is written.
    """
    readings = rules.readings
    anything = readings.sweep_takes_any_state and record.state != AVAILABLE
    if record.before is not None or not (record.state == IN_PROGRESS or anything):
        return None
    if _is_stale(record, now, rules):
        return _released_as_stale(record, rules)
    if _is_too_long(record, now, rules):
        after = AVAILABLE if readings.extension_passes_the_limit else _after_attempt(record, rules)
        return _ended(record, after, rules)
    return None


def timers(record: DraftRecord) -> list[int]:
    """Return when the lock timer and the grace time end, those that there are."""
    return [end for end in (record.lock_end, record.grace_end) if end is not None]


def instants(record: DraftRecord, rules: DraftRules) -> list[int]:
    """Return the times at which something may end the delivery, the sweeper's rounds left out."""
    ends = timers(record)
    if not rules.readings.swept_every_quarter:
        if record.last_progress != NEVER:
            ends.append(record.last_progress + rules.config.in_progress_staleness_threshold_ms)
        if record.progress_start != NEVER:
            ends.append(record.progress_start + rules.config.in_progress_max_lock_extension_ms)
    return ends


def roll_back(record: DraftRecord, now: int, rules: DraftRules) -> DraftRecord:
    """Undo a pending state: its write failed (Kafka: ``InFlightState.completeStateTransition``).

    Guard: pending.
    Effect: as before; of a mark perhaps without its lock timer. What is over is over.
    Delivery count: unchanged.
    Persistence: none.
    """
    restored = record.before
    assert restored is not None  # noqa: S101 - the guard; this tells the type checker
    if record.state == IN_PROGRESS and rules.readings.failed_mark_loses_the_timer:
        return attrs.evolve(restored, lock_end=None)
    over = expire(restored, now, rules)
    if over is None and not rules.readings.swept_every_quarter:
        over = sweep(restored, now, rules)
    return over or restored


def recover(state: RecordState, count: int, readings: Readings) -> DraftRecord:
    """Return the record as a new leader finds it in the durable state.

    Guard: none: whatever was written is read.
    Effect: nobody owns it; IN_PROGRESS stays so, without times, or is AVAILABLE.
    Delivery count: as last durable.
    Persistence: none.
    """
    if state == IN_PROGRESS and not readings.recovered_as_in_progress:
        state = AVAILABLE
    return DraftRecord(state, count)


def _is_stale(record: DraftRecord, now: int, rules: DraftRules) -> bool:
    """Whether progress is older than the threshold; without a sweeper, as old is enough."""
    if record.last_progress == NEVER and not rules.readings.never_marked_is_ancient:
        return False
    threshold = rules.config.in_progress_staleness_threshold_ms
    return now - record.last_progress >= threshold + rules.readings.swept_every_quarter


def _released_as_stale(record: DraftRecord, rules: DraftRules) -> DraftRecord:
    readings, limit = rules.readings, rules.config.delivery_count_limit
    count = record.delivery_count
    if readings.limit_test is LimitTest.BEFORE_ADDING and count >= limit:
        return _ended(record, _failed(record, rules), rules)
    count += readings.staleness_adds_a_delivery
    fails = readings.limit_test is LimitTest.AFTER_ADDING and count >= limit
    state = _failed(record, rules) if fails else AVAILABLE
    return attrs.evolve(_ended(record, state, rules), delivery_count=count)


def _is_too_long(record: DraftRecord, now: int, rules: DraftRules) -> bool:
    longest = rules.config.in_progress_max_lock_extension_ms
    if rules.readings.extension_compares_the_instant:
        return record.progress_start > longest
    started = record.progress_start != NEVER
    return started and now - record.progress_start >= longest + rules.readings.swept_every_quarter


def _after_attempt(record: DraftRecord, rules: DraftRules) -> RecordState:
    if record.delivery_count < rules.config.delivery_count_limit:
        return AVAILABLE
    return _failed(record, rules)


def _failed(record: DraftRecord, rules: DraftRules) -> RecordState:
    literal = rules.readings.archiving_without_a_queue and record.state == IN_PROGRESS
    return RecordState.ARCHIVING if rules.config.dead_letter_queue or literal else ARCHIVED


def _ended(record: DraftRecord, state: RecordState, rules: DraftRules) -> DraftRecord:
    kept = rules.readings
    return DraftRecord(
        state,
        record.delivery_count,
        last_progress=record.last_progress if kept.progress_time_survives else NEVER,
        progress_start=record.progress_start if kept.progress_start_survives else NEVER,
    )
