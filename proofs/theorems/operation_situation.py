"""The situation of an operation: a share-partition with records at two offsets, and its arguments.

The two offsets stand for any two: what an operation does to one, whether the other can stop it, and
in which order they come. ``elsewhere`` is any third, where no record is.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Self

import attrs

from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.outcome import Answer, Write
from model.profile import KAFKA, Profile
from model.ranges import StateBatch
from model.states import RecordState
from proofs.theorems.lifting import is_term
from proofs.theorems.points import Points
from proofs.theorems.situation import (
    any_like,
    any_offset,
    ends_in_the_log,
    flag,
    number,
    situation_at,
)
from proofs.theorems.symbolic import conjunction, implies, is_between
from spec import window
from spec.log import Log
from spec.logic import Term, absent, either, negate
from spec.partition import Outstanding, SharePartition
from spec.record import UNDELIVERED, Record, is_terminal
from spec.window import Window

ANOTHERS = Outstanding(Write(0, 0, 0))
"""A write that is outstanding before the operation."""
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


@attrs.frozen
class OneOperation:
    """A share-partition, and an operation that names the offsets ``first`` to ``last``.

    ``second`` to ``second_last`` is a second range, where an operation names two, or a hole of the
    log. ``complete`` and ``acquirable`` count the records at other offsets, and ``finished`` are
    the offsets whose delivery is complete. ``waiting`` is the id of a write that is
    outstanding, ``write_id`` that of a write of the operation, and ``seq`` names the operation.
    ``awaited`` and ``other_awaited``: such a write is outstanding for the record at that offset.
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
    awaited: Term = flag()
    other_awaited: Term = flag()
    finished: Term = any_like(frozenset())

    @classmethod
    def reached(cls, state: SharePartition) -> Iterator[Self]:
        """Yield operations on a share-partition that a run reached, on one record or on two."""
        now, log, lock = state.window, state.log, state.config.record_lock_duration_ms
        records, end, far = now.records, now.end_offset, now.end_offset + 2
        finished = frozenset(at for at, record in records.items() if is_terminal(record))
        hole = (*log.holes, (log.end_offset + 8, log.end_offset + 8))[0]
        for offset in range(now.start_offset, end + 1):
            record = records.get(offset, UNDELIVERED)
            alone = situation_at(
                cls, state, offset, other=far, elsewhere=end + 1, first=offset, last=offset,
                second=offset, second_last=offset, waiting=7, write_id=8, renewable=True,
                member="a", next_write=state.next_write, lock=lock, awaited=record.pending,
                acquisition=record.acquisition or 0, finished=finished,
            )  # fmt: skip
            yield alone
            with_hole = attrs.evolve(alone, second=hole[0], second_last=hole[1])
            yield with_hole
            yield attrs.evolve(with_hole, first=log.end_offset)
            yield attrs.evolve(alone, member="b", now=state.now + lock)
            other = offset + 1 if offset + 1 < end else now.start_offset
            if other != offset < end:
                both = attrs.evolve(
                    alone, other=other, other_record=records.get(other, UNDELIVERED),
                    other_tracked=other in records, second=other, second_last=other,
                )  # fmt: skip
                yield both
                yield attrs.evolve(both, elapsed=lock, last=max(offset, other))


def partition_of(s: OneOperation, profile: Profile = KAFKA, **config: Any) -> SharePartition:  # noqa: ANN401 - any setting
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


def is_possible(s: OneOperation) -> Term:
    """Whether the share-partition can be: two offsets, in the window where they are tracked."""
    return conjunction(
        are_two(s),
        ends_in_the_log(s.start, s.end, s.log_end),
        s.waiting != s.write_id,
        s.waiting != s.next_write,
        s.first <= s.last,
        s.second <= s.second_last,
    )


def names_no_others(s: OneOperation) -> Term:
    """Whether the operation names none but the two offsets, from the start offset on."""
    first = either(s.first >= s.start, s.first, s.start)
    single = (first == s.last) & ((first == s.offset) | (first == s.other))
    both = (first == s.offset) & (s.last == s.other) & (s.other == s.offset + 1)
    return (first > s.last) | single | both


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


def waits_for_its_write(s: OneOperation) -> Answer:
    """Return the answer that the write of the operation is outstanding."""
    return Answer(ErrorCode.PENDING, s.write_id)


@attrs.frozen
class Refusal:
    """What refused a choice; None: the operation itself is impossible."""

    guard: Enum | None


def attempted(operation: Callable[[], Any]) -> Any:  # noqa: ANN401 - as the operation, or Refusal
    """Return what the operation returns, or its refusal."""
    try:
        return operation()
    except IllegalChoiceError as refused:
        return Refusal(refused.guard)
    except InvalidValueError:
        return Refusal(None)


def same_record(record: Record | None, other: Record | None, *aside: str) -> Term:
    """Whether two records are the same, but for the fields named; or neither is there."""
    if record is None or other is None:
        return record is other
    names = (field.name for field in attrs.fields(Record) if field.name not in aside)
    return conjunction(*(same(getattr(record, name), getattr(other, name)) for name in names))


def same(value: Term, other: Term) -> Term:
    """Whether two values are the same, or absent."""
    if value is None or other is None:
        return absent(value) & absent(other)
    return value == other


def kept(before: SharePartition, after: SharePartition, *changing: str) -> Term:
    """Whether each field of a share-partition is as before, but those named."""
    names = (field.name for field in attrs.fields(SharePartition) if field.name not in changing)
    pairs = ((getattr(before, name), getattr(after, name)) for name in names)
    return conjunction(*(old is new or (_is_number(old, new) and old == new) for old, new in pairs))


def _is_number(*values: Term) -> bool:
    return all(is_term(value) or isinstance(value, int) for value in values)


def changes_to(  # noqa: PLR0913 - what of a window may change, each by its name
    s: Any,  # noqa: ANN401 - a situation of two offsets
    before: SharePartition,
    after: SharePartition,
    records: Iterable[Record | None],
    *changing: str,
    start: Term = None,
    end: Term = None,
) -> Term:
    """Whether the two offsets hold these records, no other one does, and the rest is as before.

    ``changing`` are the fields that may change besides the window. None: an end stays.
    """
    now = after.window
    return conjunction(
        *map(same_record, map(now.records.get, (s.offset, s.other)), records),
        negate(s.elsewhere in now.records),
        now.start_offset == (s.start if start is None else start),
        now.end_offset == (s.end if end is None else end),
        kept(before, after, "window", *changing),
    )


def others_wait(s: OneOperation, after: SharePartition) -> bool:
    """Whether the write that was outstanding still is."""
    return after.outstanding.get(s.waiting) is ANOTHERS


def reported(write: Write, offset: Term) -> StateBatch | None:
    """Return the batch of a write that holds the offset."""
    held = (b for b in write.state_batches if is_between(b.first, offset, b.last))
    return next(held, None)


def reports(write: Write, offset: Term, record: Record | None) -> Term:
    """Whether the write reports this record at the offset; None: nothing."""
    batch = reported(write, offset)
    if batch is None or record is None:
        return batch is None and record is None
    return conjunction(batch.state == record.state, batch.delivery_count == record.delivery_count)


def completes(*records: Record) -> Term:
    """Return how many of the records are complete."""
    total: Term = 0
    for record in records:
        total = total + either(is_complete(record), 1, 0)
    return total
