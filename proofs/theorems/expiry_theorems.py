"""Theorems about the ends of acquisition locks: their groups, timers, and when locks end."""

from collections.abc import Callable
from typing import Any

import attrs

from model.errors import ErrorCode
from model.guards import Guard
from model.operations import AdvanceTime, Expire
from model.outcome import Choice, Expiry
from model.ranges import OffsetRange
from proofs.theorems.controls import adds, called_with, returns
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.operation_situation import (
    OneOperation,
    Refusal,
    attempted,
    completes,
    has_held_state,
    is_possible,
    kept,
    names_no_others,
    others_wait,
    partition_of,
    reports,
    same_record,
    waits_for_its_write,
)
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Property, Theorem, laws
from proofs.theorems.write_theorems import merging
from spec import expire
from spec import record as rules
from spec.logic import Term, either, negate
from spec.partition import SharePartition

_law = laws("KIP-932, In-flight records")
LASTS, ON_TIME = Guard.LOCK_LASTS_ITS_DURATION, Guard.LOCK_ENDS_ON_TIME


def _is_over(place: Place, now: Term, late: Term = 0) -> Term:
    """Whether the offset holds a lock whose deadline is so long ago."""
    record = place.record
    over = False if record.deadline is None else record.deadline + late <= now
    held = conjunction(has_held_state(record), negate(record.pending))
    return conjunction(place.tracked, held, over)


def _ended(s: OneOperation, place: Place) -> rules.Record:
    return rules.expire(place.record, s.limit, rules.failed_state(s.dead_letter_queue))


def _is_named(s: OneOperation, place: Place) -> Term:
    return conjunction(s.start <= place.offset, s.first <= place.offset, place.offset <= s.last)


def _timer(s: OneOperation, due: Term) -> tuple[SharePartition, Any]:
    before = partition_of(s)
    operation = Expire((OffsetRange(s.first, s.last),), due)
    return before, attempted(lambda: expire.expire_locks(before, operation, waits_for_its_write(s)))


def _timer_ends_locks(s: OneOperation, due: Term) -> Term:
    """Whether a timer ends exactly what it names, if all that was due when the timer was."""
    time = s.now if due is None else due
    before, step = _timer(s, due)
    named = [place for place in places(s) if _is_named(s, place)]
    allowed = conjunction(time <= s.now, *(_is_over(place, time) for place in named))
    if isinstance(step, Refusal):
        return conjunction(negate(allowed), step.guard is LASTS)
    after, (write,) = step.partition, step.outcome.writes
    ends = {p.offset: _ended(s, p) if p in named else p.record for p in places(s) if p.tracked}
    mine = {place.offset: ends[place.offset] for place in named}
    return conjunction(
        allowed,
        *(same_record(after.window.records.get(p.offset), ends.get(p.offset)) for p in places(s)),
        negate(s.elsewhere in after.window.records),
        kept(before, after, "window", "outstanding", "next_write"),
        after.window.start_offset == s.start,
        after.window.end_offset == s.end,
        others_wait(s, after),
        write.delivery_complete_count == s.complete + completes(*ends.values()),
        *(reports(write, offset, mine.get(offset)) for offset in (s.offset, s.other, s.elsewhere)),
    )


def _due_now(s: OneOperation) -> Term:
    return _timer_ends_locks(s, None)


def _due_before(s: OneOperation) -> Term:
    return _timer_ends_locks(s, s.elapsed)


def _timer_of_two(s: OneOperation) -> Term:
    """Whether a timer that names its ranges in any order ends the locks of both."""
    before = partition_of(s)
    ranges = OffsetRange(s.second, s.second_last), OffsetRange(s.first, s.last)
    step = attempted(lambda: expire.expire_locks(before, Expire(ranges), waits_for_its_write(s)))
    allowed = conjunction(*(_is_over(place, s.now) for place in places(s)))
    if isinstance(step, Refusal):
        return negate(allowed)
    records = step.partition.window.records
    ends = (same_record(records.get(p.offset), _ended(s, p)) for p in places(s))
    return conjunction(allowed, *ends)


def _timer_without_locks(s: OneOperation) -> Term:
    """Whether a timer that names nothing writes nothing."""
    before = partition_of(s)
    step = expire.expire_locks(before, Expire(()), waits_for_its_write(s))
    return step.partition is before and not step.outcome.writes


def _real_clock(s: OneOperation) -> SharePartition:
    """Return a share-partition whose clock is a real one; ``grace`` is how late a timer may be.

    It is also how long before its row a lock may have been granted.
    """
    before = partition_of(s)
    profile = attrs.evolve(before.profile, sweep_ms=s.grace, grant_ms=s.grace)
    return attrs.evolve(before, timed=True, last_event=s.seq, profile=profile)


def _lets_time_pass(s: OneOperation) -> Term:
    """Whether a real clock moves on exactly if no lock is held for too long, and nothing else."""
    before, choice = _real_clock(s), Choice()
    step = attempted(lambda: expire.advance_time(before, AdvanceTime(s.elapsed), choice, ()))
    now = s.now + s.elapsed
    late = [_is_over(place, now, s.grace + 1) for place in places(s)]
    if isinstance(step, Refusal):
        return (any(late) and step.guard is ON_TIME) or step.guard is None
    after = step.partition
    return conjunction(
        not any(late),
        kept(before, after, "now"),
        after.now == now,
        not step.outcome.writes,
    )


def _grants(s: OneOperation) -> Term:
    """Whether a lock ends after its duration, from now or from an event before on a real clock."""
    clock = partition_of(s)
    latest = s.now + s.lock
    if expire.granted_until(clock, Choice()) != latest:
        return False
    virtual = _granted(clock, s.elapsed)
    real = _granted(_real_clock(s), s.elapsed)
    late = latest - s.grace
    lasts = either(s.elapsed < late, late, s.elapsed)
    return conjunction(
        _is_granted(s, virtual, latest, latest, s.elapsed),
        _is_granted(s, real, s.seq + s.lock, latest, lasts),
    )


def _granted(partition: SharePartition, deadline: Term) -> Any:  # noqa: ANN401 - a number or Refusal
    choice = Choice(deadline_ms=deadline)
    return attempted(lambda: expire.granted_until(partition, choice))


def _is_granted(
    s: OneOperation,
    granted: Any,  # noqa: ANN401 - a number or Refusal
    earliest: Term,
    latest: Term,
    lasts: Term,
) -> Term:
    if not isinstance(granted, Refusal):
        return conjunction(granted == lasts, earliest <= s.elapsed, s.elapsed <= latest)
    if granted.guard is LASTS:
        return s.elapsed < earliest
    return conjunction(granted.guard is ON_TIME, earliest <= s.elapsed, s.elapsed > latest)


def _answers_each_group(s: OneOperation) -> Term:
    """Whether each group of locks has a write of its own; one without an answer succeeds."""
    before = partition_of(s)
    groups = tuple(
        Expiry((OffsetRange(first, last),), s.start)
        for first, last in ((s.first, s.last), (s.second, s.second_last))
    )
    choice, answers = Choice(expired=groups), (waits_for_its_write(s),)
    step = merging(
        lambda: attempted(
            lambda: expire.advance_time(before, AdvanceTime(s.elapsed), choice, answers)
        )
    )
    if isinstance(step, Refusal):
        return True
    answered, unanswered = step.outcome.writes
    records = step.partition.window.records
    return conjunction(
        answered.id == s.write_id,
        answered.status is ErrorCode.PENDING,
        unanswered.status is ErrorCode.NONE,
        unanswered.id == max(s.next_write, s.write_id + 1),
        *(same_record(records.get(p.offset), _ended(s, p)) for p in places(s)),
    )


def _expires_without_answers(s: OneOperation) -> Term:
    """Whether a write to which there is no answer has succeeded; no locks make no write."""
    before = partition_of(s)
    group = Expiry((OffsetRange(s.first, s.last),), s.start)
    for groups, writes in (((group,), 1), ((attrs.evolve(group, locks=()),), 0)):
        choice = Choice(expired=groups)
        step = merging(lambda: _attempt(before, s, choice))  # noqa: B023 - called at once
        statuses = [] if isinstance(step, Refusal) else [w.status for w in step.outcome.writes]
        if not isinstance(step, Refusal) and statuses != [ErrorCode.NONE] * writes:
            return False
    return True


def _attempt(before: SharePartition, s: OneOperation, choice: Choice) -> Any:  # noqa: ANN401 - a step or Refusal
    return attempted(lambda: expire.advance_time(before, AdvanceTime(s.elapsed), choice, ()))


def _names_each(s: OneOperation) -> Term:
    """Whether the two ranges name one of the two offsets each."""
    return conjunction(
        is_possible(s),
        s.start <= s.offset,
        *(bound == s.offset for bound in (s.first, s.last)),
        *(bound == s.other for bound in (s.second, s.second_last)),
        *(place.tracked for place in places(s)),
    )


TIMER = _law(
    "timer_ends_the_locks_it_names",
    "A timer ends exactly the locks that it names, if each was due when the timer was.",
    32,
)
EMPTY = _law("timer_without_locks_writes_nothing", "A timer that names no lock writes nothing.")
REAL = _law(
    "real_clock_waits_for_timers",
    "A real clock moves on unless a lock is held longer than a timer may be late; no more happens.",
)
GRANTED = _law(
    "lock_is_granted_for_its_duration",
    "A lock ends its duration after now, or on a real clock after some time since the last event.",
)
GROUPS = _law(
    "each_group_of_locks_is_written",
    "Each group of locks that expire has a write; where no answer is given, it succeeds.",
)
EARLY = Control(
    "is_lock_over holds of every lock",
    "spec.record:is_lock_over",
    lambda _rule: lambda record, _now: rules.is_held(record),
)


def _theorem(
    stated: Property,
    name: str,
    claim: Callable[[OneOperation], Term],
    control: Control,
    given: Callable[[OneOperation], Term] = is_possible,
) -> Theorem:
    return Theorem(stated, name, OneOperation, given, claim, control, runnable=names_no_others)


EXPIRY_THEOREMS = (
    _theorem(TIMER, "a timer ends locks", _due_now, EARLY),
    _theorem(TIMER, "a timer ends locks that were due before", _due_before, EARLY),
    _theorem(TIMER, "a timer ends locks of two ranges", _timer_of_two, EARLY, _names_each),
    _theorem(
        EMPTY,
        "a timer ends no locks",
        _timer_without_locks,
        Control(
            "expire_locks takes a number for a write",
            "spec.expire:expire_locks",
            returns(
                lambda step: attrs.evolve(
                    step, partition=attrs.evolve(step.partition, next_write=9)
                )
            ),
        ),
    ),
    _theorem(
        REAL,
        "time passes on a real clock",
        _lets_time_pass,
        Control(
            "_pass_time looks at locks a millisecond later",
            "spec.expire:_pass_time",
            called_with(lambda state: (attrs.evolve(state, now=state.now + 1),)),
        ),
    ),
    _theorem(
        GRANTED,
        "grant a lock",
        _grants,
        Control("granted_until adds a millisecond", "spec.expire:granted_until", adds(1)),
    ),
    _theorem(
        GROUPS,
        "two groups of locks expire",
        _answers_each_group,
        Control(
            "advance_time reports its writes backwards",
            "spec.expire:advance_time",
            returns(
                lambda step: attrs.evolve(
                    step,
                    outcome=attrs.evolve(step.outcome, writes=tuple(reversed(step.outcome.writes))),
                )
            ),
        ),
        _names_each,
    ),
    _theorem(
        GROUPS,
        "locks expire without an answer",
        _expires_without_answers,
        Control(
            "advance_time reports no write",
            "spec.expire:advance_time",
            returns(lambda step: attrs.evolve(step, outcome=attrs.evolve(step.outcome, writes=()))),
        ),
    ),
)
