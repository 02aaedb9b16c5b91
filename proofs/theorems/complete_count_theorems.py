"""The delivery complete count is the number of complete offsets, for a window of any width.

Which offsets are complete is any marks at all, but for the offset that the theorem looks at, whose
record says so; what happens to it is what the functions of ``spec`` do. From this and the lemmas on
counts follows what holds of lag and count in any state (KIP-1226).
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from model.profile import KAFKA, KIP, Profile
from proofs.theorems.controls import adds, does_nothing
from proofs.theorems.count import count, counts_on, has, put, unmarked
from proofs.theorems.count_lemmas import COMPLEMENT, PUT, SPLIT, WITHIN, Range
from proofs.theorems.counting_theorems import DOUBLES, FORGETFUL, MISCOUNTS
from proofs.theorems.points import Points
from proofs.theorems.situation import any_marks, any_record, flag, number, offset, situation_at
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, LemmaCitation, Property, Theorem, about, laws
from spec import log as logs
from spec import partition, window
from spec.lag import lag
from spec.log import Log, hole_end
from spec.logic import Term, negate
from spec.partition import SharePartition, complete_count
from spec.record import Record, is_terminal
from spec.window import Window

_law = laws("KIP-1226, Delivery complete count")


@attrs.frozen
class Tallied:
    """A window whose complete offsets are marked, and what it has at one offset.

    ``complete`` is what other offsets add to the delivery complete count. The record at the offset
    becomes ``changed``. The hole of the log from ``hole_first`` to ``hole_last`` may hold it.
    """

    marks: Term = any_marks()
    start: Term = number()
    end: Term = number()
    at: Term = offset()
    record: Record = any_record()
    changed: Record = any_record()
    tracked: Term = flag()
    complete: Term = number()
    log_end: Term = number()
    hole_first: Term = number()
    hole_last: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[Tallied]":
        """Yield the situations in a share-partition that a run reached, in both profiles."""
        now = state.window
        for profile in (KIP, KAFKA):
            marks = frozenset(_complete_offsets(attrs.evolve(state, profile=profile)))
            for at in range(now.start_offset, now.end_offset + 1):
                s = situation_at(cls, state, at, marks=marks, complete=0)
                others = count(marks, s.start, s.end) - complete_count(_state(s, profile))
                yield attrs.evolve(s, complete=others)


def _complete_offsets(state: SharePartition) -> Iterator[int]:
    for at in range(state.window.start_offset, state.window.end_offset):
        record = state.window.records.get(at)
        gap = state.profile.natural_gaps_are_complete and hole_end(state.log, at) is not None
        if gap if record is None else is_terminal(record):
            yield at


def _window(s: Tallied, end: Term, *, tracked: Term) -> Window:
    empty: Any = Points()
    others = Window(s.start, end, empty, empty, s.complete, 0)
    return window.replace(others, {s.at: s.record}) if tracked else others


def _state(s: Tallied, profile: Profile, now: Window | None = None) -> SharePartition:
    log = Log(0, s.log_end, ((s.hole_first, s.hole_last),))
    there = _window(s, s.end, tracked=s.tracked) if now is None else now
    return SharePartition(profile, log=log, window=there, ready=True)


def _is_complete(s: Tallied, profile: Profile) -> Term:
    """Whether the offset needs no further delivery."""
    in_hole = conjunction(s.hole_first <= s.at, s.at <= s.hole_last)
    gap = conjunction(profile.natural_gaps_are_complete, in_hole)
    return (s.tracked & is_terminal(s.record)) | conjunction(negate(s.tracked), gap)


def _is_ordered(s: Tallied) -> Term:
    return conjunction(
        s.start <= s.end,
        s.end <= s.log_end,
        s.hole_first <= s.hole_last,
        implies(s.tracked, conjunction(s.start <= s.at, s.at < s.end)),
    )


def _counts_rightly(s: Tallied, profile: Profile) -> Term:
    """Whether the delivery complete count is the number of marks, one of which is the offset's."""
    return conjunction(
        _is_ordered(s),
        has(s.marks, s.at) == _is_complete(s, profile),
        complete_count(_state(s, profile)) == count(s.marks, s.start, s.end),
    )


def _has_nothing(s: Tallied, _profile: Profile) -> Term:
    return counts_on(s.marks, s.start, s.start)


def _begins(s: Tallied, profile: Profile) -> Term:
    empty = _state(s, profile, Window(s.start, s.start))
    return complete_count(empty) == count(s.marks, s.start, s.start)


def _is_at_the_end(s: Tallied, profile: Profile) -> Term:
    narrow = _state(s, profile, _window(s, s.end, tracked=False))
    return conjunction(
        s.start <= s.end,
        s.at == s.end,
        s.hole_first <= s.hole_last,
        has(s.marks, s.at) == _is_complete(s, profile),
        complete_count(narrow) == count(s.marks, s.start, s.end),
        counts_on(s.marks, s.start, s.end + 1),
    )


def _grows(s: Tallied, profile: Profile) -> Term:
    wide = window.extend(_window(s, s.end, tracked=False), s.end + 1)
    if s.tracked:
        wide = window.replace(wide, {s.at: s.record})
    return complete_count(_state(s, profile, wide)) == count(s.marks, s.start, s.end + 1)


def _changes(s: Tallied, profile: Profile) -> Term:
    before = _state(s, profile)
    after = attrs.evolve(before, window=window.replace(before.window, {s.at: s.changed}))
    marks = put(s.marks, s.at, marked=is_terminal(s.changed))
    return complete_count(after) == count(marks, s.start, s.end)


def _is_first(s: Tallied, profile: Profile) -> Term:
    return conjunction(
        s.at == s.start,
        s.start < s.end,
        _counts_rightly(s, profile),
        counts_on(s.marks, s.start, s.start),
        counts_on(s.marks, s.start, s.start + 1),
    )


def _starts_later(s: Tallied, profile: Profile) -> Term:
    before = _state(s, profile)
    after = attrs.evolve(before, window=window.drop_below(before.window, s.start + 1))
    return complete_count(after) == count(s.marks, s.start + 1, s.end)


def _was_a_record(s: Tallied, profile: Profile) -> Term:
    missing = conjunction(s.hole_first <= s.at, s.at <= s.hole_last)
    return conjunction(
        _counts_rightly(s, profile),
        negate(s.tracked),
        negate(missing),
        s.start <= s.at,
        s.at < s.end,
    )


def _learns(s: Tallied, profile: Profile) -> Term:
    before = _state(s, profile)
    after = attrs.evolve(before, log=logs.learn_hole(before.log, s.at, s.at))
    return complete_count(after) == count(put(s.marks, s.at, marked=True), s.start, s.end)


def _is_within(s: Tallied, profile: Profile) -> Term:
    complete = partition.complete_count(_state(s, profile))
    return conjunction(complete >= 0, complete <= s.end - s.start)


def _lag_is_unfinished(s: Tallied, profile: Profile) -> Term:
    state = _state(s, profile)
    unfinished = count(unmarked(s.marks), s.start, s.end)
    return conjunction(lag(state) == (s.log_end - s.end) + unfinished, lag(state) >= 0)


def _range(s: Tallied) -> Range:
    return Range(s.marks, s.start, s.end)


def _others(s: Tallied) -> Range:
    return attrs.evolve(_range(s), marks=unmarked(s.marks))


def _split_at_the_first(s: Tallied) -> Range:
    return attrs.evolve(_range(s), middle=s.start + 1)


def _put(s: Tallied) -> Range:
    return attrs.evolve(_range(s), at=s.at, marked=is_terminal(s.changed))


def _put_a_gap(s: Tallied) -> Range:
    return attrs.evolve(_range(s), at=s.at, marked=True)


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
    "The lag is what lies after the window plus what is unfinished in it; so it is never negative.",
    "KIP-1226, Lag",
    (15,),
)

ONE_MORE = Control(
    "delivery_complete_count counts one more", "spec.window:delivery_complete_count", adds(1)
)
COUNTS_THE_NEXT = Control(
    "complete_count counts the end offset too", "spec.partition:complete_count", adds(1)
)
IGNORES = Control("learn_hole learns nothing", "spec.log:learn_hole", does_nothing)

Said = Callable[[Tallied, Profile], Term]


def _theorems(name: str, profile: Profile) -> Iterator[Theorem]:
    rows: tuple[tuple[Property, str, Said, Said, Control, tuple[LemmaCitation, ...]], ...] = (
        (
            COUNTS,
            "begin",
            lambda s, _p: counts_on(s.marks, s.start, s.start),
            _begins,
            ONE_MORE,
            (),
        ),
        (COUNTS, "grow", _is_at_the_end, _grows, MISCOUNTS, ()),
        (
            COUNTS,
            "change",
            lambda s, p: conjunction(_counts_rightly(s, p), s.tracked),
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
    for stated, transition, hypothesis, claim, control, cites in rows:
        yield Theorem(
            stated,
            f"{transition} ({name})",
            Tallied,
            about(hypothesis, profile),
            about(claim, profile),
            control,
            cites=cites,
        )


COMPLETE_COUNT_THEOREMS = (
    *_theorems("kip", KIP),
    *_theorems("kafka", KAFKA),
    Theorem(
        COUNTS,
        "learn a gap (kip)",
        Tallied,
        about(_was_a_record, KIP),
        about(_learns, KIP),
        IGNORES,
        cites=(LemmaCitation(PUT, _put_a_gap),),
    ),
)
