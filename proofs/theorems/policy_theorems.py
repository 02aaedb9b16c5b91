"""Theorems about the default choices of this project: the relation allows each of them.

What an acquire asks of its checks about such a choice is proved in ``acquire_operation_theorems``.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any
from unittest.mock import patch

import attrs

from model.operations import Acquire
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.states import AcquireMode, RecordState
from proofs.theorems.acquire_guard_theorems import refused_by
from proofs.theorems.acquire_situation import (
    OneAcquire,
    fetch,
    furthest_of,
    is_fetched,
    partition_of,
)
from proofs.theorems.controls import adds, becomes, called_with, returns
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.points import Points
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Property, Theorem, about
from spec import acquire, policies
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.window import Window

Claim = Callable[[OneAcquire, AcquireMode, Profile], Term]


def _is_part(s: OneAcquire, first: Term, last: Term) -> Term:
    """Whether a log batch is a part of the one that was produced, or apart from it."""
    apart = negate(conjunction(s.made_first <= last, first <= s.made_last))
    inside = conjunction(s.made_first <= first, last <= s.made_last)
    return negate(conjunction(negate(apart), negate(inside)))


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


def _before(s: OneAcquire, profile: Profile) -> SharePartition:
    records: Any = Points(tuple((p.offset, p.record) for p in places(s) if p.tracked))
    bare = attrs.evolve(s, tracked=False, other_tracked=False)
    return partition_of(bare, profile, window=Window(s.start, s.end, records))


def _choose(s: OneAcquire, before: SharePartition, operation: Acquire) -> list[Term]:
    """Return what this project takes. Past ``furthest`` the start offset may not move."""
    with patch.object(policies, "first_unfinished", furthest_of(before, s.furthest)):
        return policies.chosen_offsets(before, operation)


def _may_take(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    """Whether each offset may be taken."""
    before, operation = _before(s, profile), fetch(s, mode)
    taken = _choose(s, before, operation)
    return refused_by(lambda: acquire.check_taken(before, operation, taken)) is None


def _keeps_the_maximum(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    before, operation = _before(s, profile), fetch(s, mode)
    taken = _choose(s, before, operation)
    return refused_by(lambda: acquire.check_maximum(before, operation, taken)) is None


def _skips_nothing(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    """Whether the window grows over no record that stays out.

    Past the window the log may hold what lies in the log batches, from the log start offset on.
    """
    before, operation = _before(s, profile), fetch(s, mode)
    taken = _choose(s, before, operation)
    entered = acquire._entered_offsets(before, operation, Choice(), taken)  # noqa: SLF001 - the rule
    end = taken[-1] + 1 if taken and taken[-1] >= s.end else s.end

    def outside(_log: Log, first: Term, end: Term) -> Iterator[Term]:
        for place in places(s):
            held = conjunction(_is_in_a_batch(s, place.offset), s.log_start <= place.offset)
            if conjunction(first <= place.offset, place.offset < end, held):
                yield place.offset

    with patch.object(acquire, "outside_holes", outside):
        inside = {*taken, *entered}
        return refused_by(lambda: acquire.check_growth(before, inside, end)) is None


def _is_in_a_batch(s: OneAcquire, offset: Term) -> Term:
    in_first = conjunction(s.first <= offset, offset <= s.first_last)
    in_second = conjunction(s.second <= offset, offset <= s.last)
    return negate(conjunction(negate(in_first), negate(in_second)))


def _keeps_the_width(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    """Whether the window is as wide as it may be, wherever the start offset then moves.

    It moves to ``furthest`` or beyond, but past no record that was acquired; an empty window begins
    with the first of them.
    """
    before, operation = _before(s, profile), fetch(s, mode)
    taken = _choose(s, before, operation)
    entered = acquire._entered_offsets(before, operation, Choice(), taken)  # noqa: SLF001 - the rule
    new = sorted(offset for offset in {*taken, *entered} if offset >= s.end)
    if not new:
        return True
    start = either(s.target < taken[0], s.target, taken[0])
    start = either(start < s.furthest, s.furthest, start)
    if not before.window.records:
        start = taken[0]
    moved = attrs.evolve(before, window=Window(start, new[-1] + 1))
    asked = (moved, operation, s.end, new[0], taken)
    return refused_by(lambda: acquire.check_width(*asked)) is None


def _leaves_the_rest(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    """Whether what could be taken is left for the maximum or the limit of the window alone."""
    before, operation = _before(s, profile), fetch(s, mode)
    taken = _choose(s, before, operation)
    free = [place for place in places(s) if _is_free(s, place)]
    begins = s.furthest
    if not before.window.records and free:
        begins = either(free[0].offset > s.furthest, free[0].offset, s.furthest)
    cap = begins + s.width
    for place in free:
        first, last = place.offset, place.offset
        if mode is OPTIMIZED:
            whole = place.offset <= s.first_last
            first, last = (s.first, s.first_last) if whole else (s.second, s.last)
        earlier = len([offset for offset in taken if offset < first])
        new = [
            p.offset for p in free if first <= p.offset and p.offset <= last and p.offset >= s.end
        ]
        least = new[0] if new and profile.window_may_overshoot else place.offset
        full = place.offset >= s.end and least >= cap
        if (place.offset in taken) == (full or earlier >= s.maximum):
            return False
    return True


def _is_free(s: OneAcquire, place: Place) -> Term:
    """Whether the offset was read and may be acquired."""
    record, lowest = place.record, s.start <= place.offset and s.log_start <= place.offset
    available = conjunction(record.state == RecordState.AVAILABLE, negate(record.pending))
    read = bool(lowest) and bool(_is_in_a_batch(s, place.offset))
    return read and (not place.tracked or bool(available))


AVAILABLE = Property(
    "own_choice_takes_what_it_may",
    "What this project chooses was read, is AVAILABLE or new, and is named once.",
    "KIP-1206",
    (10,),
)
MAXIMUM = Property(
    "own_choice_keeps_to_the_maximum",
    "What this project chooses is not more than the maximum, or than it and one log batch.",
    "KIP-1206",
)
GROWTH = Property(
    "own_choice_skips_no_record",
    "What this project chooses lets the window grow over no record that stays out.",
    "KIP-1206",
)
REST = Property(
    "own_choice_leaves_only_what_it_must",
    "This project leaves what it may take only at the maximum, or at the limit of the window.",
    "KIP-1206",
)
WIDTH = Property(
    "own_choice_keeps_to_the_limit_of_the_window",
    "What this project chooses keeps to the limit of the window, or to it and one log batch where "
    "the profile allows that.",
    "KIP-1206",
    (12,),
)


def _asks_for_more(partition: SharePartition, operation: Acquire) -> tuple[Any, ...]:
    more = operation.max_fetch_records + 1
    return partition, attrs.evolve(operation, max_fetch_records=more)


OPTIMIZED, LIMITED = AcquireMode.BATCH_OPTIMIZED, AcquireMode.RECORD_LIMIT
BLIND = Control(
    "_acquirable sees no record",
    "spec.policies:_acquirable",
    becomes(lambda _partition, batch: iter((batch.first,))),
)
GREEDY = Control(
    "chosen_offsets takes one more", "spec.policies:chosen_offsets", called_with(_asks_for_more)
)
SLOW = Control(
    "_acquirable passes over the first",
    "spec.policies:_acquirable",
    returns(lambda offsets: iter([*offsets][1:])),
)
UNSEEN = Control(
    "check_growth sees nothing inside",
    "spec.acquire:check_growth",
    called_with(lambda partition, _inside, end: (partition, set(), end)),
)
WIDE = Control("_capacity_end is one offset later", "spec.policies:_capacity_end", adds(1))
CASES: tuple[tuple[Property, Claim, Control, tuple[tuple[AcquireMode, Profile], ...]], ...] = (
    (AVAILABLE, _may_take, BLIND, ((OPTIMIZED, KIP), (LIMITED, KIP))),
    (MAXIMUM, _keeps_the_maximum, GREEDY, ((OPTIMIZED, KIP), (OPTIMIZED, KAFKA), (LIMITED, KIP))),
    (GROWTH, _skips_nothing, UNSEEN, ((OPTIMIZED, KIP), (LIMITED, KIP))),
    (REST, _leaves_the_rest, SLOW, ((OPTIMIZED, KIP), (LIMITED, KIP))),
    (WIDTH, _keeps_the_width, WIDE, tuple(product(AcquireMode, (KIP, KAFKA)))),
)
"""What is proved of which modes and profiles; elsewhere the profile makes no difference."""


def _names_no_others(s: OneAcquire) -> Term:
    """Whether the log batches have no offset before the second but the two."""
    first_batch = conjunction(s.first == s.offset, s.first_last <= s.other, s.other == s.offset + 1)
    return conjunction(first_batch, s.second == s.first_last + 1, s.last == s.second)


def _theorems() -> Iterator[Theorem]:
    for stated, claim, control, modes in CASES:
        for mode, profile in modes:
            name = f"choose by {mode} ({profile.name})"
            how = about(claim, mode, profile)
            yield Theorem(
                stated, name, OneAcquire, _can_choose, how, control, runnable=_names_no_others
            )


POLICY_THEOREMS = tuple(_theorems())
