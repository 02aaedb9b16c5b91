"""Faulty implementations that are right until something seldom: a large value, many of something.

Each was once out of reach of the generator of commands for cores. Where one of them has to know
more of a record than the specification keeps, it keeps that in ``acquisition``, which is free where
records are not marked.
"""

from collections.abc import Callable

import attrs

from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import (
    Acknowledge,
    AlterConfig,
    ArchiveAborted,
    CompleteWrite,
    Operation,
)
from model.outcome import Choice
from model.states import AcknowledgeType, RecordState
from spec.partition import SharePartition, Step
from spec.record import Record, is_held
from tools.promises.altering import (
    acknowledging,
    after,
    changed_records,
    held_now,
    named_in,
    replaced,
)
from tools.promises.behaviour import Begins, Behaviour, Face, Manner

LOSSY, LAZY, GREEDY, FORGETFUL, LYING = Manner
_MANY = 10**6
_AVAILABLE, _ACKNOWLEDGED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
_ARCHIVED, _RENEW = RecordState.ARCHIVED, AcknowledgeType.RENEW


def _few_deliveries(config: SharePartitionConfig) -> SharePartitionConfig:
    return attrs.evolve(config, delivery_count_limit=min(config.delivery_count_limit, 5))


def _small_windows_alone(config: SharePartitionConfig) -> SharePartitionConfig:
    limit = config.partition_max_record_locks
    return attrs.evolve(config, partition_max_record_locks=limit if limit <= 20 else _MANY)  # noqa: PLR2004 - the fault


def _taking_for(alike: Callable[[str, str], bool]) -> Begins:
    """Return an alteration that takes the member that acknowledges for others."""

    def begins(partition: SharePartition, operation: Operation) -> SharePartition:
        if not isinstance(operation, Acknowledge):
            return partition
        mine = {
            offset: attrs.evolve(partition.window.records[offset], owner=operation.member)
            for offset in partition.window.held
            if alike(operation.member, partition.window.records[offset].owner)
        }
        return replaced(Step(partition), mine).partition

    return begins


def _acknowledged_again(when: Callable[[SharePartition, int], bool]) -> Begins:
    """Return an alteration that forgets acknowledgements, where something holds of an offset."""

    def begins(partition: SharePartition, _operation: Operation) -> SharePartition:
        free = {
            offset: Record(_AVAILABLE, record.delivery_count)
            for offset, record in partition.window.records.items()
            if record.state is _ACKNOWLEDGED and not record.pending and when(partition, offset)
        }
        return replaced(Step(partition), free).partition

    return begins


def _from(bound: int) -> Begins:
    return _acknowledged_again(lambda _partition, offset: offset > bound)


def _many_writes(partition: SharePartition, _offset: int) -> bool:
    return partition.next_write > 15  # noqa: PLR2004 - some sixty operations


def _third_is_void(old: SharePartition, step: Step) -> Step:
    """Count renewals where nothing else does, and let each after the second do nothing."""
    renewed = {}
    for offset, was, record in held_now(old, step):
        if record.deadline != was.deadline:
            number = (was.acquisition or 0) + 1
            deadline = record.deadline if number < 3 else was.deadline  # noqa: PLR2004 - the third
            renewed[offset] = attrs.evolve(record, deadline=deadline, acquisition=number)
    return replaced(step, renewed)


def _keeping_deadlines(old: SharePartition, operation: Operation, step: Step) -> Step:
    """Keep the deadline of before a renewal, and restore that when a write fails."""
    if isinstance(operation, Acknowledge):
        kept = {
            offset: attrs.evolve(record, acquisition=was.deadline)
            for offset, was, record in held_now(old, step)
            if record.deadline != was.deadline
        }
        return replaced(step, kept)
    if not isinstance(operation, CompleteWrite):
        return step
    restored = {
        offset: attrs.evolve(record, deadline=record.acquisition)
        for offset, record in changed_records(old, step).items()
        if is_held(record) and record.acquisition is not None
    }
    return replaced(step, restored)


def _refusing_late(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
    """Refuse to renew what expires within a twentieth of the duration."""
    if not isinstance(operation, Acknowledge) or not partition.ready:
        return choice
    if not any(_RENEW in batch.types for batch in operation.batches):
        return choice
    soon = partition.now + partition.config.record_lock_duration_ms // 20
    records = partition.window.records
    named = named_in(operation) & set(partition.window.held)
    if any(records[offset].deadline <= soon for offset in named):
        return attrs.evolve(choice, refusal=ErrorCode.INVALID_RECORD_STATE)
    return choice


def _reviving(old: SharePartition, step: Step) -> Step:
    """Make archived records available whose delivery count is below a limit that was raised."""
    limit = step.partition.config.delivery_count_limit
    if limit <= old.config.delivery_count_limit:
        return step
    records = old.window.records.items()
    return replaced(
        step,
        {
            offset: Record(_AVAILABLE, record.delivery_count)
            for offset, record in records
            if record.state is _ARCHIVED and not record.pending and record.delivery_count < limit
        },
    )


def _forgetting_aborted(old: SharePartition, operation: Operation, step: Step) -> Step:
    """Mark what was archived as aborted, and deliver it once the isolation level is another."""
    if isinstance(operation, ArchiveAborted):
        marked = {
            offset: attrs.evolve(record, acquisition=1)
            for offset, record in changed_records(old, step).items()
            if record.state is _ARCHIVED
        }
        return replaced(step, marked)
    switched = step.partition.config.isolation_level is IsolationLevel.READ_UNCOMMITTED
    if not isinstance(operation, AlterConfig) or not switched:
        return step
    free = {
        offset: Record(_AVAILABLE, record.delivery_count)
        for offset, record in old.window.records.items()
        if record.state is _ARCHIVED and record.acquisition is not None
    }
    return replaced(step, free)


_CORE = (Face.CORE,)
_LIMIT, _OWNER, _FINAL = "delivery limit", "the owner acknowledges", "complete is final"
_RENEWAL, _COMMITTED = "renewal", "committed records"

# fmt: off
SELDOM = (
    Behaviour("takes every delivery limit above 5 for 5", _LIMIT, LOSSY, goes_by=_few_deliveries,
        faces=_CORE),
    Behaviour("ignores a limit of the window above 20", "limit of the window", GREEDY,
        goes_by=_small_windows_alone, faces=_CORE),
    Behaviour("drops the fifth batch of an acknowledgement", "acknowledge types", LOSSY,
        does=acknowledging(lambda request: request.batches[:4]), faces=_CORE),
    Behaviour("takes the fourth member for the first", _OWNER, GREEDY,
        begins=_taking_for(lambda member, owner: (member, owner) == ("m4", "m1")), faces=_CORE),
    Behaviour("takes ids of members that differ in case for one", _OWNER, GREEDY,
        begins=_taking_for(lambda member, owner: member.lower() == owner.lower()), faces=_CORE),
    Behaviour("delivers acknowledged records again beyond offset 1,000", _FINAL, FORGETFUL,
        begins=_from(1000), faces=_CORE),
    Behaviour("delivers acknowledged records again beyond 31 bits", _FINAL, FORGETFUL,
        begins=_from(2**31 - 1), faces=_CORE),
    Behaviour("delivers acknowledged records again beyond 40 bits", _FINAL, FORGETFUL,
        begins=_from(2**40 - 1), faces=_CORE),
    Behaviour("delivers acknowledged records again beyond 62 bits", _FINAL, FORGETFUL,
        begins=_from(2**62 - 1), faces=_CORE),
    Behaviour("delivers acknowledged records again after many operations", _FINAL, FORGETFUL,
        begins=_acknowledged_again(_many_writes), faces=_CORE),
    Behaviour("does nothing in a third renewal", _RENEWAL, FORGETFUL,
        ends=after(Acknowledge, _third_is_void), faces=_CORE),
    Behaviour("refuses to renew in the last twentieth of a lock", _RENEWAL, GREEDY,
        chooses=_refusing_late, faces=_CORE),
    Behaviour("restores the deadline of before a renewal when a write fails", _RENEWAL, FORGETFUL,
        ends=_keeping_deadlines, faces=_CORE),
    Behaviour("revives archived records when the limit is raised", _FINAL, FORGETFUL,
        ends=after(AlterConfig, _reviving), faces=_CORE),
    Behaviour("delivers aborted records once the isolation level is another", _COMMITTED,
        FORGETFUL, ends=_forgetting_aborted, faces=_CORE),
)
# fmt: on
"""What shows only in wide settings, in long sequences, or after three things in a row."""
