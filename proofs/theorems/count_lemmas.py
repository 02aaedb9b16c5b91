"""Lemmas about the count of a range of any width, by induction over its end."""

from collections.abc import Callable, Iterator

import attrs

from proofs.theorems.controls import becomes
from proofs.theorems.count import count, counts_on, has, put, unmarked
from proofs.theorems.induction import one_more
from proofs.theorems.situation import any_marks, flag, number
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Lemma, Property, laws
from spec.logic import Term, either
from spec.partition import SharePartition
from spec.record import is_terminal

_law = laws("arithmetic")


@attrs.frozen
class Range:
    """Marks, and the range from ``low`` to ``high`` (exclusive), which ``middle`` may part.

    ``offset`` is an offset that comes to be marked, or not, as ``marked`` says.
    """

    marks: Term = any_marks()
    low: Term = number()
    high: Term = number()
    middle: Term = number()
    offset: Term = number()
    marked: Term = flag()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[Range]":
        """Yield ranges of a window that a run reached; marked is what is terminal."""
        now = state.window
        marks = frozenset(offset for offset, record in now.records.items() if is_terminal(record))
        for high in range(now.start_offset, now.end_offset + 1):
            for middle in (now.start_offset, high):
                for marked in (True, False):
                    yield cls(marks, now.start_offset, high, middle, middle, marked)


BEFORE = Control(
    "an empty range counts the offset before it",
    "proofs.theorems.count:is_empty",
    becomes(lambda low, high: high < low),
)
TWICE = Control(
    "a marked offset counts twice",
    "proofs.theorems.count:add",
    lambda rule: lambda total, marked: rule(rule(total, marked), marked),
)
ONCE = Control(
    "a count goes no further than one",
    "proofs.theorems.count:add",
    becomes(lambda total, marked: either(marked, 1, total)),
)


def _lemma(
    stated: Property,
    statement: Callable[[Range], Term],
    unfolding: Callable[[Range], Term],
    begins: str,
    step_control: Control,
) -> Lemma:
    return Lemma(
        stated,
        Range,
        lambda s: attrs.evolve(s, high=getattr(s, begins)),
        one_more("high"),
        statement,
        BEFORE,
        step_control,
        unfolding,
        lambda s: conjunction(s.low <= getattr(s, begins), getattr(s, begins) <= s.high),
    )


def _plain(s: Range) -> Term:
    return count(s.marks, s.low, s.high)


def _is_within(s: Range) -> Term:
    return conjunction(_plain(s) >= 0, _plain(s) <= s.high - s.low)


def _follows_a_change(s: Range) -> Term:
    inside = conjunction(s.low <= s.offset, s.offset < s.high)
    change = either(s.marked, 1, 0) - either(has(s.marks, s.offset), 1, 0)
    after = count(put(s.marks, s.offset, marked=s.marked), s.low, s.high)
    return after == _plain(s) + either(inside, change, 0)


WITHIN = _lemma(
    _law(
        "a_count_is_within_its_range", "The count of a range is at least 0 and at most its width."
    ),
    _is_within,
    lambda s: counts_on(s.marks, s.low, s.high),
    "low",
    TWICE,
)
PUT = _lemma(
    _law(
        "a_count_follows_one_change",
        "Marking one offset, or no longer, changes the counts of ranges that hold it, by one.",
    ),
    _follows_a_change,
    lambda s: conjunction(
        counts_on(s.marks, s.low, s.high),
        counts_on(put(s.marks, s.offset, marked=s.marked), s.low, s.high),
    ),
    "low",
    TWICE,
)
SPLIT = _lemma(
    _law("a_count_is_that_of_the_parts", "The count of a range is that of its two parts."),
    lambda s: _plain(s) == count(s.marks, s.low, s.middle) + count(s.marks, s.middle, s.high),
    lambda s: conjunction(counts_on(s.marks, s.low, s.high), counts_on(s.marks, s.middle, s.high)),
    "middle",
    ONCE,
)
COMPLEMENT = _lemma(
    _law(
        "a_count_leaves_the_rest",
        "What is marked in a range and what is not are together its width.",
    ),
    lambda s: _plain(s) + count(unmarked(s.marks), s.low, s.high) == s.high - s.low,
    lambda s: conjunction(
        counts_on(s.marks, s.low, s.high), counts_on(unmarked(s.marks), s.low, s.high)
    ),
    "low",
    TWICE,
)
COUNT_LEMMAS = (WITHIN, PUT, SPLIT, COMPLEMENT)
