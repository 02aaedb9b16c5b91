"""A request that a broker answered legally, and the views of it that coverage goals look at.

The states are those that are most plausible before and after the request.
"""

from collections.abc import Iterator
from enum import StrEnum

import attrs
from immutables import Map

from conformance.cores.acknowledgements import Malformed, Named, malformed, named, typed
from conformance.wire.belief import Belief, Lock
from conformance.wire.target import Exchange
from model.config import IsolationLevel
from model.errors import ErrorCode
from model.ranges import OffsetRange
from model.share_messages import (
    FINAL_EPOCH,
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareRequest,
    TopicPartition,
)
from model.states import AcknowledgeType, RecordState
from spec.log import hole_end, readable_end
from spec.partition import SharePartition, state_of
from spec.record import UNDELIVERED, Record, is_acquirable, is_held_by
from spec.share_broker import PartitionKey
from spec.share_session import ShareSession, key_of

PART = 0.1
"""The share of a lock's duration after which a part of it is over."""


FETCH, ACKNOWLEDGE = "ShareFetch", "ShareAcknowledge"


class Why(StrEnum):
    """Why a record that was acquired is available again."""

    RELEASED = "after it was released"
    LOCK_OVER = "after its lock was over"
    CLOSED = "after its session was closed"
    CONNECTION_LOST = "after its connection was lost"


@attrs.frozen
class Past:
    """What only earlier requests show.

    ``ended``: how the member's last session ended; None if it has one, or never had.
    ``lapsed``: the request acknowledges a record that the member held until its lock was over.
    ``outlived``: a lock is held because it was renewed.
    """

    ended: Why | None = None
    lapsed: bool = False
    outlived: bool = False


@attrs.frozen
class Served:
    """A request that was answered legally.

    ``was`` is the state after the request before, ``before`` the state in which the broker served
    this one, ``after`` the state then. ``lock_ms`` is how long locks last.
    """

    request: ShareRequest
    connection: str
    exchange: Exchange
    was: Belief
    before: Belief
    after: Belief
    lock_ms: int
    past: Past = Past()

    @property
    def error(self) -> ErrorCode:
        """The error of the whole response."""
        return self.exchange.response.error

    @property
    def session(self) -> ShareSession | None:
        """The session of the member before the request."""
        return self.before.broker.sessions.get(key_of(self.request))

    @property
    def holds(self) -> bool:
        """Whether the member held records before the request."""
        return any(held_by(self.before, self.request.member_id))

    @property
    def fetches(self) -> bool:
        """Whether the request asks for records."""
        request = self.request
        fetch = isinstance(request, ShareFetch) and request.max_records > 0
        return fetch and request.session_epoch != FINAL_EPOCH

    def partition(self, topic_partition: TopicPartition) -> SharePartition | None:
        """Return a share-partition of the group before the request; None if it has no such."""
        return self.before.broker.partitions.get((self.request.group_id, topic_partition))

    def partition_after(self, topic_partition: TopicPartition) -> SharePartition:
        """Return a share-partition of the group after the request."""
        return self.after.broker.partitions[self.request.group_id, topic_partition]

    @property
    def api(self) -> str:
        """The kind of request."""
        return FETCH if isinstance(self.request, ShareFetch) else ACKNOWLEDGE

    def joined(self) -> list[TopicPartition]:
        """Return the partitions of the member's session after the request."""
        return [
            known.topic_partition
            for known in self.after.broker.sessions[key_of(self.request)].partitions
        ]

    def lapsed(self) -> list[Record]:
        """Return the records that were held under locks which are over."""
        partitions, sent = self.was.broker.partitions, self.exchange.sent_ms
        return [
            partitions[key].window.records[offset]
            for key, locks in self.was.locks.items()
            for offset, lock in locks.items()
            if lock.latest <= sent
        ]

    def locks(self) -> list[Lock]:
        """Return the locks that were held before the request."""
        return [lock for locks in self.before.locks.values() for lock in locks.values()]


def held_by(belief: Belief, member: str) -> Iterator[tuple[PartitionKey, int]]:
    """Yield the records that a member holds."""
    for key, partition in belief.broker.partitions.items():
        for offset in partition.window.held:
            if partition.window.records[offset].owner == member:
                yield key, offset


def has_available(partition: SharePartition) -> bool:
    """Whether a record in flight is available."""
    return any(map(is_acquirable, partition.window.records.values()))


def has_more(partition: SharePartition) -> bool:
    """Whether the log goes on after the window."""
    return partition.window.end_offset < partition.log.end_offset


def is_gap(partition: SharePartition, offset: int) -> bool:
    """Whether an offset of the log holds no record."""
    return hole_end(partition.log, offset) is not None


@attrs.frozen
class Acknowledged:
    """The acknowledgements of a request at one share-partition, as it was before."""

    served: Served
    asked: PartitionRequest
    partition: SharePartition
    error: ErrorCode | None

    @property
    def malformed(self) -> Malformed | None:
        """What is wrong with the first malformed batch; None if it is not looked at."""
        ready = self.partition.ready
        return next(filter(None, map(malformed, self.asked.batches)), None) if ready else None

    @property
    def well_formed(self) -> bool:
        """Whether the share-partition is in memory, and no batch is malformed."""
        return self.partition.ready and self.malformed is None

    @property
    def types(self) -> dict[int, int]:
        """The acknowledge type for each offset; none if they are not well-formed."""
        if not self.well_formed:
            return {}
        return {offset: type_ for batch in self.asked.batches for offset, type_ in typed(batch)}

    @property
    def own(self) -> dict[int, int]:
        """The types for offsets that the member holds."""
        records, member = self.partition.window.records, self.served.request.member_id
        return {
            offset: type_
            for offset, type_ in self.types.items()
            if offset in records and is_held_by(records[offset], member)
        }

    @property
    def accepted(self) -> set[int]:
        """The types that were accepted for records that the member held."""
        return set() if self.error not in (None, ErrorCode.NONE) else set(self.own.values())

    @property
    def renews_late(self) -> bool:
        """Whether a lock is renewed of whose duration a part is over."""
        served = self.served
        locks = served.before.locks.get(
            (served.request.group_id, self.asked.topic_partition), Map()
        )
        latest = served.exchange.sent_ms + served.lock_ms * (1 - PART)
        renewed = (o for o, type_ in self.own.items() if type_ == AcknowledgeType.RENEW)
        return any(locks[offset].earliest < latest for offset in renewed)


def acknowledged_in(served: Served) -> Iterator[Acknowledged]:
    """Yield the acknowledgements at each share-partition of the group."""
    if served.error is not ErrorCode.NONE:
        return
    errors = {
        part.topic_partition: part.acknowledge_error for part in served.exchange.response.partitions
    }
    for asked in served.request.partitions:
        partition = served.partition(asked.topic_partition)
        if asked.batches and partition is not None:
            yield Acknowledged(served, asked, partition, errors.get(asked.topic_partition))


def named_in(served: Served) -> Iterator[Named]:
    """Yield what the acknowledgements name at each share-partition in memory."""
    for part in acknowledged_in(served):
        if part.partition.ready:
            yield from named(part.partition.window, part.asked.batches, served.request.member_id)


@attrs.frozen
class Acquired:
    """The records that a response gives of one share-partition; ``before`` is None without one."""

    part: PartitionResponse
    before: SharePartition | None
    after: SharePartition

    @property
    def offsets(self) -> list[int]:
        """The acquired offsets, ascending."""
        return _offsets(self.part)

    @property
    def former(self) -> list[Record]:
        """Those of the acquired records that were in flight before."""
        records = self.before.window.records if self.before else Map()
        return [records[offset] for offset in self.offsets if offset in records]

    @property
    def passed(self) -> list[Record]:
        """The records in flight before the last acquired offset that were not acquired."""
        records = self.before.window.records if self.before else Map()
        offsets = self.offsets
        return [records[o] for o in records if o < offsets[-1] and o not in offsets]


def _offsets(part: PartitionResponse) -> list[int]:
    return sorted(o for r in part.acquired for o in range(r.first, r.last + 1))


def acquired_in(served: Served) -> Iterator[Acquired]:
    """Yield the records that a response gives, of each share-partition that has some."""
    if served.fetches and served.error is ErrorCode.NONE:
        for part in served.exchange.response.partitions:
            if part.acquired:
                yield Acquired(
                    part,
                    served.partition(part.topic_partition),
                    served.partition_after(part.topic_partition),
                )


@attrs.frozen
class Fetched:
    """A share-partition in memory that a request fetches from; ``offsets`` were acquired."""

    topic_partition: TopicPartition
    before: SharePartition
    after: SharePartition
    offsets: list[int]

    @property
    def full(self) -> bool:
        """Whether the window was full before."""
        window = self.before.window
        limit = self.before.config.partition_max_record_locks
        return window.end_offset - window.start_offset >= limit

    @property
    def limit(self) -> int:
        """Where the window that the fetch leaves would end by its limit (exclusive)."""
        return self.after.window.start_offset + self.before.config.partition_max_record_locks

    @property
    def blocked(self) -> bool:
        """Whether the log goes on after the first record of an open transaction, unread."""
        log = self.after.log
        return readable_end(log, self.after.config.isolation_level) < log.end_offset

    @property
    def kept_back(self) -> bool:
        """Whether records that the log still has were archived without being acknowledged."""
        before, after = self.before.window, self.after
        return after.config.isolation_level is not IsolationLevel.READ_UNCOMMITTED and any(
            state_of(after, offset) is RecordState.ARCHIVED
            and offset not in after.durable.entries
            and is_acquirable(before.records.get(offset, UNDELIVERED))
            and not is_gap(after, offset)
            for offset in range(before.start_offset, after.window.end_offset)
        )


def fetched_in(served: Served) -> Iterator[Fetched]:
    """Yield each share-partition in memory that a request fetches from."""
    if not served.fetches or served.error is not ErrorCode.NONE:
        return
    parts = served.exchange.response.partitions
    for topic_partition in served.joined():
        if (before := served.partition(topic_partition)) and before.ready:
            offsets = [
                offset
                for part in parts
                if part.topic_partition == topic_partition
                for offset in _offsets(part)
            ]
            yield Fetched(topic_partition, before, served.partition_after(topic_partition), offsets)


@attrs.frozen
class Deletion:
    """A log with these batches, up to ``end``, is to lose its offsets below ``before``."""

    partition: SharePartition
    log: tuple[OffsetRange, ...]
    end: int
    before: int


@attrs.frozen
class Description:
    """A share-partition, and the start offset and the lag that the broker reported of it."""

    partition: SharePartition
    start_offset: int
    lag: int | None
