"""Theorems about the ends of acquisition locks: their timers, and when locks end."""

from typing import Any

import attrs

from judge import recorder
from judge.recorded_partition import RecordedPartition, recorded
from model.guards import Guard
from model.operations import AdvanceTime, Expire
from model.outcome import Choice
from model.ranges import OffsetRange
from proofs.theorems.any_partition import is_between
from proofs.theorems.controls import adds, called_with
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.operation_situation import (
    OneOperation,
    Refusal,
    attempted,
    completes,
    is_possible,
    kept,
    names_no_others,
    others_wait,
    partition_of,
    reports,
    same_record,
    waits_for_its_write,
)
from proofs.theorems.statement import Subject, theorems_in, wrong
from proofs.theorems.symbolic import conjunction
from spec import expire
from spec import record as rules
from spec.logic import Term, either, negate

_LOCKS = Subject("KIP-932, In-flight records", OneOperation, is_possible, names_no_others)
LASTS, ON_TIME = Guard.LOCK_LASTS_ITS_DURATION, Guard.LOCK_ENDS_ON_TIME
EARLY = wrong(
    "spec.record:is_lock_over",
    "holds of every lock",
    lambda _rule: lambda record, _now: rules.is_held(record),
)


def _is_over(place: Place, now: Term, late: Term = 0) -> Term:
    """Whether the offset holds a lock whose deadline is so long ago."""
    record = place.record
    over = False if record.deadline is None else record.deadline + late <= now
    return conjunction(place.tracked, rules.is_held(record), over)


def _ended(s: OneOperation, place: Place) -> rules.Record:
    return rules.expire(place.record, s.limit, rules.failed_state(s.dead_letter_queue))


def _real_clock(s: OneOperation) -> RecordedPartition:
    """Return a share-partition whose clock is a real one; ``grace`` is how late a timer may be.

    It is also how long before its row a lock may have been granted.
    """
    before = recorded(partition_of(s))
    profile = attrs.evolve(before.profile, sweep_ms=s.grace, grant_ms=s.grace)
    return attrs.evolve(before, timed=True, last_event=s.seq, profile=profile)


def _names(s: OneOperation, *, both: bool) -> tuple[OffsetRange, ...]:
    """Return the range that a timer names, or two of them, in descending order."""
    first = OffsetRange(s.first, s.last)
    return (OffsetRange(s.second, s.second_last), first) if both else (first,)


def _can_name(s: OneOperation, both: bool, *_rest: object) -> Term:  # noqa: FBT001 - an argument of the theorem
    """Whether, if a timer names two ranges, each is one of the two offsets."""
    bounds = (s.first, s.offset), (s.last, s.offset), (s.second, s.other), (s.second_last, s.other)
    each = conjunction(s.start <= s.offset, *(bound == at for bound, at in bounds))
    return conjunction(is_possible(s), each if both else True)


@_LOCKS.theorem(
    32,
    of={
        "a timer ends locks": (False, False),
        "a timer ends locks that were due before": (False, True),
        "a timer ends locks of two ranges": (True, False),
    },
    given=_can_name,
    control=EARLY,
)
def timer_ends_the_locks_it_names(s: OneOperation, both: bool, earlier: bool) -> Term:  # noqa: FBT001 - arguments of the theorem
    """A timer ends exactly the locks that it names, if each was due when the timer was."""
    before, ranges = partition_of(s), _names(s, both=both)
    time = s.elapsed if earlier else s.now
    operation = Expire(ranges, time if earlier else None)
    step = attempted(lambda: expire.expire_locks(before, operation, waits_for_its_write(s)))
    named = [
        place
        for place in places(s)
        if s.start <= place.offset
        and any(is_between(each.first, place.offset, each.last) for each in ranges)
    ]
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


@_LOCKS.theorem(
    46,
    of="time passes on a real clock",
    control=wrong(
        "judge.recorder:pass_time",
        "looks at locks a millisecond later",
        called_with(lambda state, op: (attrs.evolve(state, now=state.now + 1), op)),
    ),
)
def real_clock_waits_for_timers(s: OneOperation) -> Term:
    """A real clock moves on unless a lock is held longer than a timer may be late."""
    before = _real_clock(s)
    step = attempted(lambda: recorder.pass_time(before, AdvanceTime(s.elapsed)))
    now = s.now + s.elapsed
    late = any(_is_over(place, now, s.grace + 1) for place in places(s))
    if isinstance(step, Refusal):
        return (late and step.guard is ON_TIME) or step.guard is None
    after = step.partition
    moved = conjunction(kept(before, after, "now"), after.now == now)
    return conjunction(not late, moved, not step.outcome.writes)


@_LOCKS.theorem(
    46,
    of={"grant a lock": (False,), "grant a lock on a real clock": (True,)},
    control=wrong("judge.recorder:granted_until", "adds a millisecond", adds(1)),
)
def lock_is_granted_for_its_duration(s: OneOperation, real: bool) -> Term:  # noqa: FBT001 - an argument of the theorem
    """A lock ends its duration after now, or on a real clock after a time since the last event."""
    clock = _real_clock(s) if real else recorded(partition_of(s))
    latest = s.now + s.lock
    if recorder.granted_until(clock, Choice()) != latest:
        return False
    earliest = s.seq + s.lock if real else latest
    granted: Any = attempted(lambda: recorder.granted_until(clock, Choice(deadline_ms=s.elapsed)))
    if not isinstance(granted, Refusal):
        late = latest - s.grace
        lasts = either(s.elapsed < late, late, s.elapsed) if real else latest
        return conjunction(granted == lasts, is_between(earliest, s.elapsed, latest))
    if granted.guard is LASTS:
        return s.elapsed < earliest
    return conjunction(granted.guard is ON_TIME, earliest <= s.elapsed, s.elapsed > latest)


EXPIRY_THEOREMS = theorems_in(globals())
