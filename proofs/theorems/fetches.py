"""A fetch from any share-partition: it reads two log batches of a log of which little is known."""

from collections.abc import Callable
from typing import Any

import attrs

from model.operations import Acquire
from model.profile import KIP, Profile
from model.ranges import OffsetRange
from model.states import AcquireMode
from proofs.theorems.any_partition import AnyPartition, are_two, partition_of
from proofs.theorems.points import Points
from proofs.theorems.symbolic import conjunction, either_of, is_between
from spec.log import Log
from spec.logic import Term, negate
from spec.partition import SharePartition
from spec.window import Window


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


def is_part(s: AnyPartition, first: Term, last: Term) -> Term:
    """Whether a log batch is a part of the one that was produced, or apart from it."""
    inside = conjunction(s.made_first <= first, last <= s.made_last)
    return either_of(inside, s.made_first > last, first > s.made_last)


def furthest_of(before: SharePartition, furthest: Term) -> Callable[[Window, Log], Term]:
    """Return the rule by which the start offset of this share-partition may move so far."""

    def rule(now: Window, log: Log) -> Term:
        asked = now is before.window and log is before.log
        return furthest if asked else now.start_offset - 1

    return rule
