"""A leader tells its whole state: where a trace begins in the middle, or after events were lost."""

import attrs

from judge.recorded_partition import RecordedPartition
from judge.whole_state import partition_of, whole_state
from model.checkpoint import differences, not_durable, state_told, without_write
from model.errors import IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import Checkpoint, Gap
from spec.coordinator import Durable, durable_state
from spec.partition import SharePartition, Step, require


def take_checkpoint(partition: RecordedPartition, operation: Checkpoint, seq: int) -> Step:
    """Compare what a leader tells of its state, or take it over where nothing else is known.

    ``seq`` is that of the checkpoint.

    Guard: the events before lead to this state. Where events are missing, what was durable before
    still holds: the start offset is not below the durable one, and what was finished is finished;
    a pending record waits for one of the outstanding writes.
    Effect: none where the events before are known; else the share-partition is as it says. Offsets
    of the window without a record hold none, but for the last, which was never delivered, as a
    window ends with a record. Of the log below nothing is known.
    Delivery count: as it says.
    Persistence: none; what is durable beyond what was known before is not known.
    """
    if partition.profile.in_progress:
        allowed = "an operation of a profile without IN_PROGRESS"
        raise InvalidValueError("operation", "checkpoint", allowed)
    if partition.ready:
        known, sweep_ms = whole_state(partition), partition.profile.sweep_ms
        wrong = next(differences(operation, known, sweep_ms), None)
        require(wrong is None, Guard.CHECKPOINT_IS_THE_STATE, f"it differs in {wrong}")
        return Step(partition)
    forgotten = attrs.evolve(partition, durable=_durable(partition, operation))
    _check_durable(forgotten, operation)
    told = state_told(operation, whole_state(forgotten), seq)
    return Step(partition_of(told, partition.profile))


def lose_events(partition: RecordedPartition, _operation: Gap) -> Step:
    """Forget the state: events are missing.

    Guard: none.
    Effect: the share-partition is not known until a leader tells its state or takes over.
    Delivery count: not known.
    Persistence: what was durable stays so; more may be.
    """
    return Step(attrs.evolve(partition, ready=False, durable_whole=False))


def _durable(partition: SharePartition, operation: Checkpoint) -> Durable:
    """Return what is known to be durable: nothing once the share-partition was reset."""
    known = partition.durable
    if operation.state_epoch != known.state_epoch:
        known = Durable(state_epoch=operation.state_epoch)
    return attrs.evolve(known, leader_epoch=operation.leader_epoch)


def _check_durable(partition: SharePartition, operation: Checkpoint) -> None:
    start, durable = operation.state.start_offset, durable_state(partition.durable)
    detail = f"to {start}, where {durable.start_offset} is durable"
    require(start >= durable.start_offset, Guard.START_NEVER_GOES_BACK, detail)
    for offset, state in not_durable(operation, durable):
        detail = f"offset {offset} was durable as {state.name}"
        raise IllegalChoiceError(Guard.CHECKPOINT_IS_THE_STATE, detail)
    for offset in without_write(operation):
        detail = f"offset {offset} is pending, and no outstanding write is its own"
        raise IllegalChoiceError(Guard.CHECKPOINT_IS_THE_STATE, detail)
