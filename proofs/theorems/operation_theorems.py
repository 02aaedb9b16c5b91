"""Theorems about the operations that run: guard, effect, what is written, and what stays.

Each runs the operation itself on a window of any width with records at any two offsets. The last
are about the ends of acquisition locks: their timers, and when locks end.
"""

from typing import Any

import attrs

from judge import recorder
from judge.recorded_partition import RecordedPartition, recorded
from model.config import IsolationLevel
from model.errors import ErrorCode
from model.guards import Guard
from model.operations import AdvanceTime, ArchiveAborted
from model.outcome import Answer, Choice, Expiry, Write
from model.ranges import AcquiredRange, OffsetRange
from proofs.theorems.any_partition import AnyPartition, Place, operated, partition_of, places
from proofs.theorems.attempts import Refusal, attempted, standing_in
from proofs.theorems.controls import (
    adds,
    becomes,
    called_with,
    changes_nothing,
    does_nothing,
    returns,
    wrong,
)
from proofs.theorems.effects import changes_to, completes, kept, others_wait, reports
from proofs.theorems.operation_cases import CASES, OperationCase, is_over
from proofs.theorems.records import is_complete
from proofs.theorems.symbolic import conjunction, is_between, is_same, largest
from proofs.theorems.theorem import Control
from spec import aborted, expire
from spec import record as rules
from spec.logic import Term, either, negate
from spec.partition import SharePartition, Step
from spec.record import Record
from spec.window import Window

_operation = operated("KIP-932; KIP-1191")
_aborted = operated("KIP-932, Group configuration")
MISREPORTS = wrong(
    "spec.writes:make_write",
    "says that the start offset is one further on",
    returns(lambda pair: (pair[0], attrs.evolve(pair[1], start_offset=pair[1].start_offset + 1))),
)
QUIET = ("acknowledge by RENEW", "aborted records are archived")
"""The cases in which nothing is written."""


def _writes_wrongly(target: str) -> Control:
    """Return the control by which an operation writes what nothing changed."""
    writes = (Write(0, 0, 0),)
    more = returns(
        lambda step: attrs.evolve(step, outcome=attrs.evolve(step.outcome, writes=writes))
    )
    return wrong(target, "writes what nothing changed", more)


def _step(s: AnyPartition, case: OperationCase) -> tuple[SharePartition, Step | Refusal]:
    before = partition_of(s, isolation_level=IsolationLevel.READ_COMMITTED)
    return before, attempted(lambda: case.operate(s, before))


def _record_after(s: AnyPartition, case: OperationCase, place: Place, now: Window) -> Record | None:
    """Return the record that must be at the place; the start offset may have moved past it."""
    moved = case.moves and bool(place.offset < now.start_offset)
    if not place.tracked or (moved and bool(_is_finished(place.record))):
        return None
    changed = case.change(s, place)
    return place.record if changed is None else changed


def _is_finished(record: Record) -> Term:
    return conjunction(is_complete(record), negate(record.pending))


def _starts_rightly(s: AnyPartition, case: OperationCase, step: Step) -> Term:
    """Whether the start offset is where it was, or where no finished record follows."""
    start = step.partition.window.start_offset
    if not (case.moves and step.outcome.writes):
        return start == s.start
    stops = [
        negate(conjunction(place.tracked, place.offset == start, _is_finished(place.record)))
        for place in places(s)
    ]
    return conjunction(start >= s.start, *stops)


@_operation.theorem(
    11, of=[case for case in CASES if case.destroyed], control=lambda case: case.destroyed
)
def operation_is_accepted_when_each_record_allows_it(s: AnyPartition, case: OperationCase) -> Term:
    """An operation is accepted exactly if each record that it names allows it."""
    _before, step = _step(s, case)
    return (step if isinstance(step, Refusal) else None) == case.refuses(s)


@_operation.theorem(11, 32, of=CASES, control=lambda case: changes_nothing(case.target))
def operation_changes_the_records_it_names(s: AnyPartition, case: OperationCase) -> Term:
    """An operation changes each record that it names as its rule says, and nothing else."""
    before, step = _step(s, case)
    if isinstance(step, Refusal):
        return True
    after = step.partition
    records = (_record_after(s, case, place, after.window) for place in places(s))
    start, changing = after.window.start_offset, ("outstanding", "next_write", "now")
    return conjunction(
        changes_to(s, before, after, records, *changing, start=start),
        after.now == (s.now + s.elapsed if case.elapses else s.now),
        _starts_rightly(s, case, step),
        others_wait(s, after),
    )


@_operation.theorem(
    58,
    of=CASES,
    control=lambda case: _writes_wrongly(case.target) if case.name in QUIET else MISREPORTS,
)
def operation_writes_its_changes(s: AnyPartition, case: OperationCase) -> Term:
    """One write reports each record that changed, and no other, with start offset and counts."""
    _before, step = _step(s, case)
    if isinstance(step, Refusal):
        return True
    now = step.partition.window
    after = {place.offset: _record_after(s, case, place, now) for place in places(s)}
    written = {p.offset: after[p.offset] for p in places(s) if _is_written(s, case, p)}
    if not written and not case.writes_always:
        unused = step.partition.next_write == s.next_write
        return conjunction(not step.outcome.writes, unused)
    (write,) = step.outcome.writes
    offsets = s.offset, s.other, s.elsewhere
    states = [record for record in after.values() if record is not None]
    return conjunction(
        write.id == s.write_id,
        write.start_offset == now.start_offset,
        write.delivery_complete_count == s.complete + completes(*states),
        write.status is ErrorCode.PENDING,
        *(reports(write, offset, written.get(offset)) for offset in offsets),
        step.partition.next_write == largest(s.next_write, s.write_id + 1),
        _waits(s, case, step, tuple(written)),
    )


def _is_written(s: AnyPartition, case: OperationCase, place: Place) -> Term:
    return place.tracked and case.change(s, place) is not None and case.writes(s, place)


def _waits(s: AnyPartition, case: OperationCase, step: Step, changed: tuple[Term, ...]) -> Term:
    """Whether the write is outstanding, and settles the records if they wait for it."""
    waiting = step.partition.outstanding.get(s.write_id)
    if waiting is None or waiting.write is not step.outcome.writes[0]:
        return False
    if not case.waits:
        return not waiting.offsets and waiting.seq is None
    named = [offset in waiting.offsets for offset in (s.offset, s.other)]
    expected = [offset in changed for offset in (s.offset, s.other)]
    answered = step.outcome.status is ErrorCode.PENDING
    return conjunction(answered, waiting.seq == s.seq, named == expected)


@_aborted.theorem(
    56,
    of="committed",
    where=lambda s: s.acquisition > 0,
    control=wrong("spec.aborted:committed", "gives nothing", becomes(lambda *_of: ())),
)
def only_committed_is_given(s: AnyPartition) -> Term:
    """A member gets what was acquired, without what an aborted transaction holds."""
    acquired = (AcquiredRange(s.first, s.last, s.acquisition),)
    given = aborted.committed(acquired, (OffsetRange(s.second, s.second_last),))
    holding = [part for part in given if is_between(part.first, s.offset, part.last)]
    named = is_between(s.first, s.offset, s.last)
    without = negate(is_between(s.second, s.offset, s.second_last))
    if not holding:
        return negate(conjunction(named, without))
    return conjunction(named, without, *(p.delivery_count == s.acquisition for p in holding))


@_aborted.theorem(
    56, of={"records are withheld": (False,), "records are withheld as the start moves": (True,)},
    where=lambda s, _moves: s.tracked, control=wrong(
        "spec.aborted:_names", "names every offset", becomes(lambda *_of: True)),
)  # fmt: skip
def only_what_was_aborted_is_withheld(s: AnyPartition, moves: bool) -> Term:  # noqa: FBT001 - an argument of the theorem
    """Under read_committed what aborted transactions hold is archived, and nothing else."""
    before = partition_of(s, isolation_level=IsolationLevel.READ_COMMITTED)
    ranges = [OffsetRange(s.first, s.last), OffsetRange(s.second, s.second_last)]
    told = Choice(archived=(AcquiredRange(s.offset, s.offset, s.acquisition),))
    if moves:
        ranges, told = ranges[:1], Choice(archived=(), start_offset=s.seq)
    step = aborted.archive_aborted_records(before, ArchiveAborted(tuple(ranges)), told)
    of: Any = partition_of(s), ArchiveAborted(tuple(ranges)), told
    refused = attempted(lambda: aborted.archive_aborted_records(*of))
    named = any(is_between(each.first, s.offset, each.last) for each in ranges)
    chosen = s.offset < s.seq if moves else True
    free = conjunction(rules.is_acquirable(s.record), chosen)
    ends = named and (free | rules.can_archive_aborted(s.record))
    after = step.partition.window.records.get(s.offset)
    asked = isinstance(refused, Refusal) and refused.guard is Guard.ONLY_COMMITTED_IS_ASKED_FOR
    return conjunction(asked, conjunction(is_same(after, s.record)) != ends)


_LOCKS = operated("KIP-932, In-flight records")
LASTS, ON_TIME = Guard.LOCK_LASTS_ITS_DURATION, Guard.LOCK_ENDS_ON_TIME


def _real_clock(s: AnyPartition) -> RecordedPartition:
    """Return a share-partition whose clock is a real one; ``grace`` is how late a timer may be.

    It is also how long before its row a lock may have been granted.
    """
    before = recorded(partition_of(s))
    profile = attrs.evolve(before.profile, sweep_ms=s.grace, grant_ms=s.grace)
    return attrs.evolve(before, timed=True, last_event=s.seq, profile=profile)


@_LOCKS.theorem(
    58,
    of={
        "find the start of a write": (False, True, True),
        "find the start of a write that was seen": (True, True, True),
        "find the start of a write that was seen, with no end": (True, True, False),
        "find the start of a write that was seen, with none told": (True, False, True),
    },
    control=wrong("spec.expire:_at_the_write", "never moves it", does_nothing),
)
def locks_end_at_the_start_of_their_write(
    s: AnyPartition,
    seen: bool,  # noqa: FBT001 - arguments of the theorem
    told: bool,  # noqa: FBT001
    ends: bool,  # noqa: FBT001
) -> Term:
    """Locks end with the start offset of their write, one that was seen only where it may be so."""
    before, target, end = partition_of(s), s.first if told else None, s.second if ends else None
    answer = Answer(written=Write(0, s.other, 0, ())) if seen else Answer()
    with standing_in(expire, move_start=before, first_unfinished=s.last) as asked:
        expire._at_the_write(before, Expiry((), target), answer, end)  # noqa: SLF001 - the rule
    if not seen or not told:
        return asked.get("move_start") == (before, target)
    inside = conjunction(is_between(s.start, s.first, s.last), s.first <= s.second or not ends)
    if "move_start" not in asked:
        return negate(inside)
    return conjunction(inside, asked["move_start"][1] == s.first)


@_LOCKS.theorem(
    46,
    of="time passes on a real clock",
    control=wrong(
        "judge.recorder:pass_time",
        "looks at locks a millisecond later",
        called_with(lambda state, op: (attrs.evolve(state, now=state.now + 1), op)),
    ),
)
def real_clock_waits_for_timers(s: AnyPartition) -> Term:
    """A real clock moves on unless a lock is held longer than a timer may be late."""
    before = _real_clock(s)
    step = attempted(lambda: recorder.pass_time(before, AdvanceTime(s.elapsed)))
    now = s.now + s.elapsed
    late = any(is_over(place, now, s.grace + 1) for place in places(s))
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
def lock_is_granted_for_its_duration(s: AnyPartition, real: bool) -> Term:  # noqa: FBT001 - an argument of the theorem
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
