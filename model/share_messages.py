"""Requests of share sessions and their responses, close to the wire (KIP-932, ShareFetch).

A response holds what the broker decides: no record data, no throttling, no leader of another node.
"""

from collections.abc import Iterable
from typing import Any

import attrs

from model.checks import int32, member_name, non_negative, whole
from model.errors import ErrorCode, InvalidValueError
from model.operations import AcknowledgementBatch, ProgressBatch
from model.outcome import Answer, Choice
from model.ranges import AcquiredRange, OffsetRange
from model.snapshot import DurableState
from model.states import AcquireMode

INITIAL_EPOCH, FINAL_EPOCH, MAX_EPOCH = 0, -1, 2**31 - 1
"""Session epochs that open and close a session, and the last one before they begin at 1 again."""

LATEST_VERSION = 2

_FREE, _SAVED = Choice(), Answer()


def _version(_instance: object, attribute: "attrs.Attribute[Any]", value: int) -> None:
    whole(attribute.name, value, 1, LATEST_VERSION)


@attrs.frozen(order=True)
class TopicPartition:
    """A partition of a topic, as requests name it."""

    topic_id: str = attrs.field(validator=member_name)
    partition: int = attrs.field(validator=non_negative)


@attrs.frozen
class PartitionRequest:
    """The part of a request about one share-partition; it may acknowledge batches."""

    topic_partition: TopicPartition
    batches: tuple[AcknowledgementBatch, ...] = ()


@attrs.frozen
class PartitionMarks:
    """The part of a MarkInProgress request about one share-partition."""

    topic_partition: TopicPartition
    batches: tuple[ProgressBatch, ...] = ()


def _each_once(_instance: object, attribute: "attrs.Attribute[Any]", given: Iterable[Any]) -> None:
    known: set[TopicPartition] = set()
    for item in given:
        topic_partition = (
            item.topic_partition if isinstance(item, PartitionRequest | PartitionMarks) else item
        )
        if topic_partition in known:
            raise InvalidValueError(attribute.name, topic_partition, "each share-partition once")
        known.add(topic_partition)


@attrs.frozen
class ShareFetch:
    """A ShareFetch request of version 1 or 2.

    ``partitions`` are added to the session, or acknowledge, or both. ``forgotten`` leave the
    session. Sizes in bytes, waiting in ms; ``max_records`` and ``batch_size`` count records.
    ``is_renew_ack`` says that batches renew locks (KIP-1222, version 2).
    """

    group_id: str = attrs.field(validator=member_name)
    member_id: str = attrs.field(validator=member_name)
    session_epoch: int = attrs.field(validator=int32)
    partitions: tuple[PartitionRequest, ...] = attrs.field(default=(), validator=_each_once)
    forgotten: tuple[TopicPartition, ...] = attrs.field(default=(), validator=_each_once)
    max_records: int = attrs.field(default=500, validator=non_negative)
    batch_size: int = attrs.field(default=500, validator=non_negative)
    max_bytes: int = attrs.field(default=MAX_EPOCH, validator=non_negative)
    min_bytes: int = attrs.field(default=1, validator=non_negative)
    max_wait_ms: int = attrs.field(default=500, validator=non_negative)
    acquire_mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED
    is_renew_ack: bool = False
    version: int = attrs.field(default=LATEST_VERSION, validator=_version)


@attrs.frozen
class ShareAcknowledge:
    """A ShareAcknowledge request of version 1 or 2."""

    group_id: str = attrs.field(validator=member_name)
    member_id: str = attrs.field(validator=member_name)
    session_epoch: int = attrs.field(validator=int32)
    partitions: tuple[PartitionRequest, ...] = attrs.field(default=(), validator=_each_once)
    is_renew_ack: bool = False
    version: int = attrs.field(default=LATEST_VERSION, validator=_version)


ShareRequest = ShareFetch | ShareAcknowledge


@attrs.frozen
class ShareMark:
    """A MarkInProgress request (KAFKA-20458, a draft), which mirrors a ShareAcknowledge."""

    group_id: str = attrs.field(validator=member_name)
    member_id: str = attrs.field(validator=member_name)
    session_epoch: int = attrs.field(validator=int32)
    partitions: tuple[PartitionMarks, ...] = attrs.field(default=(), validator=_each_once)


@attrs.frozen
class PartitionResponse:
    """The part of a response about one share-partition.

    ``error`` is that of the fetch and ``acknowledge_error`` that of the acknowledgement; a
    ShareAcknowledge response has only the second. ``token`` is the leader epoch and the number of
    the acquisition, where the records may be marked in progress.
    """

    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    acknowledge_error: ErrorCode = ErrorCode.NONE
    acquired: tuple[AcquiredRange, ...] = ()
    token: tuple[int, int] | None = None


@attrs.frozen
class MarkedPartition:
    """The part of a MarkInProgress response: an error, or an answer for each batch."""

    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    batches: tuple[ErrorCode, ...] = ()


@attrs.frozen
class MarkResponse:
    """The response to a MarkInProgress request; with a top-level ``error`` it has no partitions."""

    error: ErrorCode = ErrorCode.NONE
    partitions: tuple[MarkedPartition, ...] = ()


@attrs.frozen
class ShareResponse:
    """The response to a request; with a top-level ``error`` it has no partitions."""

    error: ErrorCode = ErrorCode.NONE
    partitions: tuple[PartitionResponse, ...] = ()


@attrs.frozen
class PartitionConduct:
    """What a broker chooses and reads, and its writes' answers, at one partition of a request.

    ``log_batches`` is what it reads, from ``fetch_offset`` on; None: every record, one to a batch.
    ``acknowledge_answer`` and ``release_answer`` are the share coordinator's answers to the writes.
    ``aborted`` is what it read of aborted transactions; under read_committed it is kept back.
    ``reset_offset`` is what by_duration resolves to, should the share-partition be initialized, and
    ``read`` what the share coordinator then answers to ReadShareGroupState; None: the state as the
    broker knows it.
    """

    acknowledge: Choice = _FREE
    acquire: Choice = _FREE
    release: Choice = _FREE
    fetch_offset: int | None = None
    log_batches: tuple[OffsetRange, ...] | None = None
    aborted: tuple[OffsetRange, ...] = ()
    acknowledge_answer: Answer = _SAVED
    release_answer: Answer = _SAVED
    reset_offset: int | None = None
    read: DurableState | ErrorCode | None = None


@attrs.frozen
class Conduct:
    """What a broker chooses while it serves a request.

    ``order``: the share-partitions in the order in which they use up the records that were asked
    for; None: the session's, rotated by its epoch.
    """

    partitions: tuple[tuple[TopicPartition, PartitionConduct], ...] = ()
    order: tuple[TopicPartition, ...] | None = None
    _chosen: dict[TopicPartition, PartitionConduct] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Let each be found at once: a request may name a thousand."""
        object.__setattr__(self, "_chosen", dict(self.partitions))

    def of(self, topic_partition: TopicPartition) -> PartitionConduct:
        """Return the conduct at one share-partition; the defaults if none is given."""
        return self._chosen.get(topic_partition, PartitionConduct())
