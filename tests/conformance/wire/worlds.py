"""A broker of the specification, its judge, and requests in few words."""

import attrs

from conformance.wire.belief import Timing
from conformance.wire.judge import Judge
from conformance.wire.target import Exchange, GroupTopic
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.profile import KIP, Profile
from model.ranges import AcquiredRange, OffsetRange
from model.share_messages import (
    PartitionRequest,
    PartitionResponse,
    ShareAcknowledge,
    ShareFetch,
    ShareResponse,
    TopicPartition,
)

PLACE = GroupTopic("g", "t", 2)
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=4,
    record_lock_duration_ms=1000,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
)
COMMITTED = attrs.evolve(CONFIG, isolation_level=IsolationLevel.READ_COMMITTED)
TIMING = Timing(1000, sweep_ms=200, slack_ms=300)
NONE = ErrorCode.NONE


def judge(records: int = 3, profile: Profile = KIP) -> Judge:
    """Return a judge of a place where partition 0 has one log batch."""
    made = Judge(profile, PLACE, CONFIG, TIMING)
    if records:
        made.produced(0, [OffsetRange(0, records - 1)])
    return made


def fetch(member: str, epoch: int, *batches: tuple[int, int, int], **more: object) -> ShareFetch:
    """Return a fetch that opens with both partitions, or acknowledges at partition 0."""
    partitions: tuple[PartitionRequest, ...] = ()
    if epoch == 0:
        partitions = (PartitionRequest(P0), PartitionRequest(P1))
    elif batches:
        partitions = (PartitionRequest(P0, acknowledged(*batches)),)
    return ShareFetch("g", member, epoch, partitions, **more)  # type: ignore[arg-type] # any field


def acknowledge(member: str, epoch: int, *batches: tuple[int, int, int]) -> ShareAcknowledge:
    """Return acknowledgements at partition 0, each as (first, last, type)."""
    return ShareAcknowledge("g", member, epoch, (PartitionRequest(P0, acknowledged(*batches)),))


def acknowledged(*batches: tuple[int, int, int]) -> tuple[AcknowledgementBatch, ...]:
    """Return batches of one type each."""
    return tuple(AcknowledgementBatch(first, last, (kind,)) for first, last, kind in batches)


def answer(
    *acquired: tuple[int, int, int],
    at: float = 0.0,
    error: ErrorCode = NONE,
    refused: ErrorCode = NONE,
    read: tuple[int, int] | None = (0, 9),
) -> Exchange:
    """Return a response of partition 0, which came at ``at`` ms, with records in it."""
    ranges = tuple(AcquiredRange(*one) for one in acquired)
    parts = (PartitionResponse(P0, NONE, refused, ranges),) if error is NONE else ()
    records = ((P0, (OffsetRange(*read),)),) if read and acquired else ()
    return Exchange(ShareResponse(error, parts), at, at + 1, records)
