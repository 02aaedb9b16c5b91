"""What is true of every state that the transitions reach: one table, used by everything."""

from collections.abc import Callable

import attrs

from model.states import RecordState
from spec.lag import lag
from spec.logic import Term, absent, negate
from spec.partition import SharePartition, complete_count
from spec.record import Record, is_acquirable, is_held, is_terminal
from spec.window import Window, tracked

__all__ = [
    "PARTITION_INVARIANTS",
    "RECORD_INVARIANTS",
    "PartitionInvariant",
    "RecordInvariant",
    "violated",
]


@attrs.frozen
class RecordInvariant:
    """A predicate of one record and the delivery count limit, on values or Z3 terms."""

    name: str
    sentence: str
    holds: Callable[[Record, Term], Term]


@attrs.frozen
class PartitionInvariant:
    """A predicate of a whole share-partition."""

    name: str
    sentence: str
    holds: Callable[[SharePartition], bool]


RECORD_INVARIANTS = (
    RecordInvariant(
        "owner_iff_held",
        "A record has an owner exactly when it is ACQUIRED.",
        lambda r, _limit: negate(absent(r.owner)) == (r.state == RecordState.ACQUIRED),
    ),
    RecordInvariant(
        "deadline_iff_held",
        "An acquisition lock has a deadline exactly when the record is ACQUIRED.",
        lambda r, _limit: negate(absent(r.deadline)) == (r.state == RecordState.ACQUIRED),
    ),
    RecordInvariant(
        "acquired_is_not_pending",
        "No write is outstanding for a record that is ACQUIRED.",
        lambda r, _limit: negate((r.state == RecordState.ACQUIRED) & r.pending),
    ),
    RecordInvariant(
        "delivery_count_within_limit",
        "The delivery count is at least 0 and at most its limit.",
        lambda r, limit: (r.delivery_count >= 0) & (r.delivery_count <= limit),
    ),
    RecordInvariant(
        "available_can_be_delivered",
        "An AVAILABLE record has a delivery attempt left.",
        lambda r, limit: negate(r.state == RecordState.AVAILABLE) | (r.delivery_count < limit),
    ),
    RecordInvariant(
        "held_was_delivered",
        "A record that is ACQUIRED or ACKNOWLEDGED was delivered at least once.",
        lambda r, _limit: (
            negate((r.state == RecordState.ACQUIRED) | (r.state == RecordState.ACKNOWLEDGED))
            | (r.delivery_count >= 1)
        ),
    ),
    RecordInvariant(
        "former_owner_only_if_pending",
        "What a failed write would restore is kept only while the write is outstanding.",
        lambda r, _limit: r.pending | (absent(r.former_owner) & absent(r.former_deadline)),
    ),
    RecordInvariant(
        "former_lock_is_whole",
        "A failed write restores both an owner and a deadline, or neither.",
        lambda r, _limit: absent(r.former_owner) == absent(r.former_deadline),
    ),
    RecordInvariant(
        "pending_was_delivered",
        "A record whose write is outstanding was delivered, and is exhausted at its limit.",
        lambda r, limit: (
            negate(r.pending)
            | ((r.delivery_count >= 1) & (r.exhausted | (r.delivery_count < limit)))
        ),
    ),
    RecordInvariant(
        "state_is_of_the_table",
        "A record is AVAILABLE, ACQUIRED, ACKNOWLEDGED or ARCHIVED.",
        lambda r, _limit: (
            negate(r.state == RecordState.ARCHIVING)
            & (r.state >= 0)
            & (r.state <= RecordState.ARCHIVED)
        ),
    ),
)
"""``limit`` is the delivery count limit; where it changed, the highest that was in force.

The last three are there to make the others inductive.
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
    awaited = {o for waiting in partition.outstanding.values() for o in waiting.offsets}
    return _every(partition, lambda offset, r: not r.pending or offset in awaited) and all(
        partition.window.records[o].pending for o in awaited if o in partition.window.records
    )


def _unfinished(partition: SharePartition) -> int:
    window = partition.window
    inside = tracked(window, window.start_offset, window.end_offset)
    finished = sum(1 for offset in inside if is_terminal(window.records[offset]))
    gaps = complete_count(partition) - window.complete
    return window.end_offset - window.start_offset - finished - gaps


PARTITION_INVARIANTS = (
    PartitionInvariant(
        "window_is_ordered",
        "The start offset is at most the end offset.",
        lambda p: p.window.start_offset <= p.window.end_offset,
    ),
    PartitionInvariant(
        "records_lie_in_the_window",
        "Every record in flight lies between the start and the end offset.",
        lambda p: _every(
            p, lambda offset, _r: p.window.start_offset <= offset < p.window.end_offset
        ),
    ),
    PartitionInvariant(
        "counts_follow_the_records",
        "What is counted of the window is what its records say.",
        lambda p: _counts_follow(p.window),
    ),
    PartitionInvariant(
        "complete_count_within_window",
        "The delivery complete count is at least 0 and at most the width of the window.",
        lambda p: 0 <= complete_count(p) <= p.window.end_offset - p.window.start_offset,
    ),
    PartitionInvariant(
        "lag_counts_the_unfinished",
        "The lag is what lies after the window plus what is unfinished in it.",
        lambda p: lag(p) == p.log.end_offset - p.window.end_offset + _unfinished(p),
    ),
    PartitionInvariant(
        "pending_iff_write_outstanding",
        "A record is pending exactly while a write of its state is outstanding.",
        _pending_iff_outstanding,
    ),
    PartitionInvariant(
        "acquired_is_never_durable",
        "Nothing durable is ACQUIRED or lies below the durable start offset.",
        lambda p: all(
            state != RecordState.ACQUIRED and offset >= p.durable.start_offset
            for offset, (state, _count) in p.durable.entries.items()
        ),
    ),
    PartitionInvariant(
        "durable_start_never_ahead",
        "The durable start offset is never ahead of the leader's.",
        lambda p: p.durable.start_offset <= p.window.start_offset,
    ),
)


def violated(partition: SharePartition) -> list[RecordInvariant | PartitionInvariant]:
    """Return the invariants that the share-partition breaks; none of a state that can be."""
    if not partition.ready:
        return []
    limit = partition.highest_limit
    broken: list[RecordInvariant | PartitionInvariant] = [
        invariant
        for invariant in RECORD_INVARIANTS
        if not all(invariant.holds(record, limit) for record in partition.window.records.values())
    ]
    broken += [i for i in PARTITION_INVARIANTS if not i.holds(partition)]
    return broken
