"""Each operation on records, as a theorem speaks of it: what it may do, and to which records.

The guards are written out here, in the fields of a record; of what a transition makes of a record
``record_theorems`` tells. An acknowledgement is one batch here;
``acknowledge_theorems`` are about any number.
"""

from collections.abc import Callable
from typing import Any

import attrs

from model import operations as ops
from model.checks import MAX_INT64
from model.errors import ErrorCode
from model.guards import Guard
from model.outcome import Answer, Choice, Expiry
from model.ranges import OffsetRange
from model.states import AcknowledgeType, RecordState
from proofs.theorems.any_partition import AnyPartition, Place, places, spans
from proofs.theorems.attempts import Refusal
from proofs.theorems.controls import also_allows, becomes, wrong
from proofs.theorems.points import Places
from proofs.theorems.records import has_held_state, is_fresh, is_owned_by
from proofs.theorems.symbolic import conjunction, implies, is_between
from proofs.theorems.theorem import Control
from spec import record as rules
from spec.logic import Term, negate
from spec.partition import SharePartition, Step
from spec.record import Record
from spec.step import transition

MISJUDGED = Refusal(Guard.ACKNOWLEDGEMENT_JUDGED)
"""What becomes of an answer that the records' states do not allow."""

_FREE = Choice()
ACCEPT, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RENEW


@attrs.frozen
class OperationCase:
    """An operation, its guard, and what it makes of one record.

    ``change`` returns the record after an operation that is accepted, or None if it stays as it
    was; ``writes`` whether such a change is written. ``refuses`` returns what refuses the
    operation, or None. ``waits``: the change holds only if its write succeeds. Under
    ``destroyed`` the operation does what it may not. ``target`` is the function that runs.
    """

    name: str
    target: str
    operate: Callable[[AnyPartition, SharePartition], Step]
    change: Callable[[AnyPartition, Place], Record | None]
    destroyed: Control | None = None
    refuses: Callable[[AnyPartition], Refusal | None] = lambda _s: None
    writes: Callable[[AnyPartition, Place], Term] = lambda _s, _place: True
    waits: bool = False
    elapses: bool = False
    moves: bool = False
    writes_always: bool = False


def waits_for_its_write(s: AnyPartition) -> Answer:
    """Return the answer that the write of the operation is outstanding."""
    return Answer(ErrorCode.PENDING, s.write_id)


def failed_state(s: AnyPartition) -> Term:
    """Return the state of a record that has failed for good."""
    return rules.failed_state(s.dead_letter_queue)


def is_named(s: AnyPartition, place: Place) -> Term:
    """Whether the range of the operation holds a record of the window."""
    return conjunction(place.tracked, s.first <= place.offset, place.offset <= s.last)


def is_named_from_the_start(s: AnyPartition, place: Place) -> Term:
    """Whether the range holds the offset, which lies in the window or beyond it."""
    return conjunction(s.start <= place.offset, s.first <= place.offset, place.offset <= s.last)


ANYBODY = wrong(
    "spec.record:is_held_by",
    "asks only whether anybody holds the record",
    becomes(lambda record, _member: rules.is_held(record)),
)


def batch_of(
    s: AnyPartition, kind: AcknowledgeType, other: AcknowledgeType | None = None
) -> ops.AcknowledgementBatch:
    """Return a batch of one type, or of one for each offset: those of the two are given."""
    if other is None:
        return ops.AcknowledgementBatch(s.first, s.last, (kind,))
    offsets = ((s.offset - s.first, kind), (s.other - s.first, other))
    types: Any = Places(s.last - s.first + 1, offsets, ACCEPT)
    return ops.AcknowledgementBatch(s.first, s.last, types)


def may_acknowledge(s: AnyPartition, record: Record, kind: AcknowledgeType) -> Term:
    """Return whether the member may acknowledge the record by that type."""
    mine = is_owned_by(record, s.member)
    if kind is not RENEW:
        return mine
    return conjunction(mine, s.renewable, record.state == RecordState.ACQUIRED)


def after_acknowledging(s: AnyPartition, record: Record, kind: AcknowledgeType) -> Record:
    """Return the record after an acknowledgement that it may have."""
    if kind is RENEW:
        return rules.renew(record, s.now + s.lock)
    return rules.acknowledge(record, kind, s.limit, failed_state(s))


def done(
    s: AnyPartition, before: SharePartition, operation: ops.Operation, choice: Choice = _FREE
) -> Step:
    """Return the step of the operation, whose write waits for its answer."""
    return transition(before, operation, choice, (waits_for_its_write(s),), s.seq)


def acknowledged(
    s: AnyPartition, before: SharePartition, batch: ops.AcknowledgementBatch, choice: Choice
) -> Step:
    """Return the step of an acknowledgement of one batch."""
    return done(s, before, ops.Acknowledge(s.member, (batch,)), choice)


def _acknowledgement(name: str, *kinds: AcknowledgeType) -> OperationCase:
    """Return the case of one type for all, or of one type for each of the two offsets."""
    of_both = kinds[0], kinds[-1]

    def operate(s: AnyPartition, before: SharePartition) -> Step:
        return acknowledged(s, before, batch_of(s, *kinds), Choice(refusal=ErrorCode.NONE))

    def change(s: AnyPartition, place: Place) -> Record | None:
        if not is_named(s, place):
            return None
        return after_acknowledging(s, place.record, of_both[place.index])

    def refuses(s: AnyPartition) -> Refusal | None:
        for place, kind in zip(places(s), of_both, strict=True):
            if is_named(s, place) and not may_acknowledge(s, place.record, kind):
                return MISJUDGED
        return None if s.last < s.end else Refusal(Guard.ACKNOWLEDGED_WAS_DELIVERED)

    return OperationCase(
        name,
        "spec.acknowledge:acknowledge_records",
        operate,
        change,
        ANYBODY,
        refuses,
        writes=lambda _s, place: of_both[place.index] is not RENEW,
        waits=True,
    )


ACKNOWLEDGEMENTS = (
    *(_acknowledgement(f"acknowledge by {kind.name}", kind) for kind in AcknowledgeType),
    *(
        _acknowledgement(f"acknowledge by {kind.name} and others by ACCEPT", kind, ACCEPT)
        for kind in (RENEW, AcknowledgeType.RELEASE)
    ),
)


def _after_leaving(s: AnyPartition, place: Place) -> Record | None:
    if negate(conjunction(place.tracked, is_owned_by(place.record, s.member))):
        return None
    if is_fresh(place.record, s.now, s.threshold):
        return rules.give_grace(place.record, s.now + s.grace)
    return rules.release(place.record, s.limit, failed_state(s))


def is_over(place: Place, now: Term, late: Term = 0) -> Term:
    """Whether the offset holds a lock whose deadline is so long ago."""
    record = place.record
    over = False if record.deadline is None else record.deadline + late <= now
    held = conjunction(has_held_state(record), negate(record.pending))
    return conjunction(place.tracked, held, over)


def _expired(s: AnyPartition, place: Place) -> Record:
    return rules.expire(place.record, s.limit, failed_state(s))


def _after_expiry(s: AnyPartition, place: Place) -> Record | None:
    return _expired(s, place) if is_over(place, s.now + s.elapsed) else None


def _refuses_time(s: AnyPartition) -> Refusal | None:
    return None if s.now + s.elapsed <= MAX_INT64 else Refusal(None)


def _refuses_expiry(s: AnyPartition) -> Refusal | None:
    """Return why not exactly the locks that are over may expire."""
    over = [bool(is_over(place, s.now + s.elapsed)) for place in places(s)]
    named = [bool(is_named_from_the_start(s, place)) for place in places(s)]
    if any(name and not ends for name, ends in zip(named, over, strict=True)):
        return _refuses_time(s) or Refusal(Guard.LOCK_LASTS_ITS_DURATION)
    return _refuses_time(s) or (Refusal(Guard.LOCK_ENDS_ON_TIME) if over != named else None)


def _timer(name: str, *, earlier: bool = False, both: bool = False) -> OperationCase:
    """Return the case of a timer, perhaps one that was due ``earlier``.

    It ends the locks of the range, or of two, in descending order.
    """

    def ranges(s: AnyPartition) -> tuple[OffsetRange, ...]:
        return (
            (OffsetRange(s.other, s.other), OffsetRange(s.offset, s.offset)) if both else spans(s)
        )

    def due(s: AnyPartition) -> Term:
        return s.elapsed if earlier else s.now

    def operate(s: AnyPartition, before: SharePartition) -> Step:
        return done(s, before, ops.Expire(ranges(s), due(s) if earlier else None))

    def named(s: AnyPartition, place: Place) -> Term:
        inside = any(is_between(each.first, place.offset, each.last) for each in ranges(s))
        return s.start <= place.offset and inside

    def refuses(s: AnyPartition) -> Refusal | None:
        over = (is_over(place, due(s)) for place in places(s) if named(s, place))
        allowed = conjunction(due(s) <= s.now, *over)
        return None if allowed else Refusal(Guard.LOCK_LASTS_ITS_DURATION)

    return OperationCase(
        name,
        "spec.expire:expire_locks",
        operate,
        lambda s, place: _expired(s, place) if named(s, place) else None,
        EARLY,
        refuses,
        writes_always=True,
    )


def _refuses_finishing(s: AnyPartition) -> Refusal | None:
    for place in places(s):
        archiving = place.record.state == RecordState.ARCHIVING
        ready = conjunction(place.tracked, archiving, negate(place.record.pending))
        if not implies(is_named_from_the_start(s, place), ready):
            return Refusal(Guard.DEAD_LETTER_IS_ARCHIVING)
    return None


def _after_abortion(s: AnyPartition, place: Place) -> Record | None:
    acquired = place.record.state == RecordState.ACQUIRED
    if negate(conjunction(is_named(s, place), acquired, negate(place.record.pending))):
        return None
    return rules.archive_aborted(place.record)


ALLOWS_AVAILABLE = wrong(
    "spec.record:is_dead_letter",
    "lets available records through",
    also_allows(lambda record: record.state == RecordState.AVAILABLE),
)
EARLY = wrong(
    "spec.record:is_lock_over",
    "holds of every lock",
    becomes(lambda record, _now: rules.is_held(record)),
)
OTHERS = (
    OperationCase(
        "member leaves",
        "spec.release:release_member",
        lambda s, before: done(s, before, ops.MemberLeaves(s.member)),
        _after_leaving,
        writes=lambda s, place: negate(is_fresh(place.record, s.now, s.threshold)),
        waits=True,
    ),
    OperationCase(
        "time passes",
        "spec.expire:advance_time",
        lambda s, before: done(s, before, ops.AdvanceTime(s.elapsed)),
        _after_expiry,
        wrong("spec.expire:_groups", "finds no lock", becomes(lambda *_of: ())),
        _refuses_time,
        elapses=True,
        moves=True,
    ),
    OperationCase(
        "chosen locks expire",
        "spec.expire:advance_time",
        lambda s, before: done(
            s, before, ops.AdvanceTime(s.elapsed), Choice(expired=(Expiry(spans(s), s.start),))
        ),
        _after_expiry,
        EARLY,
        _refuses_expiry,
        elapses=True,
        writes_always=True,
    ),
    _timer("a timer ends locks"),
    _timer("a timer ends locks that were due before", earlier=True),
    _timer("a timer ends locks of two ranges", both=True),
    OperationCase(
        "dead letters are finished",
        "spec.dead_letters:finish_dead_letters",
        lambda s, before: done(s, before, ops.FinishDeadLetter(spans(s))),
        lambda s, place: (
            rules.finish_dead_letter(place.record) if is_named_from_the_start(s, place) else None
        ),
        ALLOWS_AVAILABLE,
        _refuses_finishing,
        writes_always=True,
    ),
    OperationCase(
        "aborted records are archived",
        "spec.aborted:archive_aborted_records",
        lambda s, before: done(s, before, ops.ArchiveAborted(spans(s))),
        _after_abortion,
        writes=lambda _s, _place: False,
    ),
)
CASES = [*ACKNOWLEDGEMENTS, *OTHERS]
"""The operations that end or prolong deliveries."""
