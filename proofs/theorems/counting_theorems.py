"""Theorems about lag and delivery complete count (KIP-1226), and lemmas on which they rest.

How a change at one offset changes them, and what they are of a window of any width: which other
offsets are complete is any marks at all, and the lemmas on counts of ranges tell how many, by
induction over the end of a range.
"""

from collections.abc import Callable, Iterator

import attrs

from model.operations import AdvanceLogStart, Produce, ResetOffset
from model.profile import KAFKA, KIP, Profile
from model.snapshot import DurableState
from proofs.theorems.any_partition import AnyPartition, partition_of
from proofs.theorems.controls import adds, becomes, changes_nothing, keeps, returns, wrong
from proofs.theorems.count import count, counts_on, has, put, unmarked
from proofs.theorems.record_operations import CHANGES, Transition, is_sound
from proofs.theorems.situation import any_like, ends_in_the_log, flag, number
from proofs.theorems.symbolic import conjunction, implies, is_between
from proofs.theorems.theorem import (
    Claim,
    Control,
    Lemma,
    LemmaCitation,
    Property,
    Subject,
    one_more,
)
from spec import initialize, log_start, partition, window
from spec import lag as lags
from spec import log as logs
from spec import produce as log_end
from spec.lag import lag
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import SharePartition, complete_count
from spec.record import UNDELIVERED, is_finished, is_held, is_terminal
from spec.window import Window


@attrs.frozen
class Range:
    """Marks, and the range from ``low`` to ``high`` (exclusive), which ``middle`` may part.

    ``offset`` is an offset that comes to be marked, or not, as ``marked`` says.
    """

    marks: Term = any_like(frozenset())
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
    stated: tuple[str, str],
    statement: Callable[[Range], Term],
    unfolding: Callable[[Range], Term],
    begins: str,
    step_control: Control,
) -> Lemma:
    return Lemma(
        Property(*stated, "arithmetic"),
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


def _follows_a_change(s: Range) -> Term:
    inside = conjunction(s.low <= s.offset, s.offset < s.high)
    change = either(s.marked, 1, 0) - either(has(s.marks, s.offset), 1, 0)
    after = count(put(s.marks, s.offset, marked=s.marked), s.low, s.high)
    return after == _plain(s) + either(inside, change, 0)


WITHIN = _lemma(
    ("a_count_is_within_its_range", "The count of a range is at least 0 and at most its width."),
    lambda s: conjunction(_plain(s) >= 0, _plain(s) <= s.high - s.low),
    lambda s: counts_on(s.marks, s.low, s.high),
    "low",
    TWICE,
)
PUT = _lemma(
    (
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
    ("a_count_is_that_of_the_parts", "The count of a range is that of its two parts."),
    lambda s: _plain(s) == count(s.marks, s.low, s.middle) + count(s.marks, s.middle, s.high),
    lambda s: conjunction(counts_on(s.marks, s.low, s.high), counts_on(s.marks, s.middle, s.high)),
    "middle",
    ONCE,
)
COMPLEMENT = _lemma(
    (
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


Change = Callable[[SharePartition], SharePartition]


def _state(s: AnyPartition, profile: Profile = KIP) -> SharePartition:
    """Return the share-partition, whose log has a hole."""
    log = Log(0, s.log_end, ((s.second, s.second_last),))
    return attrs.evolve(partition_of(s, profile), log=log)


def _with_window(before: SharePartition, now: Window) -> SharePartition:
    return attrs.evolve(before, window=now)


def _in_hole(s: AnyPartition) -> Term:
    return is_between(s.second, s.offset, s.second_last)


def _is_alone(s: AnyPartition) -> Term:
    """Whether the window has a record at the first offset only, if at all."""
    ordered = s.start <= s.end, s.second <= s.second_last, s.limit <= s.highest
    return conjunction(*ordered, negate(s.other_tracked), s.offset < s.other, s.end < s.other)


def _is_inside(s: AnyPartition) -> Term:
    """Whether the offset lies in the window, and its record is sound."""
    return conjunction(s.start <= s.offset, s.offset < s.end, s.end <= s.log_end, is_sound(s))


def _is_tracked(s: AnyPartition) -> Term:
    return conjunction(_is_inside(s), s.tracked)


def _is_first(s: AnyPartition) -> Term:
    return conjunction(_is_tracked(s), s.offset == s.start)


def _is_gap(s: AnyPartition) -> Term:
    return conjunction(_is_inside(s), negate(s.tracked))


def _adds(s: AnyPartition, change: Change, expected: Term) -> Term:
    """Whether the change adds so much to the lag, as both profiles count it."""
    befores = [_state(s, profile) for profile in (KIP, KAFKA)]
    return conjunction(*(lag(change(before)) - lag(before) == expected for before in befores))


MISCOUNTS = wrong("spec.window:replace", "counts one record too many", adds(1, "complete"))
FORGETFUL = wrong("spec.window:drop_below", "keeps the count", keeps("complete"))
COUNTS_GAPS = wrong("spec.window:drop_below", "counts a gap", keeps("complete", plus=1))
ONE_MORE = wrong("spec.lag:share_partition_lag", "adds one", adds(1))
COUNTS_THE_NEXT = wrong("spec.partition:complete_count", "counts the end offset too", adds(1))
STANDS = changes_nothing("spec.produce:produce", "leaves the log's end")
MOVES_THE_END = wrong("spec.log:learn_hole", "moves the log's end", adds(1, "end_offset"))
UNKNOWN = wrong("spec.lag:durable_lag", "is never known", returns(lambda _lag: None))
EXPECTED = dict.fromkeys(("acquire", "renew", "mark", "stay for the grace", "commit"), 0) | {
    "finish dead letter": -1,
    "archive aborted": -1,
    "withhold": -1,
    "accept": -1,
    "acknowledge as gap": -1,
    "vanish": -1,
}
"""What each transition adds to the lag; others take one where they end the record, or undo that."""
_lag = Subject("KIP-1226, Lag", AnyPartition, _is_alone)
_complete = Subject("KIP-1226, Delivery complete count", AnyPartition, _is_alone)


@_lag.theorem(
    17,
    18,
    38,
    of=[*CHANGES],
    where=lambda s, transition: conjunction(_is_tracked(s), transition.happens(s)),
    control=MISCOUNTS,
)
def lag_follows_each_record(s: AnyPartition, transition: Transition) -> Term:
    """The end of a record takes one from the lag, undoing it gives that back; no more happens."""
    after = transition.after(s)
    if after is None:
        return True
    ended = either(is_terminal(s.record), 1, 0) - either(is_terminal(after), 1, 0)
    return _adds(
        s,
        lambda now: _with_window(now, window.replace(now.window, {s.offset: after})),
        EXPECTED.get(transition.name, ended),
    )


@_lag.theorem(
    17,
    of="enter",
    where=lambda s: conjunction(s.offset == s.end, negate(s.tracked), negate(_in_hole(s))),
    control=MISCOUNTS,
)
def lag_ignores_what_enters(s: AnyPartition) -> Term:
    """A record that enters the window changes no lag."""

    def enter(before: SharePartition) -> SharePartition:
        wide = window.extend(before.window, s.offset + 1)
        return _with_window(before, window.replace(wide, {s.offset: UNDELIVERED}))

    return _adds(s, enter, 0)


@_lag.theorem(
    16,
    of="produce",
    where=lambda s: conjunction(_is_tracked(s), s.first >= s.log_end, s.second_last < s.log_end),
    control=STANDS,
)
def lag_grows_by_what_is_produced(s: AnyPartition) -> Term:
    """Producing n offsets adds n to the lag."""
    produced = Produce((), s.first)
    return _adds(s, lambda now: log_end.produce(now, produced).partition, s.first - s.log_end)


def _pass_the_offset(s: AnyPartition) -> Change:
    return lambda now: _with_window(now, window.drop_below(now.window, s.offset + 1))


@_lag.theorem(
    19,
    of="move start",
    where=lambda s: conjunction(_is_first(s), is_finished(s.record)),
    control=FORGETFUL,
)
def lag_ignores_the_start_offset(s: AnyPartition) -> Term:
    """The start offset passes a finished record without changing the lag."""
    return _adds(s, _pass_the_offset(s), 0)


@_lag.theorem(
    19,
    of="move start over a gap",
    where=lambda s: conjunction(_is_gap(s), s.offset == s.start, _in_hole(s)),
    control=COUNTS_GAPS,
)
def lag_includes_natural_gaps(s: AnyPartition) -> Term:
    """A natural gap that was not acknowledged is lag until the start offset passes it."""
    return _adds(s, _pass_the_offset(s), -1)


@_lag.theorem(
    19,
    of="learn a gap",
    where=lambda s: conjunction(_is_gap(s), negate(_in_hole(s))),
    control=MOVES_THE_END,
)
def lag_ignores_what_is_learnt(s: AnyPartition) -> Term:
    """Learning of a natural gap changes no lag."""
    at = s.offset, s.offset
    return _adds(s, lambda now: attrs.evolve(now, log=logs.learn_hole(now.log, *at)), 0)


@_lag.theorem(20, of="advance log start", where=_is_first, control=FORGETFUL)
def lag_falls_by_the_unfinished_that_the_log_loses(s: AnyPartition) -> Term:
    """The log start offset takes from the lag the records it passes that were not complete."""
    operation, expected = AdvanceLogStart(s.offset + 1), either(is_terminal(s.record), 0, -1)
    return _adds(s, lambda now: log_start.advance_log_start(now, operation).partition, expected)


@_lag.theorem(50, of="report the lag", control=UNKNOWN)
def reported_lag_is_that_of_the_durable_state(s: AnyPartition) -> Term:
    """The reported lag is that of the durable state, or none where that does not know it."""
    state = DurableState(s.start - 1, s.complete - 1, (), 0, 0)
    reported = lags.durable_lag(s.log_end, state)
    unfinished = s.log_end - state.start_offset - state.delivery_complete_count
    known = conjunction(s.start > 0, s.complete > 0, unfinished >= 0)
    return negate(known) if reported is None else conjunction(known, reported == unfinished)


@_lag.theorem(
    21,
    of="reset offset",
    where=lambda s: conjunction(_is_tracked(s), negate(is_held(s.record))),
    control=ONE_MORE,
)
def reset_starts_afresh(s: AnyPartition) -> Term:
    """After a reset the lag is what lies after the new start offset; nothing is complete."""
    states = (_state(s, profile) for profile in (KIP, KAFKA))
    after = [initialize.reset_offset(each, ResetOffset(s.first)).partition for each in states]
    return conjunction(
        *(lag(each) == s.log_end - s.first for each in after),
        *(complete_count(each) == 0 for each in after),
        *(each.durable.delivery_complete_count == 0 for each in after),
    )


def _is_marked_rightly(s: AnyPartition) -> Term:
    """Whether the offset is marked exactly if it needs no further delivery."""
    return has(s.finished, s.offset) == conjunction(s.tracked, is_terminal(s.record))


def _counts_rightly(s: AnyPartition) -> Term:
    """Whether the delivery complete count is the number of marks, one of which is the offset's."""
    return conjunction(
        ends_in_the_log(s.start, s.end, s.log_end),
        implies(s.tracked, conjunction(s.start <= s.offset, s.offset < s.end)),
        _is_marked_rightly(s),
        complete_count(_state(s)) == count(s.finished, s.start, s.end),
    )


def _unknown(s: AnyPartition) -> SharePartition:
    """Return the share-partition before it had a record."""
    return _state(attrs.evolve(s, tracked=False))


def _counts_up_to_the_offset(s: AnyPartition) -> Term:
    """Whether the window ends at the offset, and counts rightly what lies before."""
    narrow = complete_count(_unknown(s)) == count(s.finished, s.start, s.end)
    grows = counts_on(s.finished, s.start, s.end + 1)
    return conjunction(s.offset == s.end, _is_marked_rightly(s), narrow, grows)


def _counts_from_the_offset(s: AnyPartition) -> Term:
    begins = (counts_on(s.finished, s.start, s.start + more) for more in (0, 1))
    return conjunction(s.offset == s.start, s.start < s.end, _counts_rightly(s), *begins)


def _begin(s: AnyPartition) -> Term:
    empty = _with_window(_state(s), Window(s.start, s.start))
    return partition.complete_count(empty) == count(s.finished, s.start, s.start)


def _grow(s: AnyPartition) -> Term:
    wide = window.extend(_unknown(s).window, s.end + 1)
    if s.tracked:
        wide = window.replace(wide, {s.offset: s.record})
    return complete_count(_with_window(_state(s), wide)) == count(s.finished, s.start, s.end + 1)


def _become_the_other(s: AnyPartition) -> Term:
    after = window.replace(_state(s).window, {s.offset: s.other_record})
    marks = put(s.finished, s.offset, marked=is_terminal(s.other_record))
    return complete_count(_with_window(_state(s), after)) == count(marks, s.start, s.end)


def _start_later(s: AnyPartition) -> Term:
    after = window.drop_below(_state(s).window, s.start + 1)
    return complete_count(_with_window(_state(s), after)) == count(s.finished, s.start + 1, s.end)


def _range(s: AnyPartition) -> Range:
    changed = is_terminal(s.other_record)
    return Range(s.finished, s.start, s.end, s.start + 1, s.offset, changed)


@_complete.theorem(
    22,
    of={
        "begin": (lambda s: counts_on(s.finished, s.start, s.start), _begin, COUNTS_THE_NEXT),
        "grow": (_counts_up_to_the_offset, _grow, MISCOUNTS),
        "change": (
            lambda s: conjunction(_counts_rightly(s), s.tracked),
            _become_the_other,
            MISCOUNTS,
        ),
        "move start": (_counts_from_the_offset, _start_later, FORGETFUL),
    },
    where=lambda s, given, *_of: given(s),
    control=lambda *of: of[-1],
    cites=(LemmaCitation(PUT, _range), LemmaCitation(SPLIT, _range)),
)
def complete_count_is_the_number_of_complete_offsets(
    s: AnyPartition, _given: object, counts: Claim, _control: object
) -> Term:
    """The delivery complete count is how many offsets of the window need no further delivery."""
    return counts(s)


@_complete.theorem(
    22,
    of="any state",
    where=_counts_rightly,
    control=COUNTS_THE_NEXT,
    cites=(LemmaCitation(WITHIN, _range),),
)
def complete_count_within_window(s: AnyPartition) -> Term:
    """The delivery complete count is at least 0 and at most the width of the window."""
    complete = partition.complete_count(_state(s))
    return conjunction(complete >= 0, complete <= s.end - s.start)


@_lag.theorem(
    15,
    of="any state",
    where=_counts_rightly,
    control=ONE_MORE,
    cites=(
        LemmaCitation(COMPLEMENT, _range),
        LemmaCitation(WITHIN, lambda s: attrs.evolve(_range(s), marks=unmarked(s.finished))),
    ),
)
def lag_counts_the_unfinished(s: AnyPartition) -> Term:
    """The lag is what is unfinished; it is not negative, unless the start lies beyond the log."""
    now, unfinished = lag(_state(s)), count(unmarked(s.finished), s.start, s.end)
    right = now == (s.log_end - s.end) + unfinished
    return conjunction(right, (now >= 0) | (s.start > s.log_end))
