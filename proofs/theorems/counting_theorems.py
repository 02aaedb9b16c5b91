"""Theorems about how a change at one offset changes lag and delivery complete count (KIP-1226).

``complete_count_theorems`` proves them for a whole window of any width.
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from model.operations import AdvanceLogStart, Produce, ResetOffset
from model.profile import KAFKA, KIP, Profile
from model.snapshot import DurableState
from proofs.theorems.controls import adds, keeps, leaves, returns
from proofs.theorems.points import Points
from proofs.theorems.record_operations import TRANSITIONS, Transition
from proofs.theorems.situation import any_offset, any_record, flag, number, situation_at
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Property, Theorem, about, laws
from spec import initialize, log_start, window
from spec import lag as lags
from spec import log as logs
from spec import produce as log_end
from spec.invariants import RECORD_INVARIANTS
from spec.lag import lag
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import SharePartition, complete_count
from spec.record import UNDELIVERED, Record, is_finished, is_held, is_terminal
from spec.window import Window


@attrs.frozen
class Counted:
    """A share-partition, what it has at one offset, and what may come to that record.

    ``complete`` and ``acquirable`` count the records at other offsets. The hole of the log from
    ``hole_first`` to ``hole_last`` may hold the offset. ``target`` is an offset given by an
    operation; the other fields are as in ``OneRecord``.
    """

    start: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    record: Record = any_record()
    tracked: Term = flag()
    complete: Term = number()
    acquirable: Term = number()
    log_end: Term = number()
    hole_first: Term = number()
    hole_last: Term = number()
    target: Term = number()
    member: Term = number()
    now: Term = number()
    deadline: Term = number()
    lock: Term = number()
    limit: Term = number(1)
    highest: Term = number(1)
    acquisition: Term = number()
    marks: Term = flag()
    threshold: Term = number()
    extension: Term = number()
    grace: Term = number()
    dead_letter_queue: Term = flag()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[Counted]":
        """Yield the situations in a share-partition that a run reached."""
        now, far = state.window, state.log.end_offset
        for offset in range(now.start_offset, now.end_offset + 1):
            for target in (now.start_offset, now.start_offset + 1, far, far + 2):
                here = situation_at(cls, state, offset, target=target, member="a")
                yield here
                yield attrs.evolve(here, member="b")
                yield attrs.evolve(here, member="b", now=here.deadline)


def _window(s: Counted, end: Term) -> Window:
    empty: Any = Points()
    others = Window(s.start, end, empty, empty, s.complete, s.acquirable)
    return window.replace(others, {s.offset: s.record}) if s.tracked else others


def _state(s: Counted, profile: Profile, now: Window | None = None) -> SharePartition:
    log = Log(0, s.log_end, ((s.hole_first, s.hole_last),))
    return SharePartition(profile, log=log, window=now or _window(s, s.end), ready=True)


def _in_hole(s: Counted) -> Term:
    return conjunction(s.hole_first <= s.offset, s.offset <= s.hole_last)


def _is_counted(s: Counted) -> Term:
    holds = (known.holds(s.record, s.highest, s.now) for known in RECORD_INVARIANTS)
    return conjunction(
        s.start <= s.offset,
        s.offset < s.end,
        s.end <= s.log_end,
        s.hole_first <= s.hole_last,
        s.limit <= s.highest,
        *holds,
    )


def _in_both(claim: Callable[[Counted, Profile], Term]) -> Callable[[Counted], Term]:
    return lambda s: conjunction(claim(s, KIP), claim(s, KAFKA))


CHANGES = {
    "acquire": (0, "Acquiring a record does not change the lag.", (17,)),
    "renew": (0, "Renewing a lock does not change the lag.", (17,)),
    "mark": (0, "Marking a record in progress does not change the lag.", (17, 38)),
    "stay for the grace": (0, "A member that leaves for a while does not change the lag.", (17,)),
    "finish dead letter": (-1, "The end of a dead letter takes one from the lag.", (18,)),
    "archive aborted": (
        -1,
        "Archiving a record of an aborted transaction takes one from the lag.",
        (18,),
    ),
    "withhold": (-1, "Archiving a record that nobody is to get takes one from the lag.", (18,)),
    "commit": (0, "A write that succeeds does not change the lag.", (17, 18)),
    "accept": (-1, "Accepting a record takes one from the lag.", (18,)),
    "acknowledge as gap": (-1, "Acknowledging a gap takes one from the lag.", (18,)),
    "vanish": (-1, "Archiving a record that the log lost takes one from the lag.", (18,)),
}
ENDS_AN_ATTEMPT = (
    "The lag falls by one if the record is ARCHIVED at its limit, and is else unchanged."
)
UNDOES = "A write that fails gives the lag back what its record took from it."


REJECTS = "Rejecting a record takes one from the lag, unless a dead-letter queue is to take it."


def _expected(transition: Transition, before: Record, after: Record) -> Term:
    if transition.name in CHANGES:
        return CHANGES[transition.name][0]
    return either(is_terminal(before), 1, 0) - either(is_terminal(after), 1, 0)


def _changes_lag(s: Counted, transition: Transition, profile: Profile) -> Term:
    before = _state(s, profile)
    changed = transition.after(s)
    if changed is None:
        return True
    after = attrs.evolve(before, window=window.replace(before.window, {s.offset: changed}))
    return lag(after) - lag(before) == _expected(transition, s.record, changed)


def _changes_both_lags(s: Counted, transition: Transition) -> Term:
    return conjunction(_changes_lag(s, transition, KIP), _changes_lag(s, transition, KAFKA))


def _is_allowed(s: Counted, transition: Transition) -> Term:
    return conjunction(_is_counted(s), s.tracked, transition.happens(s))


MISCOUNTS = Control(
    "replace counts one complete record too many", "spec.window:replace", adds(1, "complete")
)


def _record_lags() -> Iterator[Theorem]:
    for transition in TRANSITIONS:
        if transition.name == "enter":
            continue
        other = {"roll back": UNDOES, "reject": REJECTS}.get(transition.name, ENDS_AN_ATTEMPT)
        _change, sentence, numbers = CHANGES.get(transition.name, (None, other, (17, 18)))
        yield Theorem(
            Property("lag_follows_each_record", sentence, "KIP-1226, Lag", numbers),
            transition.name,
            Counted,
            about(_is_allowed, transition),
            about(_changes_both_lags, transition),
            MISCOUNTS,
        )


def _enters(s: Counted, profile: Profile) -> Term:
    before = _state(s, profile)
    grown = window.replace(window.extend(before.window, s.offset + 1), {s.offset: UNDELIVERED})
    return lag(attrs.evolve(before, window=grown)) == lag(before)


def _produced(s: Counted, profile: Profile) -> Term:
    before = _state(s, profile)
    after = log_end.produce(before, Produce((), s.target)).partition
    return lag(after) - lag(before) == s.target - s.log_end


def _start_moved(s: Counted, profile: Profile) -> Term:
    before = _state(s, profile)
    after = attrs.evolve(before, window=window.drop_below(before.window, s.offset + 1))
    return lag(after) == lag(before)


def _gap_passed(s: Counted, profile: Profile) -> Term:
    before = _state(s, profile)
    after = attrs.evolve(before, window=window.drop_below(before.window, s.offset + 1))
    return lag(after) == lag(before) - 1


def _gap_learnt(s: Counted, profile: Profile) -> Term:
    before = _state(s, profile)
    after = attrs.evolve(before, log=logs.learn_hole(before.log, s.offset, s.offset))
    return lag(after) == lag(before)


def _log_start_moved(s: Counted, profile: Profile) -> Term:
    before = _state(s, profile)
    after = log_start.advance_log_start(before, AdvanceLogStart(s.offset + 1)).partition
    return lag(after) - lag(before) == either(is_terminal(s.record), 0, -1)


def _was_reset(s: Counted, profile: Profile) -> Term:
    before = _state(s, profile)
    after = initialize.reset_offset(before, ResetOffset(s.target)).partition
    return conjunction(
        lag(after) == s.log_end - s.target,
        complete_count(after) == 0,
        after.durable.delivery_complete_count == 0,
    )


def _is_reported(s: Counted) -> Term:
    """Whether the lag is reported exactly where the durable state knows it, and is not negative."""
    state = DurableState(s.start - 1, s.complete - 1, (), 0, 0)
    reported = lags.durable_lag(s.log_end, state)
    unfinished = s.log_end - state.start_offset - state.delivery_complete_count
    known = conjunction(s.start > 0, s.complete > 0, unfinished >= 0)
    return negate(known) if reported is None else conjunction(known, reported == unfinished)


FORGETS_GAPS = Control(
    "drop_below counts a gap that it passes",
    "spec.window:drop_below",
    keeps("complete", plus=1),
)
FORGETFUL = Control(
    "drop_below forgets to take the records from the count",
    "spec.window:drop_below",
    keeps("complete"),
)
DOUBLES = Control(
    "share_partition_lag adds one for the record at the end offset",
    "spec.lag:share_partition_lag",
    adds(1),
)


_lag_law = laws("KIP-1226, Lag")


_OPERATION_LAGS = (
    Theorem(
        _lag_law("lag_follows_each_record", "A record that enters the window changes no lag.", 17),
        "enter",
        Counted,
        lambda s: conjunction(
            s.start <= s.end,
            s.offset == s.end,
            s.hole_first <= s.hole_last,
            negate(s.tracked),
            negate(_in_hole(s)),
        ),
        _in_both(_enters),
        MISCOUNTS,
    ),
    Theorem(
        _lag_law("lag_grows_by_what_is_produced", "Producing n offsets adds n to the lag.", 16),
        "produce",
        Counted,
        lambda s: conjunction(
            _is_counted(s), s.tracked, s.target >= s.log_end, s.hole_last < s.log_end
        ),
        _in_both(_produced),
        Control(
            "produce does not move the end of the log",
            "spec.produce:produce",
            leaves(lambda state, _operation: state),
        ),
    ),
    Theorem(
        _lag_law(
            "lag_ignores_the_start_offset",
            "The start offset passes a finished record without changing the lag.",
            19,
        ),
        "move start",
        Counted,
        lambda s: conjunction(
            _is_counted(s), s.tracked, s.offset == s.start, is_finished(s.record)
        ),
        _in_both(_start_moved),
        FORGETFUL,
    ),
    Theorem(
        _lag_law(
            "lag_includes_natural_gaps",
            "A natural gap that was not acknowledged is lag until the start offset passes it.",
            19,
        ),
        "move start over a gap",
        Counted,
        lambda s: conjunction(_is_counted(s), negate(s.tracked), s.offset == s.start, _in_hole(s)),
        _in_both(_gap_passed),
        FORGETS_GAPS,
    ),
    Theorem(
        _lag_law("lag_includes_natural_gaps", "Learning of a natural gap changes no lag.", 19),
        "learn a gap",
        Counted,
        lambda s: conjunction(_is_counted(s), negate(s.tracked), negate(_in_hole(s))),
        _in_both(_gap_learnt),
        Control(
            "learn_hole moves the end of the log", "spec.log:learn_hole", adds(1, "end_offset")
        ),
    ),
    Theorem(
        _lag_law(
            "lag_falls_by_the_unfinished_that_the_log_loses",
            "The log start offset takes from the lag the records it passes that were not complete.",
            20,
        ),
        "advance log start",
        Counted,
        lambda s: conjunction(_is_counted(s), s.tracked, s.offset == s.start),
        _in_both(_log_start_moved),
        FORGETFUL,
    ),
    Theorem(
        _lag_law(
            "reported_lag_is_that_of_the_durable_state",
            "The reported lag is that of the durable state, or none where that does not know it.",
        ),
        "report the lag",
        Counted,
        lambda s: s.start <= s.end,
        _is_reported,
        Control(
            "durable_lag reports one less",
            "spec.lag:durable_lag",
            returns(lambda lag: None if lag is None else lag - 1),
        ),
    ),
    Theorem(
        _lag_law(
            "reset_starts_afresh",
            "After a reset the lag is what lies after the new start offset; nothing is complete.",
            21,
        ),
        "reset offset",
        Counted,
        lambda s: conjunction(_is_counted(s), s.tracked, negate(is_held(s.record))),
        _in_both(_was_reset),
        DOUBLES,
    ),
)


COUNTING_THEOREMS = (*_record_lags(), *_OPERATION_LAGS)
