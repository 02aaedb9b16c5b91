"""Theorems about what is known of a log with several holes and batches (KIP-1226).

Whether an offset lies in a hole or in a batch is proved of any number of them. What ``bisect``
answers is assumed, not proved: the first place whose extent ends at the offset or after it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import attrs

from proofs.theorems.controls import called_with, returns
from proofs.theorems.situation import any_offset, number
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Theorem, laws
from spec import log as logs
from spec.log import Extent, Log
from spec.logic import Term, negate
from spec.partition import SharePartition

_law = laws("KIP-1226, Compacted records")


@attrs.frozen
class ManyExtents:
    """An offset, and any number of disjoint, ascending extents.

    ``place`` is that of the first extent that ends at the offset or after it, ``count`` if none
    does; it is ``first`` to ``last``. ``other`` is any place, of ``other_first`` to ``other_last``.
    """

    offset: Term = any_offset()
    count: Term = number()
    place: Term = number()
    first: Term = number()
    last: Term = number()
    other: Term = number()
    other_first: Term = number()
    other_last: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[ManyExtents]":
        """Yield each place among the holes of a log that a run reached."""
        holes = state.log.holes
        for offset in range(state.log.start_offset, state.log.end_offset):
            place = bisect_left(holes, offset, key=lambda hole: hole[1])
            here = (*holes, (0, 0))[place]
            for other, extent in enumerate(holes):
                yield cls(offset, len(holes), place, *here, other, *extent)


@attrs.frozen
class _Extents:
    """The extents: of one place it is known what is there."""

    place: Term
    extent: tuple[Term, Term]

    def __getitem__(self, place: Term) -> tuple[Term, Term]:
        if place == self.place:
            return self.extent
        raise IndexError(place)


def _ascend(s: ManyExtents) -> Term:
    """Whether the extents ascend, and the place is what ``bisect`` answers."""
    before, after, here = s.other < s.place, s.other > s.place, s.place < s.count
    return conjunction(
        s.place <= s.count,
        s.other < s.count,
        s.first <= s.last,
        s.other_first <= s.other_last,
        implies(s.other == s.place, s.other_first == s.first),
        implies(s.other == s.place, s.other_last == s.last),
        implies(conjunction(before, here), s.other_last < s.first),
        implies(after, s.last < s.other_first),
        implies(here, s.offset <= s.last),
        implies(before, s.other_last < s.offset),
    )


def _answered(s: ManyExtents, question: Callable[[Log, Term], Any]) -> tuple[bool, Any]:
    """Return whether ``bisect`` was asked about the offset, and the answer to the question."""
    extents: Any = _Extents(s.place, (s.first, s.last))
    log = Log(0, s.offset + 1, extents, extents)
    asked = []

    def bisected(sequence: object, offset: Term, *, key: Callable[[Extent], Term]) -> Term:
        asked.append(sequence is extents and offset is s.offset and key((1, 2)) == 2)  # noqa: PLR2004 - the last
        return s.place

    with (
        patch.object(logs, "bisect_left", bisected),
        patch.object(logs, "len", lambda _extents: s.count, create=True),
    ):
        answer = question(log, s.offset)
    return asked == [True], answer


def _ends_its_hole(s: ManyExtents) -> Term:
    """Whether the end is answered of the hole that holds the offset, and none of no hole."""
    asked, answer = _answered(s, logs.hole_end)
    inside = conjunction(s.other_first <= s.offset, s.offset <= s.other_last)
    if answer is None:
        return conjunction(asked, negate(inside))
    held = conjunction(s.place < s.count, s.first <= s.offset, s.offset <= s.last)
    return conjunction(asked, held, answer == s.last, implies(inside, answer == s.other_last))


def _is_its_batch(s: ManyExtents) -> Term:
    """Whether the batch is answered that holds the offset, and none if none holds it."""
    asked, answer = _answered(s, logs.batch_at)
    inside = conjunction(s.other_first <= s.offset, s.offset <= s.other_last)
    if answer is None:
        return conjunction(asked, negate(inside))
    held = conjunction(s.place < s.count, s.first <= s.offset, s.offset <= s.last)
    same = conjunction(answer[0] == s.other_first, answer[1] == s.other_last)
    return conjunction(asked, held, implies(inside, same))


@attrs.frozen
class ThreeExtents:
    """An offset, and three disjoint, ascending extents; ``low`` to ``high`` is a range."""

    offset: Term = any_offset()
    first: Term = number()
    first_last: Term = number()
    second: Term = number()
    second_last: Term = number()
    third: Term = number()
    third_last: Term = number()
    low: Term = number()
    high: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[ThreeExtents]":
        """Yield what three extents after a log that a run reached may be."""
        end = state.log.end_offset
        yield cls(end, end, end, end + 2, end + 3, end + 5, end + 5, end + 1, end + 4)


def _are_ranged(s: ThreeExtents) -> Term:
    """Whether the extents are apart, and the range is one."""
    return conjunction(_are_apart(s), s.low <= s.high)


def _extents(s: ThreeExtents) -> tuple[Extent, ...]:
    return ((s.first, s.first_last), (s.second, s.second_last), (s.third, s.third_last))


def _are_apart(s: ThreeExtents) -> Term:
    """Whether the extents are apart by an offset at least, as holes are."""
    return conjunction(
        s.first <= s.first_last,
        s.first_last + 1 < s.second,
        s.second <= s.second_last,
        s.second_last + 1 < s.third,
        s.third <= s.third_last,
    )


def _is_in_one(s: ThreeExtents, offset: Term) -> Term:
    outside = (negate(conjunction(first <= offset, offset <= last)) for first, last in _extents(s))
    return negate(conjunction(*outside))


def _is_named(s: ThreeExtents) -> Term:
    return conjunction(s.low <= s.offset, s.offset <= s.high)


def _yields_the_others(s: ThreeExtents) -> Term:
    """Whether exactly what is in no hole is outside of them, of the range."""
    log = Log(0, s.offset + 1, _extents(s))
    outside = any(offset == s.offset for offset in logs.outside_holes(log, s.low, s.high + 1))
    expected = conjunction(_is_named(s), negate(_is_in_one(s, s.offset)))
    return expected if outside else negate(expected)


def _joins(s: ThreeExtents) -> Term:
    """Whether the log then has as holes what they were before, and the range."""
    after = logs.learn_hole(Log(0, s.offset + 1, _extents(s)), s.low, s.high)
    known = any(conjunction(first <= s.offset, s.offset <= last) for first, last in after.holes)
    lacking = conjunction(negate(_is_in_one(s, s.offset)), negate(_is_named(s)))
    return negate(lacking) if known else lacking


def _stay_apart(s: ThreeExtents) -> Term:
    """Whether the holes of the log are disjoint and ascend, and none ends where the next begins."""
    holes = logs.learn_hole(Log(0, s.offset + 1, _extents(s)), s.low, s.high).holes
    return conjunction(
        *(first <= last for first, last in holes),
        *(hole[1] + 1 < following[0] for hole, following in pairwise(holes)),
    )


def _overlap(s: ThreeExtents) -> Term:
    """Whether a batch is named exactly if it shares an offset with the range."""
    overlapping = logs.overlapping(Log(0, s.offset + 1, (), _extents(s)), s.low, s.high)
    shares = [conjunction(first <= s.high, s.low <= last) for first, last in _extents(s)]
    named = [any(batch[0] == first for batch in overlapping) for first, _last in _extents(s)]
    pairs = zip(shares, named, strict=True)
    return conjunction(*(share if name else negate(share) for share, name in pairs))


@attrs.frozen
class TwoBatches:
    """An offset, two batches that were produced, two holes, and a range ``low`` to ``high``."""

    offset: Term = any_offset()
    first: Term = number()
    first_last: Term = number()
    second: Term = number()
    second_last: Term = number()
    hole: Term = number()
    hole_last: Term = number()
    other_hole: Term = number()
    other_hole_last: Term = number()
    low: Term = number()
    high: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[TwoBatches]":
        """Yield what may follow the log that a run reached."""
        end = state.log.end_offset
        batches = end + 1, end + 2, end + 4, end + 5
        yield cls(end + 5, *batches, end + 2, end + 2, end + 4, end + 4, end, end + 5)


def _log(s: TwoBatches) -> Log:
    holes = ((s.hole, s.hole_last), (s.other_hole, s.other_hole_last))
    return Log(0, s.offset + 1, holes, ((s.first, s.first_last), (s.second, s.second_last)))


def _can_be(s: TwoBatches) -> Term:
    return conjunction(
        s.first <= s.first_last,
        s.first_last < s.second,
        s.second <= s.second_last,
        s.hole <= s.hole_last,
        s.hole_last + 1 < s.other_hole,
        s.other_hole <= s.other_hole_last,
        s.low <= s.high,
    )


def _exists(s: TwoBatches, offset: Term) -> Term:
    """Whether the log is known to hold an offset of the range."""
    log = _log(s)
    lacking = (negate(conjunction(first <= offset, offset <= last)) for first, last in log.holes)
    unknown = (negate(conjunction(first <= offset, offset <= last)) for first, last in log.batches)
    return conjunction(s.low <= offset, offset <= s.high, *lacking, negate(conjunction(*unknown)))


def _is_first(s: TwoBatches) -> Term:
    """Whether the lowest offset is answered that the log is known to hold, of any one offset."""
    answer = logs.first_existing(_log(s), s.low, s.high)
    if answer is None:
        return negate(_exists(s, s.offset))
    return conjunction(_exists(s, answer), implies(_exists(s, s.offset), answer <= s.offset))


HOLES = _law(
    "hole_is_the_one_that_holds_the_offset",
    "Of any number of holes the end is told of the one that holds an offset, if one does.",
)
BATCHES = _law(
    "batch_is_the_one_that_holds_the_offset",
    "Of any number of batches the one is named that holds an offset, if one does.",
)
OUTSIDE = _law(
    "what_no_hole_holds_is_outside_of_holes",
    "Of three holes: outside of them is exactly what none of them holds.",
)
LEARNED = _law(
    "learned_hole_joins_those_before",
    "Of three holes: the log lacks what it lacked before and what is learned, and no more.",
)
APART = _law("holes_stay_apart", "Of three holes: they stay disjoint, ascending and apart.")
OVERLAP = _law(
    "batches_that_share_an_offset_are_named",
    "Of three batches: exactly those are named that share an offset with a range.",
)
EXISTING = _law(
    "lowest_offset_that_the_log_holds",
    "Of two batches and two holes: the lowest offset is named that was produced and not compacted.",
)
NOTHING = returns(lambda _answer: None)


def _theorems() -> Iterator[Theorem]:
    for stated, name, claim, rule in (
        (HOLES, "find a hole", _ends_its_hole, "hole_end"),
        (BATCHES, "find a batch", _is_its_batch, "batch_at"),
    ):
        control = Control(f"{rule} finds nothing", f"spec.log:{rule}", NOTHING)
        yield Theorem(stated, name, ManyExtents, _ascend, claim, control)
    short = called_with(lambda log, first, end: (log, first, end - 1))
    forgets = called_with(lambda log, *of: (attrs.evolve(log, holes=log.holes[:1]), *of))
    beside = returns(lambda log: attrs.evolve(log, holes=(*log.holes, log.holes[-1])))
    for stated, name, claims, rule, wrong, change in (
        (OUTSIDE, "skip holes", _yields_the_others, "outside_holes", "ends early", short),
        (LEARNED, "learn a hole among others", _joins, "learn_hole", "forgets holes", forgets),
        (APART, "learn a hole among others", _stay_apart, "learn_hole", "repeats one", beside),
        (OVERLAP, "find batches", _overlap, "overlapping", "ends early", short),
    ):
        control = Control(f"{rule} {wrong}", f"spec.log:{rule}", change)
        yield Theorem(stated, name, ThreeExtents, _are_ranged, claims, control)
    control = Control(
        "first_existing sees no holes",
        "spec.log:first_existing",
        called_with(lambda log, *of: (attrs.evolve(log, holes=()), *of)),
    )
    yield Theorem(EXISTING, "find what exists", TwoBatches, _can_be, _is_first, control)


LOG_THEOREMS = tuple(_theorems())
