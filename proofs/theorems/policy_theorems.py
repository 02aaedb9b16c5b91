"""Theorems about the default choices of this project: the relation allows each of them.

What an acquire asks of its checks about such a choice is proved in ``acquire_theorems``.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any
from unittest.mock import patch

import attrs

from model.operations import Acquire
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.states import AcquireMode, RecordState
from proofs.theorems.any_partition import AnyPartition as OneAcquire
from proofs.theorems.any_partition import (
    fetch,
    furthest_of,
    is_fetched,
    partition_of,
    refused_by,
)
from proofs.theorems.controls import adds, becomes, called_with, returns
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.points import Points
from proofs.theorems.statement import Subject, theorems_in, wrong
from proofs.theorems.symbolic import conjunction, implies
from spec import acquire, policies
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.window import Window

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


def _is_part(s: OneAcquire, first: Term, last: Term) -> Term:
    """Whether a log batch is a part of the one that was produced, or apart from it."""
    apart = (s.made_first > last) | (first > s.made_last)
    return apart | conjunction(s.made_first <= first, last <= s.made_last)


def _can_choose(s: OneAcquire) -> Term:
    """Whether the read is one of the log, from the window or where it ends.

    An empty window begins where it ends.
    """
    return conjunction(
        is_fetched(s),
        s.fetch_offset <= s.end,
        s.start <= s.furthest,
        s.furthest <= s.end,
        implies(conjunction(negate(s.tracked), negate(s.other_tracked)), s.start == s.end),
        _is_part(s, s.first, s.first_last),
        _is_part(s, s.second, s.last),
    )


def _names_no_others(s: OneAcquire) -> Term:
    """Whether the log batches have no offset before the second but the two."""
    first_batch = conjunction(s.first == s.offset, s.first_last <= s.other, s.other == s.offset + 1)
    return conjunction(first_batch, s.second == s.first_last + 1, s.last == s.second)


@attrs.frozen
class OwnChoice:
    """What this project takes of a fetch, and lets enter besides."""

    before: SharePartition
    operation: Acquire
    taken: list[Term]
    entered: list[Term]


def _choose(s: OneAcquire, mode: AcquireMode, profile: Profile) -> OwnChoice:
    """Choose. Past ``furthest`` the start offset may not move."""
    records: Any = Points(tuple((p.offset, p.record) for p in places(s) if p.tracked))
    bare = attrs.evolve(s, tracked=False, other_tracked=False)
    before = partition_of(bare, profile, window=Window(s.start, s.end, records))
    operation = fetch(s, mode)
    with patch.object(policies, "first_unfinished", furthest_of(before, s.furthest)):
        taken = policies.chosen_offsets(before, operation)
    entered = acquire._entered_offsets(before, operation, Choice(), taken)  # noqa: SLF001 - the rule
    return OwnChoice(before, operation, taken, [*entered])


def _modes(*modes: tuple[AcquireMode, Profile]) -> dict[str, tuple[AcquireMode, Profile]]:
    """Return of which modes something is proved; elsewhere the profile makes no difference."""
    return {f"choose by {mode} ({profile.name})": (mode, profile) for mode, profile in modes}


_choice = Subject("KIP-1206", OneAcquire, _can_choose, _names_no_others)
_BOTH = _modes((OPTIMIZED, KIP), (LIMITED, KIP))


@_choice.theorem(10, 61, of=_BOTH, control=BLIND)
def own_choice_takes_what_it_may(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    """What this project chooses was read, is AVAILABLE or new, and is named once."""
    own = _choose(s, mode, profile)
    return refused_by(lambda: acquire.check_taken(own.before, own.operation, own.taken)) is None


@_choice.theorem(
    61,
    of=_modes((OPTIMIZED, KIP), (OPTIMIZED, KAFKA), (LIMITED, KIP)),
    control=GREEDY,
)
def own_choice_keeps_to_the_maximum(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    """What this project chooses is not more than the maximum, or than it and one log batch."""
    own = _choose(s, mode, profile)
    return refused_by(lambda: acquire.check_maximum(own.before, own.operation, own.taken)) is None


@_choice.theorem(61, of=_BOTH, control=UNSEEN)
def own_choice_skips_no_record(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    """What this project chooses lets the window grow over no record that stays out.

    Past the window the log may hold what lies in the log batches, from the log start offset on.
    """
    own = _choose(s, mode, profile)
    taken = own.taken
    end = taken[-1] + 1 if taken and taken[-1] >= s.end else s.end

    def outside(_log: Log, first: Term, end: Term) -> Iterator[Term]:
        for place in places(s):
            held = conjunction(_is_in_a_batch(s, place.offset), s.log_start <= place.offset)
            if conjunction(first <= place.offset, place.offset < end, held):
                yield place.offset

    with patch.object(acquire, "outside_holes", outside):
        inside = {*taken, *own.entered}
        return refused_by(lambda: acquire.check_growth(own.before, inside, end)) is None


def _is_in_a_batch(s: OneAcquire, offset: Term) -> Term:
    in_first = conjunction(s.first <= offset, offset <= s.first_last)
    return in_first | conjunction(s.second <= offset, offset <= s.last)


@_choice.theorem(61, of=_BOTH, control=SLOW)
def own_choice_leaves_only_what_it_must(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    """What this project may take it leaves only at the maximum, or at the limit of the window."""
    own = _choose(s, mode, profile)
    free = [place for place in places(s) if _is_free(s, place)]
    begins = s.furthest
    if not own.before.window.records and free:
        begins = max(free[0].offset, s.furthest)
    for place in free:
        first, last = place.offset, place.offset
        if mode is OPTIMIZED:
            whole = place.offset <= s.first_last
            first, last = (s.first, s.first_last) if whole else (s.second, s.last)
        earlier = len([offset for offset in own.taken if offset < first])
        of_batch = [p.offset for p in free if conjunction(first <= p.offset, p.offset <= last)]
        new = [offset for offset in of_batch if offset >= s.end]
        least = new[0] if new and profile.window_may_overshoot else place.offset
        full = place.offset >= s.end and least >= begins + s.width
        if (place.offset in own.taken) == (full or earlier >= s.maximum):
            return False
    return True


def _is_free(s: OneAcquire, place: Place) -> Term:
    """Whether the offset was read and may be acquired."""
    record, lowest = place.record, s.start <= place.offset and s.log_start <= place.offset
    available = conjunction(record.state == RecordState.AVAILABLE, negate(record.pending))
    read = bool(lowest) and bool(_is_in_a_batch(s, place.offset))
    return read and (not place.tracked or bool(available))


@_choice.theorem(12, 61, of=_modes(*product(AcquireMode, (KIP, KAFKA))), control=WIDE)
def own_choice_keeps_to_the_limit_of_the_window(
    s: OneAcquire, mode: AcquireMode, profile: Profile
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


POLICY_THEOREMS = theorems_in(globals())
