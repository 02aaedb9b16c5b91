"""Any share-partition, and an operation on it: what a theorem says is proved whatever else is so.

The two offsets stand for any two: what an operation does to one, whether the other can stop it, and
in which order they come. ``elsewhere`` is any third, where no record is. A theorem names what it
needs; the rest may have any value.
"""

from collections.abc import Iterator
from typing import Any, Self

import attrs

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Write
from model.profile import KAFKA, Profile
from model.ranges import OffsetRange
from model.states import RecordState
from proofs.theorems.points import Points
from proofs.theorems.records import is_whole
from proofs.theorems.situation import (
    any_like,
    any_offset,
    ends_in_the_log,
    flag,
    number,
)
from proofs.theorems.symbolic import conjunction, implies, is_between
from proofs.theorems.theorem import Subject
from spec import window
from spec.log import Log, hole_end
from spec.logic import Term, either
from spec.partition import Outstanding, SharePartition
from spec.record import UNDELIVERED, Record, is_acquirable, is_terminal
from spec.window import Window

ANOTHERS = Outstanding(Write(0, 0, 0))
"""A write that is outstanding before the operation."""
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


@attrs.frozen
class AnyPartition:
    """A share-partition, and an operation that names the offsets ``first`` to ``last``.

    ``second`` to ``second_last`` is a second range, where an operation names two, or a hole of the
    log. ``complete`` and ``acquirable`` count the records at other offsets, and ``finished`` are
    the offsets whose delivery is complete. ``waiting`` is the id of a write that is
    outstanding, ``write_id`` that of a write of the operation, and ``seq`` names the operation.
    ``awaited`` and ``other_awaited``: such a write is outstanding for the record at that offset.
    ``after`` is what the first record becomes, ``state`` and ``count`` what the share coordinator
    has of it: AVAILABLE and 0, if it was never written.

    A fetch at ``fetch_offset`` reads the two ranges, and acquires the offsets ``taken`` to
    ``taken_last`` until ``lock``; ``entered`` to ``entered_last`` enter the window, which ``width``
    limits. The log holds one batch that was produced, ``made_first`` to ``made_last``, and has one
    hole; ``missing``: it has a hole at ``offset``. ``stable`` is the last stable offset. ``target``
    is where the start offset is to move, ``furthest`` where it may. ``fetches`` passed over a
    record that waits, of ``bound`` at most.
    """

    start: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    record: Record = any_like(UNDELIVERED)
    tracked: Term = flag()
    other: Term = any_offset()
    other_record: Record = any_like(UNDELIVERED)
    other_tracked: Term = flag()
    elsewhere: Term = number()
    complete: Term = number()
    acquirable: Term = number()
    log_end: Term = number()
    now: Term = number()
    next_write: Term = number()
    waiting: Term = number()
    member: Term = number()
    first: Term = number()
    last: Term = number()
    second: Term = number()
    second_last: Term = number()
    acquisition: Term = number()
    elapsed: Term = number()
    write_id: Term = number()
    seq: Term = number()
    limit: Term = number(1)
    highest: Term = number(1)
    lock: Term = number()
    threshold: Term = number()
    extension: Term = number()
    grace: Term = number()
    dead_letter_queue: Term = flag()
    renewable: Term = flag()
    marks: Term = flag()
    state: Term = number()
    count: Term = number()
    awaited: Term = flag()
    other_awaited: Term = flag()
    finished: Term = any_like(frozenset())
    after: Record = any_like(UNDELIVERED)
    log_start: Term = number()
    stable: Term = number()
    hole_first: Term = number()
    hole_last: Term = number()
    missing: Term = flag()
    made_first: Term = number()
    made_last: Term = number()
    width: Term = number(1)
    fetch_offset: Term = number()
    maximum: Term = number()
    taken: Term = number()
    taken_last: Term = number()
    entered: Term = number()
    entered_last: Term = number()
    target: Term = number()
    furthest: Term = number()
    fetches: Term = number(1)
    bound: Term = number(1)

    @classmethod
    def reached(cls, state: SharePartition) -> Iterator[Self]:
        """Yield operations on a share-partition that a run reached, and fetches from it."""
        now, log, lock = state.window, state.log, state.config.record_lock_duration_ms
        finished = frozenset(at for at, record in now.records.items() if is_terminal(record))
        for offset in range(now.start_offset, now.end_offset + 1):
            record = now.records.get(offset, UNDELIVERED)
            entry = state.durable.entries.get(offset, (RecordState.AVAILABLE, 0))
            alone = cls(
                **_fields_at(state, offset), other=now.end_offset + 2, elsewhere=now.end_offset + 1,
                first=offset, last=offset, second=offset, second_last=offset, waiting=7,
                write_id=8, renewable=True, member="a", next_write=state.next_write, lock=lock,
                awaited=record.pending, acquisition=record.acquisition or 0, finished=finished,
                state=entry[0], count=entry[1],
            )  # fmt: skip
            yield attrs.evolve(alone, member="b", now=state.now + lock)
            hole = {"second": alone.hole_first, "second_last": alone.hole_last}
            yield attrs.evolve(alone, first=log.end_offset, **hole)
            yield from alone.fetches_of(state)

    def fetches_of(self, state: SharePartition) -> Iterator[Self]:
        """Yield fetches that reach the next offset too, and moves of the start offset."""
        now, log, offset, other = state.window, state.log, self.offset, self.offset + 1
        start, end = now.start_offset, now.end_offset
        made = (*log.batches, (end + 9, end + 9))[0]
        here = attrs.evolve(
            self, **_other(now, other), elsewhere=end + 3, second=other, second_last=other,
            stable=log.end_offset, made_first=made[0], made_last=made[1],
            missing=hole_end(log, offset) is not None, bound=3, acquisition=state.next_acquisition,
            width=state.config.partition_max_record_locks, fetch_offset=start, maximum=2,
            taken=offset, taken_last=offset, entered=other, entered_last=other,
            furthest=window.first_unfinished(now, log),
        )  # fmt: skip
        yield from (attrs.evolve(here, target=target) for target in range(start, end + 2))
        if start in now.records:
            yield attrs.evolve(here, **_other(now, start))


def _fields_at(state: SharePartition, offset: int) -> dict[str, Any]:
    """Return the fields that a share-partition determines at one offset."""
    now, log, config = state.window, state.log, state.config
    record = now.records.get(offset)
    hole = (*log.holes, (log.end_offset + 8, log.end_offset + 8))[0]
    return {
        "start": now.start_offset,
        "end": now.end_offset,
        "offset": offset,
        "record": record or UNDELIVERED,
        "tracked": record is not None,
        "complete": now.complete - (record is not None and is_terminal(record)),
        "acquirable": now.acquirable - (record is not None and is_acquirable(record)),
        "log_start": log.start_offset,
        "log_end": log.end_offset,
        "hole_first": hole[0],
        "hole_last": hole[1],
        "now": state.now,
        "limit": config.delivery_count_limit,
        "highest": state.highest_limit,
        "marks": state.profile.in_progress,
        "threshold": config.in_progress_staleness_threshold_ms,
        "extension": config.in_progress_max_lock_extension_ms,
        "grace": config.in_progress_rebalance_grace_ms,
        "dead_letter_queue": config.dead_letter_queue,
    }


def _other(now: Window, offset: int) -> dict[str, Any]:
    record, tracked = now.records.get(offset, UNDELIVERED), offset in now.records
    return {"other": offset, "other_record": record, "other_tracked": tracked}


def partition_of(s: AnyPartition, profile: Profile = KAFKA, **config: Any) -> SharePartition:  # noqa: ANN401 - any setting
    """Return the share-partition before the operation."""
    outstanding: Any = Points(((s.waiting, ANOTHERS),))
    settings = config_of(s, renew_acknowledge_enable=s.renewable, **config)
    log, window_ = Log(0, s.log_end), window_of(s)
    return SharePartition(
        profile, settings, s.now, log, window_, outstanding, s.next_write, ready=True
    )


def window_of(s: Any) -> Window:  # noqa: ANN401 - a situation of two offsets
    """Return the window: of two offsets each has a record, if it is tracked."""
    empty: Any = Points()
    records = Window(s.start, s.end, empty, empty, s.complete, s.acquirable)
    for tracked, offset, record in (
        (s.tracked, s.offset, s.record),
        (s.other_tracked, s.other, s.other_record),
    ):
        if tracked:
            records = window.replace(records, {offset: record})
    return records


def are_two(s: Any) -> Term:  # noqa: ANN401 - a situation of two offsets
    """Whether the two offsets are in order, and in the window where they are tracked."""
    return conjunction(
        s.start <= s.end,
        s.offset < s.other,
        s.elsewhere != s.offset,
        s.elsewhere != s.other,
        implies(s.tracked, is_between(s.start, s.offset, s.end - 1)),
        implies(s.other_tracked, is_between(s.start, s.other, s.end - 1)),
        *(is_whole(record) for record in (s.record, s.other_record)),
    )


def config_of(s: Any, **more: Any) -> SharePartitionConfig:  # noqa: ANN401 - a situation, and any setting
    """Return the configuration in force."""
    return SharePartitionConfig(
        delivery_count_limit=s.limit,
        record_lock_duration_ms=s.lock,
        dead_letter_queue=s.dead_letter_queue,
        in_progress_staleness_threshold_ms=s.threshold,
        in_progress_max_lock_extension_ms=s.extension,
        in_progress_rebalance_grace_ms=s.grace,
        **more,
    )


def is_possible(s: AnyPartition) -> Term:
    """Whether the share-partition can be: two offsets, in the window where they are tracked."""
    return conjunction(
        are_two(s),
        ends_in_the_log(s.start, s.end, s.log_end),
        s.waiting != s.write_id,
        s.waiting != s.next_write,
        s.first <= s.last,
        s.second <= s.second_last,
    )


def spans(s: AnyPartition) -> tuple[OffsetRange, ...]:
    """Return the span that the operation names, as ranges."""
    return (OffsetRange(s.first, s.last),)


def names_no_others(s: AnyPartition) -> Term:
    """Whether the operation names none but the two offsets, from the start offset on."""
    first = either(s.first >= s.start, s.first, s.start)
    single = (first == s.last) & ((first == s.offset) | (first == s.other))
    both = (first == s.offset) & (s.last == s.other) & (s.other == s.offset + 1)
    return (first > s.last) | single | both


def operated(source: str) -> Subject:
    """Return what theorems are about that tell of an operation on any share-partition."""
    return Subject(source, AnyPartition, is_possible, names_no_others)


@attrs.frozen
class Place:
    """An offset of a situation, the first or the second, and its record, if it has one."""

    index: int
    offset: Term
    tracked: Term
    record: Record


def places(s: Any) -> tuple[Place, Place]:  # noqa: ANN401 - any situation of two offsets
    """Return the two offsets of the situation."""
    return (
        Place(0, s.offset, s.tracked, s.record),
        Place(1, s.other, s.other_tracked, s.other_record),
    )
