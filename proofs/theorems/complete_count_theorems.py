"""The delivery complete count is the number of complete offsets, for a window of any width.

Which offsets are complete is any marks at all, but for the offset that the theorem looks at, whose
record says so; what happens to it is what the functions of ``spec`` do. From this and the lemmas on
counts follows what holds of lag and count in any state (KIP-1226).
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from model.profile import KIP
from proofs.theorems.controls import adds
from proofs.theorems.count import count, counts_on, has, put, unmarked
from proofs.theorems.count_lemmas import COMPLEMENT, PUT, SPLIT, WITHIN, Range
from proofs.theorems.counting_theorems import DOUBLES, FORGETFUL, MISCOUNTS
from proofs.theorems.points import Points
from proofs.theorems.situation import (
    any_marks,
    any_offset,
    any_record,
    ends_in_the_log,
    flag,
    number,
    situation_at,
)
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, LemmaCitation, Property, Theorem, laws
from spec import partition, window
from spec.lag import lag
from spec.log import Log
from spec.logic import Term
from spec.partition import SharePartition, complete_count
from spec.record import Record, is_terminal
from spec.window import Window

_law = laws("KIP-1226, Delivery complete count")


@attrs.frozen
class Tallied:
    """A window whose complete offsets are marked, and what it has at one offset.

    ``complete`` is what other offsets add to the delivery complete count. The record at the offset
    becomes ``changed``.
    """

    marks: Term = any_marks()
    start: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    record: Record = any_record()
    changed: Record = any_record()
    tracked: Term = flag()
    complete: Term = number()
    log_end: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[Tallied]":
        """Yield the situations in a share-partition that a run reached."""
        now = state.window
        records = now.records.items()
        marks = frozenset(offset for offset, record in records if is_terminal(record))
        for offset in range(now.start_offset, now.end_offset + 1):
            s = situation_at(cls, state, offset, marks=marks, complete=0)
            others = count(marks, s.start, s.end) - complete_count(_state(s))
            yield attrs.evolve(s, complete=others)


def _window(s: Tallied, end: Term, *, tracked: Term) -> Window:
    empty: Any = Points()
    others = Window(s.start, end, empty, empty, s.complete, 0)
    return window.replace(others, {s.offset: s.record}) if tracked else others


def _state(s: Tallied, now: Window | None = None) -> SharePartition:
    current = _window(s, s.end, tracked=s.tracked) if now is None else now
    return SharePartition(KIP, log=Log(0, s.log_end), window=current, ready=True)


def _is_complete(s: Tallied) -> Term:
    """Whether the offset needs no further delivery."""
    return conjunction(s.tracked, is_terminal(s.record))


def _is_ordered(s: Tallied) -> Term:
    return conjunction(
        s.start <= s.end,
        ends_in_the_log(s.start, s.end, s.log_end),
        implies(s.tracked, conjunction(s.start <= s.offset, s.offset < s.end)),
    )


def _counts_rightly(s: Tallied) -> Term:
    """Whether the delivery complete count is the number of marks, one of which is the offset's."""
    return conjunction(
        _is_ordered(s),
        has(s.marks, s.offset) == _is_complete(s),
        complete_count(_state(s)) == count(s.marks, s.start, s.end),
    )


def _has_nothing(s: Tallied) -> Term:
    return counts_on(s.marks, s.start, s.start)


def _begins(s: Tallied) -> Term:
    empty = _state(s, Window(s.start, s.start))
    return partition.complete_count(empty) == count(s.marks, s.start, s.start)


def _is_at_the_end(s: Tallied) -> Term:
    narrow = _state(s, _window(s, s.end, tracked=False))
    return conjunction(
        s.start <= s.end,
        s.offset == s.end,
        has(s.marks, s.offset) == _is_complete(s),
        complete_count(narrow) == count(s.marks, s.start, s.end),
        counts_on(s.marks, s.start, s.end + 1),
    )


def _grows(s: Tallied) -> Term:
    wide = window.extend(_window(s, s.end, tracked=False), s.end + 1)
    if s.tracked:
        wide = window.replace(wide, {s.offset: s.record})
    return complete_count(_state(s, wide)) == count(s.marks, s.start, s.end + 1)


def _changes(s: Tallied) -> Term:
    before = _state(s)
    after = attrs.evolve(before, window=window.replace(before.window, {s.offset: s.changed}))
    marks = put(s.marks, s.offset, marked=is_terminal(s.changed))
    return complete_count(after) == count(marks, s.start, s.end)


def _is_first(s: Tallied) -> Term:
    return conjunction(
        s.offset == s.start,
        s.start < s.end,
        _counts_rightly(s),
        counts_on(s.marks, s.start, s.start),
        counts_on(s.marks, s.start, s.start + 1),
    )


def _starts_later(s: Tallied) -> Term:
    before = _state(s)
    after = attrs.evolve(before, window=window.drop_below(before.window, s.start + 1))
    return complete_count(after) == count(s.marks, s.start + 1, s.end)


def _is_within(s: Tallied) -> Term:
    complete = partition.complete_count(_state(s))
    return conjunction(complete >= 0, complete <= s.end - s.start)


def _lag_is_unfinished(s: Tallied) -> Term:
    state = _state(s)
    unfinished = count(unmarked(s.marks), s.start, s.end)
    left = (s.log_end - s.end) + unfinished
    return conjunction(lag(state) == left, (lag(state) >= 0) | (s.start > s.log_end))


def _range(s: Tallied) -> Range:
    return Range(s.marks, s.start, s.end)


def _others(s: Tallied) -> Range:
    return attrs.evolve(_range(s), marks=unmarked(s.marks))


def _split_at_the_first(s: Tallied) -> Range:
    return attrs.evolve(_range(s), middle=s.start + 1)


def _put(s: Tallied) -> Range:
    return attrs.evolve(_range(s), offset=s.offset, marked=is_terminal(s.changed))


COUNTS = _law(
    "complete_count_is_the_number_of_complete_offsets",
    "The delivery complete count is how many offsets of the window need no further delivery.",
    22,
)
WITHIN_THE_WINDOW = _law(
    "complete_count_within_window",
    "The delivery complete count is at least 0 and at most the width of the window.",
    22,
)
IDENTITY = Property(
    "lag_counts_the_unfinished",
    "The leader's lag is what lies after the window plus what is unfinished in it; so it is not "
    "negative, unless the start offset lies beyond the end of the log.",
    "KIP-1226, Lag",
    (15,),
)

COUNTS_THE_NEXT = Control(
    "complete_count counts the end offset too", "spec.partition:complete_count", adds(1)
)

_Row = tuple[
    Property,
    str,
    Callable[[Tallied], Term],
    Callable[[Tallied], Term],
    Control,
    tuple[LemmaCitation, ...],
]
_ROWS: tuple[_Row, ...] = (
    (COUNTS, "begin", _has_nothing, _begins, COUNTS_THE_NEXT, ()),
    (COUNTS, "grow", _is_at_the_end, _grows, MISCOUNTS, ()),
    (
        COUNTS,
        "change",
        lambda s: conjunction(_counts_rightly(s), s.tracked),
        _changes,
        MISCOUNTS,
        (LemmaCitation(PUT, _put),),
    ),
    (
        COUNTS,
        "move start",
        _is_first,
        _starts_later,
        FORGETFUL,
        (LemmaCitation(SPLIT, _split_at_the_first),),
    ),
    (
        WITHIN_THE_WINDOW,
        "any state",
        _counts_rightly,
        _is_within,
        COUNTS_THE_NEXT,
        (LemmaCitation(WITHIN, _range),),
    ),
    (
        IDENTITY,
        "any state",
        _counts_rightly,
        _lag_is_unfinished,
        DOUBLES,
        (LemmaCitation(COMPLEMENT, _range), LemmaCitation(WITHIN, _others)),
    ),
)

COMPLETE_COUNT_THEOREMS = tuple(
    Theorem(stated, transition, Tallied, hypothesis, claim, control, cites=cites)
    for stated, transition, hypothesis, claim, control, cites in _ROWS
)
