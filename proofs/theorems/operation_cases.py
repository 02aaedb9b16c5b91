"""Each operation on records, as a theorem speaks of it: what it may do, and to which records.

The guards are written out here, in the fields of a record; of what a transition makes of a record
``record_theorems`` and ``effect_theorems`` tell.
"""

from collections.abc import Callable
from typing import Any

import attrs

from model.checks import MAX_INT64
from model.config import IsolationLevel
from model.guards import Guard
from model.operations import (
    AdvanceTime,
    ArchiveAborted,
    FinishDeadLetter,
    MemberLeaves,
)
from model.outcome import Choice, Expiry
from model.profile import KAFKA, Profile
from model.ranges import OffsetRange
from model.states import RecordState
from proofs.theorems.controls import also_allows, becomes
from proofs.theorems.operation_situation import (
    OneOperation,
    has_held_state,
    is_owned_by,
    partition_of,
    waits_for_its_write,
)
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control
from spec import aborted, dead_letters, expire, release
from spec import record as rules
from spec.logic import Term, negate
from spec.partition import SharePartition, Step
from spec.record import Record

ARCHIVING, IN_PROGRESS = RecordState.ARCHIVING, RecordState.IN_PROGRESS


@attrs.frozen
class Place:
    """An offset of a situation, the first or the second, and its record, if it has one."""

    index: int
    offset: Term
    tracked: Term
    record: Record


def places(s: Any) -> tuple[Place, Place]:  # noqa: ANN401 - any situation of two offsets
    """Return the two offsets of the situation."""
    return (
        Place(0, s.offset, s.tracked, s.record),
        Place(1, s.other, s.other_tracked, s.other_record),
    )


def _always(_s: OneOperation) -> Term:
    return True


def accepts_all(_s: OneOperation) -> Term:
    """Return the guard of an operation that refuses nothing."""
    return True


@attrs.frozen
class OperationCase:
    """An operation, its guard, and what it makes of one record.

    ``change`` returns the record after an operation
    that is accepted, or None if it stays as it was; ``writes`` whether such a change is written.
    ``waits``: the change holds only if its write succeeds. ``destroyed`` is the change of a rule
    under which the operation does what it may not.
    """

    name: str
    source: str
    operate: Callable[[OneOperation, SharePartition], Step]
    change: Callable[[OneOperation, Place], Record | None]
    destroyed: Control
    accepts: Callable[[OneOperation], Term] = accepts_all
    guard: Callable[[OneOperation], Guard | None] = lambda _s: None
    writes: Callable[[OneOperation, Place], Term] = lambda _s, _place: True
    waits: bool = False
    elapses: bool = False
    moves: bool = False
    writes_always: bool = False
    settings: dict[str, Any] = attrs.Factory(dict)
    profile: Profile = KAFKA
    given: Callable[[OneOperation], Term] = _always

    def before(self, s: OneOperation) -> SharePartition:
        """Return the share-partition before the operation."""
        return partition_of(s, self.profile, **self.settings)


def failed_state(s: OneOperation) -> Term:
    """Return the state of a record that has failed for good."""
    return rules.failed_state(s.dead_letter_queue)


def _is_named(s: OneOperation, place: Place) -> Term:
    return conjunction(place.tracked, s.first <= place.offset, place.offset <= s.last)


def _each_named(
    s: OneOperation, holds: Callable[[OneOperation, Place], Term], named: Callable[..., Term]
) -> Term:
    return conjunction(*(implies(named(s, place), holds(s, place)) for place in places(s)))


ANYBODY = Control(
    "is_held_by asks only whether anybody holds the record",
    "spec.record:is_held_by",
    becomes(lambda record, _member: rules.is_held(record)),
)


def _leave(s: OneOperation, before: SharePartition) -> Step:
    leaves, answer = MemberLeaves(s.member), waits_for_its_write(s)
    return release.release_member(before, leaves, Choice(), answer, s.seq)


def _stays(s: OneOperation, place: Place) -> Term:
    progress = place.record.last_progress
    fresh = False if progress is None else s.now < progress + s.threshold
    return conjunction(place.record.state == IN_PROGRESS, fresh)


def _after_leaving(s: OneOperation, place: Place) -> Record | None:
    if negate(conjunction(place.tracked, is_owned_by(place.record, s.member))):
        return None
    if _stays(s, place):
        return rules.give_grace(place.record, s.now + s.grace)
    return rules.release(place.record, s.limit, failed_state(s))


RELEASE = OperationCase(
    "member leaves",
    "KIP-932, Group membership",
    _leave,
    _after_leaving,
    ANYBODY,
    writes=lambda s, place: negate(_stays(s, place)),
    waits=True,
)


def _is_over(s: OneOperation, place: Place) -> Term:
    record, now = place.record, s.now + s.elapsed
    over = False if record.deadline is None else record.deadline <= now
    held = conjunction(has_held_state(record), negate(record.pending))
    return conjunction(place.tracked, held, over)


def _pass_time(s: OneOperation, before: SharePartition) -> Step:
    answers = (waits_for_its_write(s),)
    return expire.advance_time(before, AdvanceTime(s.elapsed), Choice(), answers)


def _expire(s: OneOperation, before: SharePartition) -> Step:
    group = Expiry((OffsetRange(s.first, s.last),), s.start)
    answers = (waits_for_its_write(s),)
    return expire.advance_time(before, AdvanceTime(s.elapsed), Choice(expired=(group,)), answers)


def _after_expiry(s: OneOperation, place: Place) -> Record | None:
    if not _is_over(s, place):
        return None
    return rules.expire(place.record, s.limit, failed_state(s))


def _expires_on_time(s: OneOperation) -> Term:
    """Whether the locks that are named are over, and all that are over are named."""
    return conjunction(
        _fits_the_clock(s),
        *(
            _is_over(s, place)
            == conjunction(s.start <= place.offset, s.first <= place.offset, place.offset <= s.last)
            for place in places(s)
        ),
    )


def _refuses_expiry(s: OneOperation) -> Guard | None:
    if not _fits_the_clock(s):
        return None
    for place in places(s):
        if _is_named_from_the_start(s, place) and not _is_over(s, place):
            return Guard.LOCK_LASTS_ITS_DURATION
    return Guard.LOCK_ENDS_ON_TIME


def _fits_the_clock(s: OneOperation) -> Term:
    return s.now + s.elapsed <= MAX_INT64


EARLY = Control(
    "is_lock_over holds of every lock",
    "spec.record:is_lock_over",
    becomes(lambda record, _now: rules.is_held(record)),
)
EXPIRY = OperationCase(
    "time passes",
    "KIP-932, In-flight records",
    _pass_time,
    _after_expiry,
    Control("no lock expires by itself", "spec.expire:_groups", becomes(lambda *_of: ())),
    _fits_the_clock,
    elapses=True,
    moves=True,
)
CHOSEN_EXPIRY = OperationCase(
    "chosen locks expire",
    "KIP-932, In-flight records",
    _expire,
    _after_expiry,
    EARLY,
    _expires_on_time,
    _refuses_expiry,
    elapses=True,
    writes_always=True,
)


def _named_parts(s: OneOperation) -> tuple[OffsetRange, ...]:
    return (OffsetRange(s.first, s.last),)


def _finish(s: OneOperation, before: SharePartition) -> Step:
    operation = FinishDeadLetter(_named_parts(s))
    return dead_letters.finish_dead_letters(before, operation, waits_for_its_write(s))


def _is_archiving(_s: OneOperation, place: Place) -> Term:
    ready = conjunction(place.record.state == ARCHIVING, negate(place.record.pending))
    return conjunction(place.tracked, ready)


def _is_named_from_the_start(s: OneOperation, place: Place) -> Term:
    return conjunction(s.start <= place.offset, s.first <= place.offset, place.offset <= s.last)


def _after_finishing(s: OneOperation, place: Place) -> Record | None:
    if negate(_is_named_from_the_start(s, place)):
        return None
    return rules.finish_dead_letter(place.record)


DEAD_LETTER = OperationCase(
    "dead letters are finished",
    "KIP-1191",
    _finish,
    _after_finishing,
    Control(
        "is_dead_letter lets available records through",
        "spec.record:is_dead_letter",
        also_allows(lambda record: record.state == RecordState.AVAILABLE),
    ),
    lambda s: _each_named(s, _is_archiving, _is_named_from_the_start),
    lambda _s: Guard.DEAD_LETTER_IS_ARCHIVING,
    writes_always=True,
)


def _abort(s: OneOperation, before: SharePartition) -> Step:
    return aborted.archive_aborted_records(before, ArchiveAborted(_named_parts(s)), Choice())


def _after_abortion(s: OneOperation, place: Place) -> Record | None:
    acquired = place.record.state == RecordState.ACQUIRED
    if negate(conjunction(_is_named(s, place), acquired, negate(place.record.pending))):
        return None
    return rules.archive_aborted(place.record)


ABORTED = OperationCase(
    "aborted records are archived",
    "KIP-932, Group configuration",
    _abort,
    _after_abortion,
    Control(
        "can_archive_aborted lets available records through",
        "spec.record:can_archive_aborted",
        also_allows(lambda record: record.state == RecordState.AVAILABLE),
    ),
    writes=lambda _s, _place: False,
    settings={"isolation_level": IsolationLevel.READ_COMMITTED},
)

CASES = (
    RELEASE,
    EXPIRY,
    CHOSEN_EXPIRY,
    DEAD_LETTER,
    ABORTED,
)
"""The operations that end or prolong deliveries, but for acknowledgements."""
