"""Theorems about progress: which fetches are counted, of which record, and up to which bound."""

import attrs

from model.config import IsolationLevel
from model.guards import Guard
from model.profile import KIP
from model.ranges import OffsetRange, PassedOver
from model.whole_state import Delayed
from proofs.theorems.any_partition import (
    AnyPartition,
    either_of,
    fetch,
    furthest_of,
    is_between,
    is_fetched,
    is_in_hole,
    partition_of,
    standing_in,
)
from proofs.theorems.controls import becomes, called_with, returns
from proofs.theorems.operation_cases import places
from proofs.theorems.operation_situation import Refusal, attempted
from proofs.theorems.statement import Subject, theorems_in, wrong
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control
from spec import offered
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.record import is_acquirable

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
    return partition_of(s, profile, passed_over=waits, stuck=stuck)


@_FETCH.theorem(
    55,
    of={f"offer an offset ({level})": (level,) for level in IsolationLevel},
    given=lambda s, _level: conjunction(is_fetched(s), s.other >= s.log_end),
    control=wrong("spec.record:is_acquirable", "allows what is held", becomes(lambda _r: True)),
)
def what_a_fetch_could_acquire_is_offered(s: AnyPartition, level: IsolationLevel) -> Term:
    """Offered is what is AVAILABLE and in the log, or read past, or new and has room."""
    before = partition_of(s)
    before = attrs.evolve(before, config=attrs.evolve(before.config, isolation_level=level))
    read = attrs.evolve(fetch(s), log_batches=(OffsetRange(s.first, s.first_last),))
    with standing_in(offered, first_unfinished=furthest_of(before, s.furthest)):
        offers = list(offered._offerable(before, read))  # noqa: SLF001 - the rule
    at, committed = s.offset, level is IsolationLevel.READ_COMMITTED
    inside = conjunction(s.start <= at, s.log_start <= at, at < s.log_end)
    inside = conjunction(inside, not committed or at < s.stable)
    if s.tracked:  # What the fetch has read past could have been archived.
        known = either_of(is_between(s.fetch_offset, at, s.first_last), negate(is_in_hole(s, at)))
        may = conjunction(inside, known, is_acquirable(s.record))
    else:
        new = (is_between(s.made_first, at, s.made_last), is_between(s.first, at, s.first_last))
        full = conjunction(s.other_tracked, at >= s.end, at >= s.furthest + s.width)
        may = conjunction(inside, either_of(*new), negate(is_in_hole(s, at)), negate(full))
    return any(offer == at for offer in offers) == may


@_FETCH.theorem(
    55,
    of=FETCHES,
    control=wrong(
        "spec.offered:_passed_over",
        "sees one offset more",
        returns(lambda passed: [*passed, 0]),
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


OFFERED_THEOREMS = theorems_in(globals())
