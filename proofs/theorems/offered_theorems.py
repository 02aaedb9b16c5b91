"""Theorems about what fetches take, as this project chooses it, and about what they pass over.

The relation allows each choice of this project; which fetches that pass over a record are counted,
and up to which bound.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import attrs

from model.config import IsolationLevel
from model.guards import Guard
from model.operations import Acquire
from model.outcome import Choice, Write
from model.profile import KAFKA, KIP, Profile
from model.ranges import OffsetRange, PassedOver, StateBatch
from model.states import AcquireMode, RecordState
from model.whole_state import Delayed
from proofs.theorems.any_partition import AnyPartition, Place, places
from proofs.theorems.attempts import Refusal, attempted, refused_by, standing_in
from proofs.theorems.controls import adds, becomes, called_with, returns, wrong
from proofs.theorems.fetches import (
    fetch,
    fetched_partition,
    furthest_of,
    is_fetched,
    is_in_a_batch,
    is_in_hole,
    is_part,
)
from proofs.theorems.points import Points
from proofs.theorems.symbolic import conjunction, either_of, implies, is_between
from proofs.theorems.theorem import Control, Subject
from spec import acquire, offered, policies
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import Outstanding, SharePartition
from spec.record import is_acquirable
from spec.window import Window

FETCHES: dict[str, tuple[tuple[int, ...]]] = {
    "a fetch takes nothing of two offsets": ((),),
    "a fetch takes the first of two offsets": ((0,),),
    "a fetch takes the second of two offsets": ((1,),),
}
"""Which of the two offsets a fetch takes."""
_FETCH = Subject("KIP-932, In-flight records", AnyPartition, is_fetched)


def _forgetful(rule: str) -> Control:
    def forgets(partition: SharePartition) -> SharePartition:
        return attrs.evolve(partition, passed_over=(), stuck=None)

    change = called_with(lambda partition, *rest: (forgets(partition), *rest))
    return wrong(f"spec.offered:{rule}", "forgets how many fetches there were", change)


def _before(s: AnyPartition) -> SharePartition:
    """Return the share-partition, of which the first record waits, and its start offset too."""
    profile = attrs.evolve(KIP, offered_within=s.bound)
    waits, stuck = (PassedOver(s.offset, s.offset, s.fetches),), Delayed(s.offset, s.fetches)
    return fetched_partition(s, profile, passed_over=waits, stuck=stuck)


@_FETCH.theorem(
    55,
    of={f"offer an offset ({level})": (level,) for level in IsolationLevel},
    given=lambda s, _level: conjunction(is_fetched(s), s.other >= s.log_end),
    control=wrong("spec.record:is_acquirable", "allows what is held", becomes(lambda _r: True)),
)
def what_a_fetch_could_acquire_is_offered(s: AnyPartition, level: IsolationLevel) -> Term:
    """Offered is what is AVAILABLE and in the log, or read past, or new and has room."""
    before = fetched_partition(s)
    before = attrs.evolve(before, config=attrs.evolve(before.config, isolation_level=level))
    read = attrs.evolve(fetch(s), log_batches=(OffsetRange(s.first, s.last),))
    with standing_in(offered, first_unfinished=furthest_of(before, s.furthest)):
        offers = list(offered._offerable(before, read))  # noqa: SLF001 - the rule
    at, committed = s.offset, level is IsolationLevel.READ_COMMITTED
    inside = conjunction(s.start <= at, s.log_start <= at, at < s.log_end)
    inside = conjunction(inside, not committed or at < s.stable)
    if s.tracked:  # What the fetch has read past could have been archived.
        known = either_of(is_between(s.fetch_offset, at, s.last), negate(is_in_hole(s, at)))
        may = conjunction(inside, known, is_acquirable(s.record))
    else:
        new = (is_between(s.made_first, at, s.made_last), is_between(s.first, at, s.last))
        full = conjunction(s.other_tracked, at >= s.end, at >= s.furthest + s.width)
        may = conjunction(inside, either_of(*new), negate(is_in_hole(s, at)), negate(full))
    return any(offer == at for offer in offers) == may


@_FETCH.theorem(
    55,
    of=FETCHES,
    control=wrong(
        "spec.offered:_passed_over", "sees one offset more", returns(lambda passed: [*passed, 0])
    ),
)
def fetch_passes_over_each_record_it_could_take(s: AnyPartition, named: tuple[int, ...]) -> Term:
    """Passed over is what is offered and left before the last taken, or the first if none is."""
    # What is tracked here stands for what is offered; nothing taken, the first is passed over.
    before, operation, taken = _before(s), fetch(s), _taken(s, named)
    offers = [place for place in places(s) if place.tracked]
    with standing_in(offered, _offerable=[place.offset for place in offers]) as asked:
        passed = offered._passed_over(before, operation, taken)  # noqa: SLF001 - the rule
    left = [p.offset for p in offers if p.index not in named and p.index < max(named, default=2)]
    expected = left if named else left[:1]
    return conjunction(asked["_offerable"] == (before, operation), passed == expected)


@_FETCH.theorem(55, of=FETCHES, control=_forgetful("note_fetch"))
def record_is_passed_over_within_the_bound(s: AnyPartition, named: tuple[int, ...]) -> Term:
    """A fetch that passes over a record is one more, up to the bound, until that is acquired."""
    # What is tracked here and not taken stands for what is passed over.
    before, operation, taken = _before(s), fetch(s), _taken(s, named)
    passed = [place for place in places(s) if place.tracked and place.index not in named]
    with standing_in(offered, _passed_over=[place.offset for place in passed]) as asked:
        noted = attempted(lambda: offered.note_fetch(before, operation, taken))
    if s.maximum == 0:
        return not isinstance(noted, Refusal) and noted is before.passed_over
    counts = [s.fetches if s.start <= s.offset and 0 not in named else 0, 0]
    for place in passed:
        counts[place.index] = counts[place.index] + 1
    within = conjunction(*(counts[place.index] <= s.bound for place in passed))
    if isinstance(noted, Refusal):
        return conjunction(negate(within), noted.guard is Guard.RECORD_IS_OFFERED)
    return conjunction(
        within,
        asked["_passed_over"] == (before, operation, taken),
        *(_count_in(noted, p.offset) == counts[p.index] for p in places(s)),
        _count_in(noted, s.elsewhere) == 0,
    )


def _taken(s: AnyPartition, named: tuple[int, ...]) -> list[Term]:
    return [places(s)[index].offset for index in named]


def _count_in(noted: tuple[PassedOver, ...], offset: Term) -> Term:
    return sum(each.fetches for each in noted if is_between(each.first, offset, each.last))


@_FETCH.theorem(55, of="nothing is acquired of a full window", control=_forgetful("note_full"))
def finished_records_leave_a_full_window_within_the_bound(s: AnyPartition) -> Term:
    """A fetch that finds a window full whose start is finished is one more, up to the bound."""
    before = _before(s)
    with standing_in(offered, first_unfinished=furthest_of(before, s.furthest)):
        noted = attempted(lambda: offered.note_full(before))
    if s.furthest == s.start:
        return noted is None
    count = either(s.offset == s.start, s.fetches + 1, 1)
    if isinstance(noted, Refusal):
        return conjunction(count > s.bound, noted.guard is Guard.FINISHED_LEAVES_FULL_WINDOW)
    return conjunction(count <= s.bound, noted.offset == s.start, noted.fetches == count)


def _writing(s: AnyPartition) -> SharePartition:
    """Return the share-partition with an outstanding write of the range."""
    batch = StateBatch(s.first, s.last, RecordState.ARCHIVED, 1)
    sent: Any = Points(((s.waiting, Outstanding(Write(s.waiting, s.start, 0, (batch,)))),))
    return attrs.evolve(_before(s), outstanding=sent)


@_FETCH.theorem(
    55,
    of="the start offset is due",
    control=wrong("spec.offered:being_written", "sees no write", becomes(lambda _partition: [])),
)
def start_offset_is_due_up_to_what_is_written(s: AnyPartition) -> Term:
    """The start offset need not pass the first record whose write is outstanding."""
    writing = _writing(s)
    with standing_in(offered, first_unfinished=furthest_of(writing, s.furthest)):
        due = offered._due_start(writing)  # noqa: SLF001 - the rule
    if s.last < s.start:
        return due == s.furthest
    first = either(s.first < s.start, s.start, s.first)
    return due == either(first < s.furthest, first, s.furthest)


@_FETCH.theorem(
    55,
    of="nothing is acquired of a full window while a write is outstanding",
    control=wrong("spec.offered:is_being_written", "sees no write", becomes(lambda *_: False)),
)
def fetch_of_a_full_window_counts_unless_its_start_is_written(s: AnyPartition) -> Term:
    """A write that is outstanding makes no difference but where it reports the start offset."""
    idle, writing = _before(s), _writing(s)
    with standing_in(offered, first_unfinished=furthest_of(idle, s.furthest)):
        without = attempted(lambda: offered.note_full(idle))
    with standing_in(offered, first_unfinished=furthest_of(writing, s.furthest)):
        noted = attempted(lambda: offered.note_full(writing))
    if is_between(s.first, s.start, s.last):
        return noted is writing.stuck
    return noted == without


OPTIMIZED, LIMITED = AcquireMode.BATCH_OPTIMIZED, AcquireMode.RECORD_LIMIT


def _one_more(partition: SharePartition, operation: Acquire) -> tuple[Any, ...]:
    more = operation.max_fetch_records + 1
    return partition, attrs.evolve(operation, max_fetch_records=more)


def _unseen(partition: SharePartition, _inside: object, end: Term) -> tuple[Any, ...]:
    return partition, set(), end


CHOOSE, FIND = "spec.policies:chosen_offsets", "spec.policies:_acquirable"
BLIND = wrong(FIND, "sees no record", becomes(lambda _partition, batch: iter((batch.first,))))
SLOW = wrong(FIND, "passes over the first", returns(lambda offsets: iter([*offsets][1:])))
GREEDY = wrong(CHOOSE, "takes one more", called_with(_one_more))
UNSEEN = wrong("spec.acquire:check_growth", "sees nothing inside", called_with(_unseen))
WIDE = wrong("spec.policies:_capacity_end", "is one offset later", adds(1))


def _can_choose(s: AnyPartition) -> Term:
    """Whether the read is one of the log, from the window or where it ends.

    An empty window begins where it ends.
    """
    return conjunction(
        is_fetched(s),
        s.fetch_offset <= s.end,
        s.start <= s.furthest,
        s.furthest <= s.end,
        implies(conjunction(negate(s.tracked), negate(s.other_tracked)), s.start == s.end),
        is_part(s, s.first, s.last),
        is_part(s, s.second, s.second_last),
    )


def _names_no_others(s: AnyPartition) -> Term:
    """Whether the log batches have no offset before the second but the two."""
    first_batch = conjunction(s.first == s.offset, s.last <= s.other, s.other == s.offset + 1)
    return conjunction(first_batch, s.second == s.last + 1, s.second_last == s.second)


@attrs.frozen
class OwnChoice:
    """What this project takes of a fetch, and lets enter besides."""

    before: SharePartition
    operation: Acquire
    taken: list[Term]
    entered: list[Term]


def _choose(s: AnyPartition, mode: AcquireMode, profile: Profile) -> OwnChoice:
    """Choose. Past ``furthest`` the start offset may not move."""
    records: Any = Points(tuple((p.offset, p.record) for p in places(s) if p.tracked))
    bare = attrs.evolve(s, tracked=False, other_tracked=False)
    before = fetched_partition(bare, profile, window=Window(s.start, s.end, records))
    operation = fetch(s, mode)
    with standing_in(policies, first_unfinished=furthest_of(before, s.furthest)):
        taken = policies.chosen_offsets(before, operation)
    entered = acquire._entered_offsets(before, operation, Choice(), taken)  # noqa: SLF001 - the rule
    return OwnChoice(before, operation, taken, [*entered])


def _modes(*modes: tuple[AcquireMode, Profile]) -> dict[str, tuple[AcquireMode, Profile]]:
    """Return of which modes something is proved; elsewhere the profile makes no difference."""
    return {f"choose by {mode} ({profile.name})": (mode, profile) for mode, profile in modes}


_choice = Subject("KIP-1206", AnyPartition, _can_choose, _names_no_others)
_BOTH = _modes((OPTIMIZED, KIP), (LIMITED, KIP))


@_choice.theorem(10, 61, of=_BOTH, control=BLIND)
def own_choice_takes_what_it_may(s: AnyPartition, mode: AcquireMode, profile: Profile) -> Term:
    """What this project chooses was read, is AVAILABLE or new, and is named once."""
    own = _choose(s, mode, profile)
    return refused_by(lambda: acquire.check_taken(own.before, own.operation, own.taken)) is None


@_choice.theorem(
    61, of=_modes((OPTIMIZED, KIP), (OPTIMIZED, KAFKA), (LIMITED, KIP)), control=GREEDY
)
def own_choice_keeps_to_the_maximum(s: AnyPartition, mode: AcquireMode, profile: Profile) -> Term:
    """What this project chooses is not more than the maximum, or than it and one log batch."""
    own = _choose(s, mode, profile)
    return refused_by(lambda: acquire.check_maximum(own.before, own.operation, own.taken)) is None


@_choice.theorem(61, of=_BOTH, control=UNSEEN)
def own_choice_skips_no_record(s: AnyPartition, mode: AcquireMode, profile: Profile) -> Term:
    """What this project chooses lets the window grow over no record that stays out.

    Past the window the log may hold what lies in the log batches, from the log start offset on.
    """
    own = _choose(s, mode, profile)
    taken = own.taken
    end = taken[-1] + 1 if taken and taken[-1] >= s.end else s.end

    def outside(_log: Log, first: Term, end: Term) -> Iterator[Term]:
        for place in places(s):
            held = conjunction(is_in_a_batch(s, place.offset), s.log_start <= place.offset)
            if conjunction(first <= place.offset, place.offset < end, held):
                yield place.offset

    with standing_in(acquire, outside_holes=outside):
        inside = {*taken, *own.entered}
        return refused_by(lambda: acquire.check_growth(own.before, inside, end)) is None


@_choice.theorem(61, of=_BOTH, control=SLOW)
def own_choice_leaves_only_what_it_must(
    s: AnyPartition, mode: AcquireMode, profile: Profile
) -> Term:
    """What this project may take it leaves only at the maximum, or at the limit of the window."""
    own = _choose(s, mode, profile)
    free = [place for place in places(s) if _is_free(s, place)]
    begins = s.furthest
    if not own.before.window.records and free:
        begins = max(free[0].offset, s.furthest)
    for place in free:
        first, last = place.offset, place.offset
        if mode is OPTIMIZED:
            whole = place.offset <= s.last
            first, last = (s.first, s.last) if whole else (s.second, s.second_last)
        earlier = len([offset for offset in own.taken if offset < first])
        of_batch = [p.offset for p in free if is_between(first, p.offset, last)]
        new = [offset for offset in of_batch if offset >= s.end]
        least = new[0] if new and profile.window_may_overshoot else place.offset
        full = place.offset >= s.end and least >= begins + s.width
        if (place.offset in own.taken) == (full or earlier >= s.maximum):
            return False
    return True


def _is_free(s: AnyPartition, place: Place) -> Term:
    """Whether the offset was read and may be acquired."""
    record, lowest = place.record, s.start <= place.offset and s.log_start <= place.offset
    available = conjunction(record.state == RecordState.AVAILABLE, negate(record.pending))
    read = bool(lowest) and bool(is_in_a_batch(s, place.offset))
    return read and (not place.tracked or bool(available))


@_choice.theorem(12, 61, of=_modes(*product(AcquireMode, (KIP, KAFKA))), control=WIDE)
def own_choice_keeps_to_the_limit_of_the_window(
    s: AnyPartition, mode: AcquireMode, profile: Profile
) -> Term:
    """What this project chooses keeps to the window's limit, or to it and one log batch.

    It does wherever the start offset then moves: to ``furthest`` or beyond, but past no record that
    was acquired; an empty window begins with the first of them.
    """
    own = _choose(s, mode, profile)
    before, taken = own.before, own.taken
    new = sorted(offset for offset in {*taken, *own.entered} if offset >= s.end)
    if not new:
        return True
    start = taken[0]
    if before.window.records:
        start = max(either(s.target < start, s.target, start), s.furthest)
    moved = attrs.evolve(before, window=Window(start, new[-1] + 1))
    asked = (moved, own.operation, s.end, new[0], taken)
    return refused_by(lambda: acquire.check_width(*asked)) is None
