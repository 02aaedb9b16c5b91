"""One operation applied to a share-partition."""

from collections.abc import Sequence
from typing import assert_never

import attrs

from model import operations as ops
from model.errors import InvalidValueError
from model.guards import Guard
from model.outcome import Answer, Choice
from spec.aborted import archive_aborted_records
from spec.acknowledge import acknowledge_records
from spec.acquire import acquire_records, skip_acquire
from spec.alter_config import alter_config
from spec.dead_letters import finish_dead_letters
from spec.expire import advance_time, expire_locks
from spec.initialize import initialize, reset_offset
from spec.log import forget_below
from spec.log_start import advance_log_start
from spec.mark_in_progress import mark_in_progress
from spec.partition import SharePartition, Step, move_start, new_partition, require
from spec.produce import compact, produce
from spec.release import release_member
from spec.writes import complete_write

__all__ = ["Step", "apply", "new_partition"]

_FREE = Choice()


def apply(
    partition: SharePartition,
    operation: ops.Operation,
    choice: Choice = _FREE,
    answers: Sequence[Answer] = (),
    seq: int = 0,
) -> Step:
    """Return the share-partition after the operation, and the outcome of the operation.

    ``answers`` are the share coordinator's answers to the writes of the operation, in order; a
    missing one is success. ``seq`` names the operation in a later ``Completion``. After the
    operation itself the start offset moves, as chosen.

    Raises IllegalChoiceError where the choice breaks a guard, and InvalidValueError for an
    impossible operation; both leave the share-partition unchanged.
    """
    check_ready(partition, operation)
    return conclude(transition(partition, operation, choice, answers, seq), choice)


def check_ready(partition: SharePartition, operation: ops.Operation) -> None:
    """Refuse what comes before a leader has read the durable state."""
    ready = partition.ready or isinstance(operation, ops.Initialize)
    require(ready, Guard.PARTITION_IS_INITIALIZED, f"{type(operation).__name__} came first")


def conclude(step: Step, choice: Choice) -> Step:
    """Move the start offset, as chosen, once the operation itself is done."""
    if not step.partition.ready:
        return step
    return Step(_forget(move_start(step.partition, choice.start_offset)), step.outcome)


def _forget(partition: SharePartition) -> SharePartition:
    """Forget holes below every start: a new leader starts at the durable start offset."""
    start, durable = partition.window.start_offset, partition.durable.start_offset
    log = forget_below(partition.log, start if durable == -1 else min(start, durable))
    return partition if log is partition.log else attrs.evolve(partition, log=log)


def transition(  # noqa: C901, PLR0911, PLR0912 - one line for each operation
    partition: SharePartition,
    operation: ops.Operation,
    choice: Choice,
    answers: Sequence[Answer],
    seq: int,
) -> Step:
    """Return what the operation itself does; the start offset has not moved because of it."""
    answer = answers[0] if answers else Answer()
    match operation:
        case ops.Acquire():
            return acquire_records(partition, operation, choice)
        case ops.Acknowledge():
            return acknowledge_records(partition, operation, choice, answer, seq)
        case ops.Produce():
            return produce(partition, operation)
        case ops.AdvanceTime():
            return advance_time(partition, operation, choice, answers)
        case ops.Expire():
            return expire_locks(partition, operation, answer)
        case ops.SkipAcquire():
            return skip_acquire(partition, operation, choice)
        case ops.MemberLeaves():
            return release_member(partition, operation, choice, answer, seq)
        case ops.CompleteWrite():
            return complete_write(partition, operation)
        case ops.Initialize():
            return initialize(partition, operation, choice)
        case ops.AdvanceLogStart():
            return advance_log_start(partition, operation)
        case ops.ResetOffset():
            return reset_offset(partition, operation)
        case ops.MarkInProgress():
            return mark_in_progress(partition, operation)
        case ops.FinishDeadLetter():
            return finish_dead_letters(partition, operation, answer)
        case ops.AlterConfig():
            return alter_config(partition, operation)
        case ops.ArchiveAborted():
            return archive_aborted_records(partition, operation, choice)
        case ops.Compact():
            return compact(partition, operation, choice)
        case ops.Checkpoint() | ops.Gap():
            name = type(operation).__name__
            raise InvalidValueError("operation", name, "one of a leader, not of a recording")
        case _:
            assert_never(operation)
