"""Faulty implementations that are right until something seldom: a large value, many of something.

Each was once out of reach of the generator of commands for cores. Where one of them has to know
more of a record than the specification keeps, it keeps that in ``acquisition``, which is free where
records are not marked.
"""

from collections.abc import Callable
from functools import reduce

from model.config import IsolationLevel
from model.errors import ErrorCode
from model.operations import Acknowledge, AlterConfig, ArchiveAborted, CompleteWrite, Operation
from model.states import AcknowledgeType, RecordState
from spec.partition import SharePartition, Step
from spec.record import is_held
from tools.promises.altering import MANY, At, after, before, change, on, recorded, refusing
from tools.promises.behaviour import CORE, Begins, Behaviour, Ends, Manner

LOSSY, LAZY, GREEDY, FORGETFUL, LYING = Manner
_ARCHIVED = RecordState.ARCHIVED
_FEW_BATCHES, _FEW_DELIVERIES, _SMALL_WINDOW, _FEW_RENEWALS, _MANY_WRITES = 4, 5, 20, 2, 15


def _taking_for(alike: Callable[[str, str], bool]) -> Begins:
    """Return an alteration that takes the member that acknowledges for others."""
    return before(
        Acknowledge,
        lambda at: is_held(at.record) and alike(at.operation.member, at.record.owner),
        recorded(owner=lambda at: at.operation.member),
    )


def _acknowledged_again(when: Callable[[At], bool]) -> Begins:
    """Return an alteration that forgets acknowledgements, where something holds of an offset."""
    return before(object, lambda at: at.is_settled(RecordState.ACKNOWLEDGED) and when(at))


def _from(bound: int) -> Begins:
    return _acknowledged_again(lambda at: at.offset > bound)


def _both(*ends: Ends) -> Ends:
    """Return one alteration of the step after the other."""

    def each_in_turn(old: SharePartition, operation: Operation, step: Step) -> Step:
        return reduce(lambda so_far, alter: alter(old, operation, so_far), ends, step)

    return each_in_turn


def _renewals(at: At) -> int:
    return (at.was.acquisition or 0) + 1


def _expires_soon(partition: SharePartition, request: Acknowledge) -> bool:
    """Whether a request renews, and something it names expires in a twentieth of the duration."""
    soon = partition.now + partition.config.record_lock_duration_ms // 20
    held = (
        At(partition, request, offset, partition.window.records[offset])
        for offset in partition.window.held
    )
    renews = any(AcknowledgeType.RENEW in batch.types for batch in request.batches)
    return renews and any(at.is_named and at.record.deadline <= soon for at in held)


def _is_below_raised_limit(at: At) -> bool:
    """Whether a limit was raised above the delivery count of an archived record."""
    former, limit = (
        at.partition.config.delivery_count_limit,
        at.operation.config.delivery_count_limit,
    )
    return at.is_settled(_ARCHIVED) and former < limit and at.record.delivery_count < limit


def _was_aborted(at: At) -> bool:
    """Whether the isolation level is another than when a record was archived as aborted."""
    level = at.operation.config.isolation_level
    marked = at.record.state is _ARCHIVED and at.record.acquisition is not None
    return marked and level is IsolationLevel.READ_UNCOMMITTED


_LIMIT, _OWNER, _FINAL = "delivery limit", "the owner acknowledges", "complete is final"
_RENEWAL, _COMMITTED = "renewal", "committed records"

# fmt: off
SELDOM = (
    Behaviour("takes every delivery limit above 5 for 5", _LIMIT, LOSSY, faces=CORE,
        goes_by=change(delivery_count_limit=lambda limit: min(limit, _FEW_DELIVERIES))),
    Behaviour("ignores a limit of the window above 20", "limit of the window", GREEDY,
        faces=CORE,
        goes_by=change(partition_max_record_locks=lambda limit:
            limit if limit <= _SMALL_WINDOW else MANY)),
    Behaviour("drops the fifth batch of an acknowledgement", "acknowledge types", LOSSY,
        does=on(Acknowledge, change(batches=lambda batches: batches[:_FEW_BATCHES])), faces=CORE),
    Behaviour("takes the fourth member for the first", _OWNER, GREEDY,
        begins=_taking_for(lambda member, owner: (member, owner) == ("m4", "m1")), faces=CORE),
    Behaviour("takes ids of members that differ in case for one", _OWNER, GREEDY,
        begins=_taking_for(lambda member, owner: member.lower() == owner.lower()), faces=CORE),
    Behaviour("delivers acknowledged records again beyond offset 1,000", _FINAL, FORGETFUL,
        begins=_from(1000), faces=CORE),
    Behaviour("delivers acknowledged records again beyond 31 bits", _FINAL, FORGETFUL,
        begins=_from(2**31 - 1), faces=CORE),
    Behaviour("delivers acknowledged records again beyond 40 bits", _FINAL, FORGETFUL,
        begins=_from(2**40 - 1), faces=CORE),
    Behaviour("delivers acknowledged records again beyond 62 bits", _FINAL, FORGETFUL,
        begins=_from(2**62 - 1), faces=CORE),
    Behaviour("delivers acknowledged records again after many operations", _FINAL, FORGETFUL,
        begins=_acknowledged_again(lambda at: at.partition.next_write > _MANY_WRITES), faces=CORE),
    Behaviour("does nothing in a third renewal", _RENEWAL, FORGETFUL,
        faces=CORE,
        ends=after(Acknowledge, lambda at: at.is_renewed, recorded(acquisition=_renewals,
            deadline=lambda at:
                (at.record if _renewals(at) <= _FEW_RENEWALS else at.was).deadline))),
    Behaviour("refuses to renew in the last twentieth of a lock", _RENEWAL, GREEDY,
        chooses=refusing(ErrorCode.INVALID_RECORD_STATE, _expires_soon), faces=CORE),
    Behaviour("restores the deadline of before a renewal when a write fails", _RENEWAL, FORGETFUL,
        faces=CORE,
        ends=_both(
            after(Acknowledge, lambda at: at.is_renewed,
                recorded(acquisition=lambda at: at.was.deadline)),
            after(CompleteWrite, lambda at: at.is_changed and is_held(at.record)
                and at.record.acquisition is not None,
                recorded(deadline=lambda at: at.record.acquisition)))),
    Behaviour("revives archived records when the limit is raised", _FINAL, FORGETFUL,
        ends=after(AlterConfig, _is_below_raised_limit), faces=CORE),
    Behaviour("delivers aborted records once the isolation level is another", _COMMITTED,
        FORGETFUL, faces=CORE,
        ends=_both(
            after(ArchiveAborted, lambda at: at.is_changed and at.record.state is _ARCHIVED,
                recorded(acquisition=lambda _at: 1)),
            after(AlterConfig, _was_aborted))),
)
# fmt: on
"""What shows only in wide settings, in long sequences, or after three things in a row."""
