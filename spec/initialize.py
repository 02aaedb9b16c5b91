"""Taking over a share-partition: a new leader, and an altered start offset."""

import attrs
from immutables import Map

from model.config import AutoOffsetReset, check_in_progress
from model.errors import ErrorCode, InvalidValueError
from model.operations import Initialize, ResetOffset
from model.outcome import Choice, Outcome, Write
from model.ranges import StateBatch
from model.states import RecordState
from spec.coordinator import counted, durable_from, initialize_durable
from spec.log import Log, truncate
from spec.logic import either
from spec.partition import Outstanding, SharePartition, Step
from spec.record import recover
from spec.window import Window, drop_below, extend, replace

_FREE = Choice()
_DELIVERABLE = frozenset({RecordState.AVAILABLE, RecordState.IN_PROGRESS})


def initialize(partition: SharePartition, operation: Initialize, choice: Choice = _FREE) -> Step:
    """Start a leader from the durable state (KIP-932, ReadShareGroupState).

    Guard: the durable batches ascend from the start offset, and none is IN_PROGRESS unless the
    profile has that; otherwise the share-partition fails. An implementation may pass over what
    lies below the start offset.
    Effect: records are as they were last durable; acquisitions and outstanding writes of the former
    leader are lost. An implementation may begin at the log start offset at once. As far as the
    leader knows, offsets between batches were never delivered. Acquisitions are numbered from 0 in
    a later leader epoch, and on in the same one, so that no two of them have one token.
    Delivery count: as last durable.
    Persistence: none: a start offset that was never written is resolved again by each leader.
    """
    in_progress = partition.profile.in_progress
    if in_progress:
        check_in_progress(operation.config)
    start, batches = _start_offset(operation), operation.persisted.state_batches
    if choice.refusal is ErrorCode.NONE:
        batches = _from(start, batches)
    unknown = any(batch.state == RecordState.IN_PROGRESS for batch in batches) and not in_progress
    if unknown or not _ascend_from(start, batches):
        failed = attrs.evolve(partition, ready=False)
        return Step(failed, Outcome(ErrorCode.UNKNOWN_SERVER_ERROR))
    records = {
        offset: recover(batch.state, batch.delivery_count)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
    }
    end = max(records, default=start - 1) + 1
    window = replace(extend(Window(start, start), end), records)
    if (choice.start_offset or 0) >= operation.log_start_offset > start:
        window = drop_below(window, operation.log_start_offset)
    return Step(
        attrs.evolve(
            partition,
            config=operation.config,
            now=operation.time_ms,
            log=_log(partition.log, operation),
            window=window,
            outstanding=Map(),
            durable=counted(durable_from(operation.persisted), partition.profile),
            ready=True,
            highest_limit=_highest_limit(partition, operation),
            next_acquisition=_next_acquisition(partition, operation),
            passed_over=(),
            stuck=None,
        )
    )


def reset_offset(partition: SharePartition, operation: ResetOffset) -> Step:
    """Alter the start offset (KIP-932, KafkaAdmin.alterShareGroupOffsets).

    Guard: the group is empty: nothing is held and nobody waits for a write.
    Effect: all records in flight are discarded; the window is empty at the new start offset.
    Delivery count: all discarded.
    Persistence: InitializeShareGroupState with the next state epoch, which fences older writes: the
    answer to one that is still outstanding, whichever it is, changes nothing.
    """
    waited_for = any(sent.seq is not None for sent in partition.outstanding.values())
    if partition.window.held or waited_for:
        return Step(partition, Outcome(ErrorCode.NON_EMPTY_GROUP))
    start, epoch = operation.start_offset, partition.durable.state_epoch + 1
    durable = initialize_durable(partition.durable, start, epoch)
    outstanding = partition.outstanding
    fenced = Map({id_: Outstanding(_emptied(each.write)) for id_, each in outstanding.items()})
    reset = attrs.evolve(partition, window=Window(start, start), outstanding=fenced)
    return Step(attrs.evolve(reset, durable=durable, passed_over=(), stuck=None))


def _emptied(write: Write) -> Write:
    """Return the write as one that changes nothing that is durable."""
    return attrs.evolve(write, start_offset=-1, delivery_complete_count=0, state_batches=())


def _from(start: int, batches: tuple[StateBatch, ...]) -> tuple[StateBatch, ...]:
    """Return what of the batches lies from ``start`` on."""
    return tuple(
        attrs.evolve(batch, first=max(batch.first, start))
        for batch in batches
        if batch.last >= start
    )


def _ascend_from(start: int, batches: tuple[StateBatch, ...]) -> bool:
    for batch in batches:
        if batch.first < start:
            return False
        start = batch.last + 1
    return True


def _start_offset(operation: Initialize) -> int:
    if operation.persisted.start_offset != -1:
        return operation.persisted.start_offset
    match operation.config.auto_offset_reset:
        case AutoOffsetReset.EARLIEST:
            return operation.log_start_offset
        case AutoOffsetReset.LATEST:
            return operation.log_end_offset
    if operation.reset_offset is None:
        allowed = "the offset that by_duration resolves to"
        raise InvalidValueError("reset_offset", None, allowed)
    return operation.reset_offset


def _next_acquisition(partition: SharePartition, operation: Initialize) -> int:
    later = operation.persisted.leader_epoch > partition.durable.leader_epoch
    first: int = either(later, 0, partition.next_acquisition)
    return first


def _highest_limit(partition: SharePartition, operation: Initialize) -> int:
    batches = operation.persisted.state_batches
    reached = (batch.delivery_count + (batch.state in _DELIVERABLE) for batch in batches)
    return max(partition.highest_limit, operation.config.delivery_count_limit, *reached, 0)


def _log(log: Log, operation: Initialize) -> Log:
    """Return the log as the leader read it. What is known of single offsets outlasts leaders."""
    end, stable = operation.log_end_offset, operation.last_stable_offset
    return attrs.evolve(
        truncate(log, end),
        start_offset=operation.log_start_offset,
        end_offset=end,
        stable_offset=end if stable is None else stable,
        known=log.known or operation.log_known,
    )
