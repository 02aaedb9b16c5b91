"""The situation of an acquire: a share-partition with records at two offsets, and a fetch.

The two offsets stand for any two; ``elsewhere`` is any third, where no record is.
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from model.config import SharePartitionConfig
from model.operations import Acquire
from model.profile import KIP, Profile
from model.ranges import OffsetRange
from model.states import AcquireMode
from proofs.theorems.operation_situation import is_whole
from proofs.theorems.points import Points
from proofs.theorems.situation import any_offset, any_record, flag, number, situation_at
from proofs.theorems.symbolic import conjunction, implies
from spec import window
from spec.log import Log
from spec.logic import Term
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record
from spec.window import Window


@attrs.frozen
class OneAcquire:
    """A share-partition, and a fetch at ``fetch_offset`` that read two log batches.

    The log holds one batch that was produced, ``made_first`` to ``made_last``, and has one hole.
    The fetch acquires the offsets ``taken`` to ``taken_last``; ``entered`` to ``entered_last``
    enter the window. ``target`` is where the start offset is to move, ``furthest`` where it may.
    ``complete`` and ``acquirable`` count the records at other offsets; ``width`` limits the window.
    ``stable`` is the last stable offset, ``lock`` the end of the acquisition lock that is granted.
    """

    start: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    record: Record = any_record()
    tracked: Term = flag()
    other: Term = any_offset()
    other_record: Record = any_record()
    other_tracked: Term = flag()
    elsewhere: Term = number()
    complete: Term = number()
    acquirable: Term = number()
    log_start: Term = number()
    log_end: Term = number()
    stable: Term = number()
    hole_first: Term = number()
    hole_last: Term = number()
    made_first: Term = number()
    made_last: Term = number()
    now: Term = number()
    lock: Term = number()
    width: Term = number(1)
    acquisition: Term = number()
    member: Term = number()
    fetch_offset: Term = number()
    first: Term = number()
    first_last: Term = number()
    second: Term = number()
    last: Term = number()
    maximum: Term = number()
    taken: Term = number()
    taken_last: Term = number()
    entered: Term = number()
    entered_last: Term = number()
    target: Term = number()
    furthest: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> Iterator["OneAcquire"]:
        """Yield fetches from where a run came to."""
        now, log = state.window, state.log
        start, end = now.start_offset, now.end_offset
        produced = (*log.batches, (end + 9, end + 9))[0]
        for offset in range(start, end + 1):
            other = offset + 1
            here = situation_at(
                cls, state, offset, other=other, other_record=now.records.get(other, UNDELIVERED),
                other_tracked=other in now.records, elsewhere=end + 3, member="a",
                stable=log.end_offset, made_first=produced[0], made_last=produced[1],
                lock=state.config.record_lock_duration_ms, acquisition=state.next_acquisition,
                width=state.config.partition_max_record_locks, fetch_offset=start,
                first=offset, first_last=offset, second=other, last=other, maximum=2,
                taken=offset, taken_last=offset, entered=other, entered_last=other,
                target=start, furthest=start,
            )  # fmt: skip
            yield here
            yield attrs.evolve(here, first_last=other, second=other + 1, last=other + 2, maximum=0)


def partition_of(s: OneAcquire, profile: Profile = KIP, **fields: Any) -> SharePartition:  # noqa: ANN401 - any field
    """Return the share-partition before the fetch."""
    empty: Any = Points()
    records = Window(s.start, s.end, empty, empty, s.complete, s.acquirable)
    if s.tracked:
        records = window.replace(records, {s.offset: s.record})
    if s.other_tracked:
        records = window.replace(records, {s.other: s.other_record})
    config = SharePartitionConfig(
        record_lock_duration_ms=s.lock, partition_max_record_locks=s.width
    )
    before = SharePartition(
        profile,
        config,
        s.now,
        log_of(s),
        records,
        empty,
        ready=True,
        next_acquisition=s.acquisition,
    )
    return attrs.evolve(before, **fields)


def log_of(s: OneAcquire) -> Log:
    """Return the log: one hole, and one batch that was produced."""
    holes, batches = ((s.hole_first, s.hole_last),), ((s.made_first, s.made_last),)
    return Log(s.log_start, s.log_end, holes, batches, s.stable)


def fetch(s: OneAcquire, mode: AcquireMode = AcquireMode.RECORD_LIMIT) -> Acquire:
    """Return the fetch, which read two log batches."""
    batches = (OffsetRange(s.first, s.first_last), OffsetRange(s.second, s.last))
    return Acquire(s.member, mode, 1, s.maximum, s.fetch_offset, batches)


def is_fetched(s: OneAcquire) -> Term:
    """Whether the share-partition can be, and the fetch is well formed."""
    return conjunction(
        s.start <= s.end,
        s.offset < s.other,
        s.elsewhere != s.offset,
        s.elsewhere != s.other,
        s.first <= s.first_last,
        s.first_last < s.second,
        s.second <= s.last,
        s.hole_first <= s.hole_last,
        s.made_first <= s.made_last,
        implies(s.tracked, conjunction(s.start <= s.offset, s.offset < s.end)),
        implies(s.other_tracked, conjunction(s.start <= s.other, s.other < s.end)),
        *(is_whole(record) for record in (s.record, s.other_record)),
    )


def furthest_of(before: SharePartition, furthest: Term) -> Callable[[Window, Log], Term]:
    """Return the rule by which the start offset of this share-partition may move so far."""

    def first_unfinished(now: Window, log: Log) -> Term:
        asked = now is before.window and log is before.log
        return furthest if asked else now.start_offset - 1

    return first_unfinished


def is_in_hole(s: OneAcquire, offset: Term) -> Term:
    """Whether the log has a hole at the offset."""
    return conjunction(s.hole_first <= offset, offset <= s.hole_last)


def is_read(s: OneAcquire, offset: Term) -> Term:
    """Whether the offset lies between the first and the last that the fetch read."""
    return conjunction(s.first <= offset, offset <= s.last)
