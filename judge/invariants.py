"""What is true of every state that the transitions of ``spec`` reach: tables for tests and proofs.

Of a record and of a share-partition. Those of a broker and of a share group stand apart, in
``share_broker_invariants`` and ``share_group_invariants``: a replay needs neither.
"""

from collections.abc import Callable, Iterable

import attrs

from model.states import PERSISTED_STATES, RecordState
from spec.lag import lag
from spec.logic import Term, absent, either, negate
from spec.partition import SharePartition, complete_count
from spec.record import Record, is_acquirable, is_held, is_terminal
from spec.window import Window, first_unfinished, passed


@attrs.frozen
class Invariant:
    """A predicate: of a record, the delivery count limit and the clock, on values or Z3 terms.

    Or of a whole share-partition, a broker, or the durable state of a group.
    """

    name: str
    sentence: str
    holds: Callable[..., Term]


def broken(invariants: Iterable[Invariant], *state: object) -> list[Invariant]:
    """Return the invariants that do not hold; none in any reachable state."""
    return [invariant for invariant in invariants if not invariant.holds(*state)]


def broken_names(invariants: Iterable[Invariant], *state: object) -> list[str]:
    """Return the names of the invariants that do not hold; none in any reachable state."""
    return [invariant.name for invariant in broken(invariants, *state)]


def _held_state(record: Record) -> Term:
    return (record.state == RecordState.ACQUIRED) | (record.state == RecordState.IN_PROGRESS)


def _in_order(record: Record, now: Term) -> Term:
    start = either(absent(record.progress_start), 0, record.progress_start)
    last = either(absent(record.last_progress), 0, record.last_progress)
    return absent(record.progress_start) | ((start <= last) & (last <= now))


RECORD_INVARIANTS = (
    Invariant(
        "owner_iff_held",
        "A record has an owner exactly when it is ACQUIRED or IN_PROGRESS.",
        lambda r, _limit, _now: negate(absent(r.owner)) == _held_state(r),
    ),
    Invariant(
        "deadline_iff_held",
        "A record has a deadline exactly when it is ACQUIRED or IN_PROGRESS.",
        lambda r, _limit, _now: negate(absent(r.deadline)) == _held_state(r),
    ),
    Invariant(
        "held_is_not_pending",
        "No write is outstanding for a record that is ACQUIRED or IN_PROGRESS.",
        lambda r, _limit, _now: negate(_held_state(r) & r.pending),
    ),
    Invariant(
        "delivery_count_within_limit",
        "The delivery count is at least 0 and at most its limit.",
        lambda r, limit, _now: (r.delivery_count >= 0) & (r.delivery_count <= limit),
    ),
    Invariant(
        "available_can_be_delivered",
        "An AVAILABLE record has a delivery attempt left.",
        lambda r, limit, _now: (
            negate(r.state == RecordState.AVAILABLE) | (r.delivery_count < limit)
        ),
    ),
    Invariant(
        "held_was_delivered",
        "A record that is ACQUIRED, IN_PROGRESS or ACKNOWLEDGED was delivered at least once.",
        lambda r, _limit, _now: (
            negate(_held_state(r) | (r.state == RecordState.ACKNOWLEDGED)) | (r.delivery_count >= 1)
        ),
    ),
    Invariant(
        "former_owner_only_if_pending",
        "What a failed write would restore is kept only while the write is outstanding.",
        lambda r, _limit, _now: r.pending | (absent(r.former_owner) & absent(r.former_deadline)),
    ),
    Invariant(
        "former_lock_is_whole",
        "A failed write restores both an owner and a deadline, or neither.",
        lambda r, _limit, _now: absent(r.former_owner) == absent(r.former_deadline),
    ),
    Invariant(
        "pending_was_delivered",
        "A record whose write is outstanding was delivered, and is exhausted at its limit, where a "
        "failed write restores what was.",
        lambda r, limit, _now: (
            negate(r.pending)
            | (
                (r.delivery_count >= 1)
                & (r.exhausted | (r.delivery_count < limit) | absent(r.former_owner))
            )
        ),
    ),
    Invariant(
        "state_is_of_the_table",
        "A record is in one of the six states.",
        lambda r, _limit, _now: (r.state >= 0) & (r.state <= RecordState.IN_PROGRESS),
    ),
    Invariant(
        "progress_iff_in_progress",
        "A record has times of progress exactly when it is IN_PROGRESS, or may be so again.",
        lambda r, _limit, _now: (
            (absent(r.progress_start) == absent(r.last_progress))
            & (absent(r.progress_start) | (r.state == RecordState.IN_PROGRESS) | r.pending)
            & (negate(r.state == RecordState.IN_PROGRESS) | negate(absent(r.progress_start)))
        ),
    ),
    Invariant(
        "progress_is_in_order",
        "The first sign of progress is not after the last, and that not after now.",
        lambda r, _limit, now: _in_order(r, now),
    ),
    Invariant(
        "acquisition_only_if_held_or_pending",
        "A record has the number of an acquisition only while it is held, or may be so again.",
        lambda r, _limit, _now: absent(r.acquisition) | _held_state(r) | r.pending,
    ),
    Invariant(
        "progress_has_an_acquisition",
        "Progress is that of an acquisition with a number.",
        lambda r, _limit, _now: absent(r.progress_start) | negate(absent(r.acquisition)),
    ),
)
"""``limit`` is the delivery count limit; where it changed, the highest that was in force; ``now``
the leader's clock. Some only make the others inductive.
"""


def _every(partition: SharePartition, holds: Callable[[int, Record], bool]) -> bool:
    return all(holds(offset, record) for offset, record in partition.window.records.items())


def _counts_follow(window: Window) -> bool:
    records = window.records
    return (
        window.complete == sum(is_terminal(r) for r in records.values())
        and window.acquirable == sum(is_acquirable(r) for r in records.values())
        and set(window.held) == {o for o, r in records.items() if is_held(r)}
    )


def _pending_iff_outstanding(partition: SharePartition) -> bool:
    awaited = {o for sent in partition.outstanding.values() for o in sent.offsets}
    return _every(partition, lambda offset, r: not r.pending or offset in awaited) and all(
        partition.window.records[o].pending for o in awaited if o in partition.window.records
    )


def _is_numbered(partition: SharePartition, offset: int) -> bool:
    number = partition.window.records[offset].acquisition
    return number is not None and (number >= 0) & (number < partition.next_acquisition)


def _unfinished(window: Window) -> int:
    finished = sum(1 for record in window.records.values() if is_terminal(record))
    return window.end_offset - window.start_offset - finished


PARTITION_INVARIANTS = (
    Invariant(
        "window_is_ordered",
        "The start offset is at most the end offset.",
        lambda p: p.window.start_offset <= p.window.end_offset,
    ),
    Invariant(
        "records_lie_in_the_window",
        "Every record in flight lies between the start and the end offset.",
        lambda p: _every(
            p, lambda offset, _r: p.window.start_offset <= offset < p.window.end_offset
        ),
    ),
    Invariant(
        "window_ends_with_a_record",
        "A window that is not empty ends with a record.",
        lambda p: (
            p.window.start_offset >= p.window.end_offset
            or p.window.end_offset - 1 in p.window.records
        ),
    ),
    Invariant(
        "counts_follow_the_records",
        "What is counted of the window is what its records say.",
        lambda p: _counts_follow(p.window),
    ),
    Invariant(
        "complete_count_within_window",
        "The delivery complete count is at least 0 and at most the width of the window.",
        lambda p: 0 <= complete_count(p) <= p.window.end_offset - p.window.start_offset,
    ),
    Invariant(
        "lag_counts_the_unfinished",
        "The leader's lag is what lies after the window plus what is unfinished in it.",
        lambda p: lag(p) == p.log.end_offset - p.window.end_offset + _unfinished(p.window),
    ),
    Invariant(
        "pending_iff_write_outstanding",
        "A record is pending exactly while a write of its state is outstanding.",
        _pending_iff_outstanding,
    ),
    Invariant(
        "only_persisted_states_are_written",
        "A leader writes no record as ACQUIRED or IN_PROGRESS.",
        lambda p: all(
            batch.state in PERSISTED_STATES
            for sent in p.outstanding.values()
            for batch in sent.write.state_batches
        ),
    ),
    Invariant(
        "in_progress_only_where_it_is_allowed",
        "A record is IN_PROGRESS or has the number of an acquisition only under a profile for it.",
        lambda p: all(
            p.profile.in_progress | (absent(r.acquisition) & (r.state != RecordState.IN_PROGRESS))
            for r in p.window.records.values()
        ),
    ),
    Invariant(
        "held_has_an_acquisition",
        "Where records may be marked, each that is held has the number of an acquisition made.",
        lambda p: all(negate(p.profile.in_progress) | _is_numbered(p, o) for o in p.window.held),
    ),
    Invariant(
        "acquired_is_never_durable",
        "Nothing durable is ACQUIRED or lies below the durable start offset.",
        lambda p: all(
            state != RecordState.ACQUIRED and offset >= p.durable.start_offset
            for offset, (state, _count) in p.durable.entries.items()
        ),
    ),
    Invariant(
        "durable_start_never_ahead",
        "The durable start offset is never ahead of where the leader's may be.",
        lambda p: (
            p.durable.start_offset <= p.window.start_offset
            or p.durable.start_offset <= passed(p.window, p.log, first_unfinished(p.window, p.log))
        ),
    ),
)


def violated(partition: SharePartition) -> list[Invariant]:
    """Return the broken invariants; none in any reachable state."""
    if not partition.ready:
        return []
    limit, now = partition.highest_limit, partition.now
    records = set(partition.window.records.values())  # Of equal records one speaks for all.
    of_records = [
        each for each in RECORD_INVARIANTS if not all(each.holds(r, limit, now) for r in records)
    ]
    return of_records + broken(PARTITION_INVARIANTS, partition)
