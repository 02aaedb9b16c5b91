"""Any share-partition: what a theorem says of it is proved whatever else may be so.

The two offsets stand for any two: what an operation does to one, whether the other can stop it, and
in which order they come. ``elsewhere`` is any third, where no record is. A theorem names what it
needs; the rest may have any value.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import ModuleType
from typing import Any

import attrs

from model.config import SharePartitionConfig
from model.operations import Acquire
from model.profile import KIP, Profile
from model.ranges import OffsetRange
from model.states import AcquireMode
from proofs.theorems.lifting import with_attributes
from proofs.theorems.operation_situation import Refusal, are_two, attempted, window_of
from proofs.theorems.points import Points
from proofs.theorems.situation import any_like, any_offset, flag, number, situation_at
from proofs.theorems.symbolic import conjunction, is_between
from spec.log import Log, hole_end
from spec.logic import Term, negate
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record
from spec.window import Window, first_unfinished


@attrs.frozen
class AnyPartition:
    """A share-partition, a fetch at ``fetch_offset`` that read two log batches, and a choice.

    The log holds one batch that was produced, ``made_first`` to ``made_last``, and has one hole;
    ``missing``: it has a hole at ``offset``. ``stable`` is the last stable offset. ``complete`` and
    ``acquirable`` count the records at other offsets; ``width`` limits the window. ``after`` and
    ``other_after`` are what the records become.

    The fetch acquires the offsets ``taken`` to ``taken_last`` until ``lock``; ``entered`` to
    ``entered_last`` enter the window. ``target`` is where the start offset is to move,
    ``furthest`` where it may. ``fetches`` passed over a record that waits, of ``bound`` at most.
    """

    start: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    record: Record = any_like(UNDELIVERED)
    tracked: Term = flag()
    after: Record = any_like(UNDELIVERED)
    other: Term = any_offset()
    other_record: Record = any_like(UNDELIVERED)
    other_tracked: Term = flag()
    other_after: Record = any_like(UNDELIVERED)
    elsewhere: Term = number()
    complete: Term = number()
    acquirable: Term = number()
    log_start: Term = number()
    log_end: Term = number()
    stable: Term = number()
    hole_first: Term = number()
    hole_last: Term = number()
    missing: Term = flag()
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
    fetches: Term = number(1)
    bound: Term = number(1)

    @classmethod
    def reached(cls, state: SharePartition) -> Iterator["AnyPartition"]:
        """Yield what may come of a share-partition that a run reached."""
        now, log = state.window, state.log
        start, end = now.start_offset, now.end_offset
        furthest = first_unfinished(now, log)
        made = (*log.batches, (end + 9, end + 9))[0]
        for offset in range(start, end + 1):
            other = offset + 1
            here = situation_at(
                cls, state, offset, other=other, other_record=now.records.get(other, UNDELIVERED),
                other_tracked=other in now.records, elsewhere=end + 3, member="a",
                stable=log.end_offset, made_first=made[0], made_last=made[1],
                missing=hole_end(log, offset) is not None, bound=3,
                lock=state.config.record_lock_duration_ms, acquisition=state.next_acquisition,
                width=state.config.partition_max_record_locks, fetch_offset=start,
                first=offset, first_last=offset, second=other, last=other, maximum=2,
                taken=offset, taken_last=offset, entered=other, entered_last=other,
                target=start, furthest=furthest,
            )  # fmt: skip
            yield here
            yield attrs.evolve(here, first_last=other, second=other + 1, last=other + 2, maximum=0)
            for target in range(start + 1, end + 2):
                yield attrs.evolve(here, target=target)
            if start in now.records:
                first = now.records[start]
                yield attrs.evolve(here, other=start, other_record=first, other_tracked=True)


def log_of(s: AnyPartition) -> Log:
    """Return the log: one hole, and one batch that was produced."""
    holes, batches = ((s.hole_first, s.hole_last),), ((s.made_first, s.made_last),)
    return Log(s.log_start, s.log_end, holes, batches, s.stable)


def partition_of(s: AnyPartition, profile: Profile = KIP, **fields: Any) -> SharePartition:  # noqa: ANN401 - any field
    """Return the share-partition, with these fields if they are others."""
    empty: Any = Points()
    config = SharePartitionConfig(
        record_lock_duration_ms=s.lock, partition_max_record_locks=s.width
    )
    before = SharePartition(
        profile,
        config,
        s.now,
        log_of(s),
        window_of(s),
        empty,
        ready=True,
        next_acquisition=s.acquisition,
    )
    return attrs.evolve(before, **fields)


def fetch(s: AnyPartition, mode: AcquireMode = AcquireMode.RECORD_LIMIT) -> Acquire:
    """Return the fetch, which read two log batches."""
    batches = (OffsetRange(s.first, s.first_last), OffsetRange(s.second, s.last))
    return Acquire(s.member, mode, 1, s.maximum, s.fetch_offset, batches)


def is_fetched(s: AnyPartition) -> Term:
    """Whether the share-partition can be, and the fetch is well formed."""
    return conjunction(
        are_two(s),
        s.first <= s.first_last,
        s.first_last < s.second,
        s.second <= s.last,
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
        is_between(s.first, offset, s.first_last), is_between(s.second, offset, s.last)
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
