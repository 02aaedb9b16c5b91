"""Any share-partition, and an operation on it: what a theorem says is proved whatever else is so.

The two offsets stand for any two: what an operation does to one, whether the other can stop it, and
in which order they come. ``elsewhere`` is any third, where no record is. A theorem names what it
needs; the rest may have any value.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import ModuleType
from typing import Any, Self

import attrs

from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.operations import Acquire
from model.outcome import Answer, Write
from model.profile import KAFKA, KIP, Profile
from model.ranges import OffsetRange, StateBatch
from model.states import AcquireMode, RecordState
from proofs.theorems.lifting import is_term, with_attributes
from proofs.theorems.points import Points
from proofs.theorems.situation import (
    any_like,
    any_offset,
    ends_in_the_log,
    flag,
    number,
    situation_at,
)
from proofs.theorems.symbolic import conjunction, implies, is_between, is_same
from spec import window
from spec.log import Log, hole_end
from spec.logic import Term, absent, either, negate
from spec.partition import Outstanding, SharePartition
from spec.record import UNDELIVERED, Record, is_terminal
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
    ``after`` and ``other_after`` are what the records become. ``state`` and ``count`` are what the
    share coordinator has of the first one: AVAILABLE and 0, if it was never written.

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
    other_after: Record = any_like(UNDELIVERED)
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
        hole = (*log.holes, (log.end_offset + 8, log.end_offset + 8))[0]
        for offset in range(now.start_offset, now.end_offset + 1):
            record = now.records.get(offset, UNDELIVERED)
            entry = state.durable.entries.get(offset, (RecordState.AVAILABLE, 0))
            alone = situation_at(
                cls, state, offset, other=now.end_offset + 2, elsewhere=now.end_offset + 1,
                first=offset, last=offset, second=offset, second_last=offset, waiting=7,
                write_id=8, renewable=True, member="a", next_write=state.next_write, lock=lock,
                awaited=record.pending, acquisition=record.acquisition or 0, finished=finished,
                state=entry[0], count=entry[1],
            )  # fmt: skip
            yield attrs.evolve(alone, member="b", now=state.now + lock)
            yield attrs.evolve(alone, first=log.end_offset, second=hole[0], second_last=hole[1])
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


def names_no_others(s: AnyPartition) -> Term:
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


def waits_for_its_write(s: AnyPartition) -> Answer:
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
        *map(is_same, map(now.records.get, (s.offset, s.other)), records),
        negate(s.elsewhere in now.records),
        now.start_offset == (s.start if start is None else start),
        now.end_offset == (s.end if end is None else end),
        kept(before, after, "window", *changing),
    )


def others_wait(s: AnyPartition, after: SharePartition) -> bool:
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


def log_of(s: AnyPartition) -> Log:
    """Return the log: one hole, and one batch that was produced."""
    holes, batches = ((s.hole_first, s.hole_last),), ((s.made_first, s.made_last),)
    return Log(s.log_start, s.log_end, holes, batches, s.stable)


def fetched_partition(s: AnyPartition, profile: Profile = KIP, **fields: Any) -> SharePartition:  # noqa: ANN401 - any field
    """Return the share-partition before a fetch, with these fields if they are others.

    Its log has what is known of it, and no write is outstanding.
    """
    empty: Any = Points()
    before = partition_of(s, profile, partition_max_record_locks=s.width)
    known = {"log": log_of(s), "outstanding": empty, "next_acquisition": s.acquisition}
    return attrs.evolve(before, **(known | fields))


def fetch(s: AnyPartition, mode: AcquireMode = AcquireMode.RECORD_LIMIT) -> Acquire:
    """Return the fetch, which read two log batches."""
    batches = (OffsetRange(s.first, s.last), OffsetRange(s.second, s.second_last))
    return Acquire(s.member, mode, 1, s.maximum, s.fetch_offset, batches)


def is_fetched(s: AnyPartition) -> Term:
    """Whether the share-partition can be, and the fetch is well formed."""
    return conjunction(
        are_two(s),
        s.first <= s.last,
        s.last < s.second,
        s.second <= s.second_last,
        s.hole_first <= s.hole_last,
        s.made_first <= s.made_last,
    )


def is_empty(s: AnyPartition) -> Term:
    """Whether it is fetched, and no record is at the two offsets."""
    return conjunction(is_fetched(s), negate(s.tracked), negate(s.other_tracked))


def is_in_hole(s: AnyPartition, offset: Term) -> Term:
    """Whether the log has a hole at the offset."""
    return is_between(s.hole_first, offset, s.hole_last)


def is_in_a_batch(s: AnyPartition, offset: Term) -> Term:
    """Whether the offset is one of a log batch that the fetch read."""
    return either_of(
        is_between(s.first, offset, s.last), is_between(s.second, offset, s.second_last)
    )


def either_of(*conditions: Term) -> Term:
    """Return whether one of the conditions holds at least."""
    return negate(conjunction(*(negate(condition) for condition in conditions)))


def furthest_of(before: SharePartition, furthest: Term) -> Callable[[Window, Log], Term]:
    """Return the rule by which the start offset of this share-partition may move so far."""

    def rule(now: Window, log: Log) -> Term:
        asked = now is before.window and log is before.log
        return furthest if asked else now.start_offset - 1

    return rule


@contextmanager
def standing_in(module: ModuleType, **answers: Any) -> Iterator[dict[str, tuple[Any, ...]]]:  # noqa: ANN401 - any answer
    """Let functions of a module give these answers, and note what each was asked last.

    A theorem that puts another in the place of a check cites what is proved of the check.
    """
    asked: dict[str, tuple[Any, ...]] = {}

    def stand_in(name: str) -> Callable[..., Any]:
        def answer(*arguments: Any) -> Any:  # noqa: ANN401 - as the function
            asked[name] = arguments
            given = answers[name]
            return given(*arguments) if callable(given) else given

        return answer

    with with_attributes([(module, {name: stand_in(name) for name in answers})]):
        yield asked


def refused_by(check: Callable[[], Any]) -> Any:  # noqa: ANN401 - a guard, or None
    """Return the guard by which a check refuses, or None."""
    answer = attempted(check)
    return answer.guard if isinstance(answer, Refusal) else None


def first_broken(*rules: tuple[Term, Enum]) -> Enum | None:
    """Return the guard of the first condition that does not hold, or None."""
    return next((guard for condition, guard in rules if not condition), None)
