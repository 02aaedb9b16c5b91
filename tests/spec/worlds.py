"""Small share-partitions for tests, and short ways to drive them and to say what is in them."""

import attrs
import pytest

from judge.recorder import apply_recorded
from judge.view import snapshot
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import IllegalChoiceError
from model.guards import Guard
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    EntryPoint,
    Initialize,
    MarkInProgress,
    Operation,
    ProgressBatch,
)
from model.outcome import Answer, Choice, Outcome, Write
from model.profile import KAFKA, KIP, Profile
from model.ranges import OffsetRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import AcquireMode, RecordState
from spec.partition import SharePartition
from spec.record import Record
from spec.step import apply, new_partition
from spec.window import Window, extend, replace

BOTH = pytest.mark.parametrize("profile", [KIP, KAFKA], ids=lambda profile: profile.name)
"""Runs a test under each profile."""

SMALL = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=10,
    record_lock_duration_ms=100,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
)

MARKS = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=10,
    record_lock_duration_ms=10,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
    in_progress_staleness_threshold_ms=30,
    in_progress_max_lock_extension_ms=100,
    in_progress_rebalance_grace_ms=5,
)
"""For records in progress: a lock, the age of the last sign, the age of the first, grace."""

_FREE = Choice()
_LETTERS = {
    RecordState.AVAILABLE: "A",
    RecordState.ACQUIRED: "Q",
    RecordState.ACKNOWLEDGED: "K",
    RecordState.ARCHIVING: "Y",
    RecordState.ARCHIVED: "X",
    RecordState.IN_PROGRESS: "P",
}


def started(
    profile: Profile = KIP,
    *batches: StateBatch,
    start: int = 0,
    end: int = 100,
    config: SharePartitionConfig = SMALL,
    timed: bool = False,
) -> SharePartition:
    """A share-partition over a log from 0 to ``end`` that a leader read from these batches."""
    operation = Initialize(config, 0, end, DurableState(start, 0, batches), timed=timed)
    return apply(new_partition(profile), operation).partition


def fetch(
    member: str,
    *batches: tuple[int, int],
    most: int = 500,
    at: int | None = None,
    mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED,
) -> Acquire:
    """An acquire that read these log batches at ``at``, by default where they begin."""
    first = batches[0][0] if at is None else at
    return Acquire(member, mode, 500, most, first, spans(*batches))


def acknowledgement(
    member: str, *batches: tuple[int, ...], entry: EntryPoint = EntryPoint.SHARE_PARTITION
) -> Acknowledge:
    """An acknowledgement of batches (first, last, type, ...)."""
    found = (AcknowledgementBatch(first, last, tuple(types)) for first, last, *types in batches)
    return Acknowledge(member, tuple(found), entry)


def marking(
    member: str, *batches: tuple[int, int], acquisition: int = 0, epoch: int = 0
) -> MarkInProgress:
    """A mark of batches (first, last) of the records of one acquisition."""
    found = (ProgressBatch(first, last, epoch, acquisition) for first, last in batches)
    return MarkInProgress(member, tuple(found))


def spans(*parts: tuple[int, int]) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(first, last) for first, last in parts)


def run(
    partition: SharePartition, *operations: Operation, answer: Answer | None = None
) -> SharePartition:
    """The share-partition after the operations, whose writes are answered with ``answer``."""
    answers = () if answer is None else (answer,)
    for seq, operation in enumerate(operations):
        partition = apply(partition, operation, Choice(), answers, seq).partition
    return partition


def refusal(
    partition: SharePartition, operation: Operation, choice: Choice = _FREE
) -> tuple[Guard, str]:
    """The guard that refuses the choice, and its detail."""
    with pytest.raises(IllegalChoiceError) as caught:
        apply_recorded(partition, operation, choice, (), 0)
    assert isinstance(caught.value.guard, Guard)
    return caught.value.guard, caught.value.detail


def states(partition: SharePartition) -> str:
    """All records: offsets, a letter of the state, delivery count, owner, ``*`` if pending."""
    return shown(snapshot(partition))


def shown(window: SharePartitionSnapshot) -> str:
    """All records of a snapshot, as ``states``."""
    parts = []
    for r in window.records or ():
        offsets = f"{r.first}" if r.first == r.last else f"{r.first}-{r.last}"
        owner = "" if r.owner is None else f"@{r.owner}"
        parts.append(f"{offsets}:{_LETTERS[r.state]}{r.delivery_count}{owner}{'*' * r.pending}")
    return " ".join(parts)


def taken(outcome: Outcome) -> list[tuple[int, int, int]]:
    """What an acquire took, as (first, last, delivery count)."""
    return [attrs.astuple(part) for part in outcome.acquired]


def written(write: Write) -> tuple[int, int, list[tuple[int, int, int, int]]]:
    """What a write carries: start offset, delivery complete count, batches."""
    batches = [(b.first, b.last, int(b.state), b.delivery_count) for b in write.state_batches]
    return write.start_offset, write.delivery_complete_count, batches


def window_of(start: int, end: int, records: dict[int, Record]) -> Window:
    """A window whose counts follow its records."""
    return replace(extend(Window(start, start), end), records)
