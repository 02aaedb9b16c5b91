"""The interface of a broker to the kit: share sessions, a log, and a clock in real time."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias

import attrs

from conformance.target import Hello, TargetError
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.ranges import OffsetRange
from model.share_messages import ShareRequest, ShareResponse, TopicPartition


class UnansweredError(TargetError):
    """A broker closed a connection instead of answering a request on it."""


@attrs.frozen
class WireCapabilities:
    """What a broker can do. The kit does not ask for the rest, and reports that.

    ``fetch_versions`` and ``acknowledge_versions``: of ShareFetch and ShareAcknowledge, both ends
    inclusive, limited to what the kit speaks. ``renew`` and the acquire mode record_limit need 2.

    ``offsets``: the broker answers DescribeShareGroupOffsets; ``lag``: with a lag. ``config``: the
    kit can set ``share.*`` for each group; ``committed``: read_committed too, and ``group_limits``:
    the delivery and the lock limit too, otherwise those of the broker hold. ``sessions``: the
    broker keeps and checks share sessions.

    ``gaps``: the kit can create offsets without a record. Each is a transaction marker, a log
    batch of one offset: a broker acquires it like a record, but no client sees a record.
    ``aborted``: the kit can produce batches of aborted transactions. ``transactions``: one can stay
    open over other requests. ``coordinators``: FindCoordinator knows the key type SHARE.
    ``alters``: start offsets can be altered; ``recreates``: groups and topics deleted. ``resets``:
    the values of share.auto.offset.reset, by_duration with an hour. ``renew_setting``: renewals can
    be switched off for a group.

    ``heartbeats_ms``: heartbeat intervals that a group can have of its own and the broker has not,
    ascending; ``timeout_ms``: a session timeout that a group can have of its own, longer than the
    first of them and short enough to wait for; 0 if there is none. ``throttles``: the kit can set
    a quota of its own client.

    ``lock_ms``: the lock duration of sequences; ``sweep_ms``: how long after that the broker may
    release a lock. ``delivery_limits`` and ``lock_limits``: the possible values of
    delivery_count_limit and partition_max_record_locks. ``max_sequence_ms``: how long a sequence
    may take; the broker may remove its group and topic after that. ``nodes``: the ids of the
    brokers of its cluster; empty if they are not known.
    """

    fetch_versions: tuple[int, int] = (1, 1)
    acknowledge_versions: tuple[int, int] = (1, 1)
    acquire_modes: tuple[str, ...] = ("batch_optimized",)
    renew: bool = False
    offsets: bool = False
    lag: bool = False
    delete_records: bool = False
    gaps: bool = False
    aborted: bool = False
    transactions: bool = False
    coordinators: bool = False
    alters: bool = False
    recreates: bool = False
    config: bool = False
    resets: tuple[str, ...] = ("earliest",)
    renew_setting: bool = False
    committed: bool = False
    group_limits: bool = True
    heartbeats_ms: tuple[int, ...] = ()
    timeout_ms: int = 0
    throttles: bool = False
    sessions: bool = True
    sweep_ms: int = 1000
    lock_ms: int = 1000
    delivery_limits: tuple[int, ...] = (5,)
    lock_limits: tuple[int, ...] = (200,)
    max_sequence_ms: int = 30_000
    nodes: tuple[int, ...] = ()


WireHello: TypeAlias = Hello[WireCapabilities]


@attrs.frozen
class GroupTopic:
    """A group and a topic, created for one sequence; partitions count from 0.

    ``topic_id`` is a UUID in its usual form of 36 characters, as in the requests of ``ask``.
    """

    group: str
    topic_id: str
    partitions: int


class BatchOrigin(StrEnum):
    """Of what log batches are that the kit appends, in words."""

    PLAIN = ""
    OLD = "of two hours ago"
    ABORTED = "of an aborted transaction"
    OPEN = "of an open transaction"


@attrs.frozen
class Exchange:
    """A response and its circumstances. Times are of the monotonic clock, in ms.

    ``sent_ms`` is before the first byte of the request, ``received_ms`` after the last byte of the
    response: the broker served it in between.
    ``read`` has the offsets of the records in the response, as disjoint ranges that ascend, one
    for each log batch; ``altered`` those of records whose contents are not what the kit wrote.
    ``unknown_errors`` names errors that ``ErrorCode`` does not have: in ``response`` they are
    UNKNOWN_SERVER_ERROR. ``lock_timeout_ms`` is None where the response has none. ``leaders`` has
    the node that is named as the current leader with each error, unless that is -1. ``throttle_ms``
    is for how long the broker says that it throttles the client.
    """

    response: ShareResponse
    sent_ms: float
    received_ms: float
    read: tuple[tuple[TopicPartition, tuple[OffsetRange, ...]], ...] = ()
    lock_timeout_ms: int | None = None
    unknown_errors: tuple[str, ...] = ()
    altered: tuple[tuple[TopicPartition, tuple[int, ...]], ...] = ()
    leaders: tuple[tuple[TopicPartition, int], ...] = ()
    throttle_ms: int = 0


@attrs.frozen
class Described:
    """What DescribeShareGroupOffsets answers for a share-partition.

    ``start_offset`` is -1 before initialization, ``lag`` None where the broker reports none.
    ``leader_epoch`` is what it answers, ``led`` the partition's own; -1 if it is not known.
    """

    error: ErrorCode
    start_offset: int
    lag: int | None
    sent_ms: float
    received_ms: float
    leader_epoch: int = -1
    led: int = -1


@attrs.frozen
class HeartbeatReply:
    """What ShareGroupHeartbeat answers a member: its epoch, and an interval (ms).

    ``sent_ms`` and ``received_ms`` as of an exchange.
    """

    error: ErrorCode
    epoch: int
    interval_ms: int
    sent_ms: float
    received_ms: float


@attrs.frozen
class NamedNode:
    """What FindCoordinator answers: an error, or a node."""

    error: ErrorCode
    node: int = -1


class WireTarget(Protocol):
    """A broker. Every method except ``close`` may raise TargetError."""

    def hello(self) -> WireHello:
        """Describe the broker."""

    def open(self, config: SharePartitionConfig, partitions: int, group: str = "") -> GroupTopic:
        """Create a topic with empty partitions, and a group that can fetch from them.

        The group's id ends with ``group``.
        """

    def alter_offset(self, place: GroupTopic, partition: int, offset: int) -> None:
        """Alter a start offset; the group must be without sessions."""

    def recreate(self, place: GroupTopic, *, topic: bool) -> GroupTopic:
        """Delete the group, perhaps the topic, and create them again; return where they are.

        The group must be without sessions.
        """

    def set_group(self, place: GroupTopic, settings: Mapping[str, str | None]) -> None:
        """Alter settings that the group has of its own; None removes one."""

    def heartbeat(self, place: GroupTopic, member: str, epoch: int) -> HeartbeatReply:
        """Send a heartbeat of a member: 0 joins it with the topic, -1 lets it leave."""

    def coordinator_of(self, key: str) -> NamedNode:
        """Ask for the share coordinator of a key; again for a while if it is not ready."""

    def produce(
        self,
        place: GroupTopic,
        partition: int,
        batches: Sequence[tuple[int, int]],
        origin: BatchOrigin = BatchOrigin.PLAIN,
    ) -> tuple[OffsetRange, ...]:
        """Append log batches, each as (offsets without a record before it, its records).

        Returns the offsets of each batch. If they are ABORTED the batches are one transaction: its
        marker, one offset, follows the last batch. OPEN ones are of a transaction of the partition
        that stays open: the first begin it, others join it. OLD records have a timestamp of before
        the hour of by_duration.
        """

    def end_transaction(self, place: GroupTopic, partition: int, *, committed: bool) -> None:
        """Commit or abort the open transaction: its marker, one offset, ends the log."""

    def delete_records(self, place: GroupTopic, partition: int, before: int) -> None:
        """Move the log start offset up to ``before``; the group's leader may notice later."""

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
        """Send a request over the named connection, opened on first use."""

    def throttle(self, *, on: bool) -> float:
        """Have every request of the kit exceed a quota, or none; return since when (ms)."""

    def disconnect(self, connection: str) -> None:
        """Close the named connection, if it exists."""

    def describe(self, place: GroupTopic, partition: int) -> Described:
        """Return the start offset and the lag of a share-partition."""

    def wait(self, ms: float) -> None:
        """Wait in real time."""

    def finish(self, place: GroupTopic) -> None:
        """Remove the topic and the group, and close every connection of ``ask``."""

    def close(self) -> None:
        """Release the broker. Never raises."""
