"""A broker at an address, as a target."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

import attrs

from conformance.target import TargetError
from conformance.wire.admin import Admin, Resource, Transaction
from conformance.wire.allowed import ISOLATION, OF_A_GROUP, RENEWS, allowed
from conformance.wire.codec import exchange, message, model_error
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.records import batch_with, contents_of, record_batch
from conformance.wire.target import (
    BatchOrigin,
    Described,
    Exchange,
    GroupTopic,
    HeartbeatReply,
    NamedNode,
    WireHello,
)
from model.config import AutoOffsetReset, SharePartitionConfig
from model.ranges import OffsetRange
from model.share_messages import ShareFetch, ShareRequest

_UNKNOWN_LAG = -1
_BY_DURATION = AutoOffsetReset.BY_DURATION
_HOUR = ":PT1H"
_AGES = {BatchOrigin.OLD: timedelta(hours=2), BatchOrigin.PLAIN: timedelta(minutes=30)}
"""The duration of by_duration, and the ages of records that are old, and that are not."""
_FIXED_LIMITS = "other limits of deliveries and locks: a group has none of its own"


@attrs.define
class _Open:
    """An open transaction, and how many records were written in it."""

    transaction: Transaction
    written: int = 0


class BrokerTarget:
    """A target that connects to one address only.

    ``create_topic``, ``delete_topic``, ``delete_records``, ``configure`` and ``leave`` are what a
    class of a broker overrides that does not do them by Kafka's protocol.
    """

    def __init__(  # noqa: PLR0913 - each has a default and a name
        self,
        bootstrap: str,
        *,
        name: str = "",
        version: str = "",
        profile: str = "kafka",
        lock_ms: int | None = None,
        bounds: Bounds | None = None,
        can: Mapping[str, Any] | None = None,
        joins: bool = True,
    ) -> None:
        """Connect to nothing yet. Raises TargetError if ``bootstrap`` is not HOST:PORT.

        ``lock_ms`` is the lock duration of sequences; None: the shortest that the broker allows.
        ``can`` are capabilities that the broker's versions and settings do not tell. ``joins``: a
        group needs a member before anybody fetches.
        """
        bounds = bounds or Bounds()
        self._wire = Wire(Address.parse(bootstrap), bounds)
        self._admin = Admin(self._wire, bounds.seconds)
        self._can, self._joins = can or {}, joins
        self._named = name or str(self._wire.address), version, profile
        self._lock_ms = lock_ms
        self._hello: WireHello | None = None
        self._token = f"sharespec-{uuid4().hex[:12]}"
        self._topics_created = 0
        self._topics: dict[GroupTopic, str] = {}
        self._connections: set[str] = set()
        self._transactions: dict[tuple[GroupTopic, int], _Open] = {}
        self._members: dict[str, str] = {}
        self._settings: dict[str, tuple[str, ...]] = {}
        self._own = frozenset(OF_A_GROUP)

    @property
    def address(self) -> Address:
        """Where the broker listens."""
        return self._wire.address

    def hello(self) -> WireHello:
        """Describe the broker. Raises TargetError without share groups, or in a larger cluster."""
        if self._hello is None:
            if self._admin.spoken("share_fetch") is None:
                address = self._wire.address
                spoken = self._admin.versions().get(78)
                versions = f"ShareFetch {spoken[0]} to {spoken[1]}" if spoken else "no ShareFetch"
                raise TargetError(f"{address} has {versions}; share groups need version 1 or 2")
            self._admin.check_alone()
            can, self._own = allowed(self._admin)
            can = attrs.evolve(can, **self._can)
            can = attrs.evolve(can, lock_ms=self._lock_ms or can.lock_ms, nodes=self._admin.nodes)
            skipped = () if can.group_limits else (_FIXED_LIMITS,)
            self._hello = WireHello(*self._named, can, skipped)
        return self._hello

    def open(self, config: SharePartitionConfig, partitions: int, group: str = "") -> GroupTopic:
        """Create a topic with empty partitions, and a group that can fetch from them."""
        hello = self.hello()
        self._topics_created += 1
        name = f"{self._token}-{self._topics_created}"
        place = GroupTopic(f"{name}{group}", self.create_topic(name, partitions), partitions)
        self._topics[place] = name
        if hello.capabilities.config:
            self.configure(place.group, config)
        self._join(place)
        return place

    def create_topic(self, name: str, partitions: int) -> str:
        """Create a topic that can be written to at once; return its id."""
        return self._admin.create_topic(name, partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._admin.delete_topic(name)

    def configure(self, group: str, config: SharePartitionConfig) -> None:
        """Set the configuration of a group, and remember which settings to remove."""
        if config.dead_letter_queue:
            raise TargetError("sequences do not configure a dead-letter queue")
        reset = config.auto_offset_reset
        settings = {
            "share.delivery.count.limit": str(config.delivery_count_limit),
            "share.partition.max.record.locks": str(config.partition_max_record_locks),
            "share.record.lock.duration.ms": str(config.record_lock_duration_ms),
            "share.auto.offset.reset": reset.value + (_HOUR if reset is _BY_DURATION else ""),
            ISOLATION: config.isolation_level.value,
            RENEWS: str(config.renew_acknowledge_enable).lower(),
        }
        settings = {name: value for name, value in settings.items() if name in self._own}
        self._admin.configure(Resource.GROUP, group, settings)
        self._settings[group] = tuple(settings)

    def _join(self, place: GroupTopic) -> None:
        """Join with a member, so that the coordinator initializes the share-partitions."""
        if self._joins:
            member = self._members[place.group] = str(uuid4())
            of = self._topics[place], place.topic_id, place.partitions
            self._admin.join(place.group, member, *of)

    def _empty(self, group: str) -> None:
        """Leave the group, and keep it and its settings."""
        if member := self._members.pop(group, None):
            self._admin.leave(group, member)

    def leave(self, group: str) -> None:
        """Leave, and delete the group and its settings; try each even if another fails."""
        with ExitStack() as last_first:
            if settings := self._settings.pop(group, None):
                last_first.callback(
                    self._admin.configure, Resource.GROUP, group, dict.fromkeys(settings)
                )
            if member := self._members.pop(group, None):
                last_first.callback(self._admin.delete_group, group)
                last_first.callback(self._admin.leave, group, member)

    def produce(
        self,
        place: GroupTopic,
        partition: int,
        batches: Sequence[tuple[int, int]],
        origin: BatchOrigin = BatchOrigin.PLAIN,
    ) -> tuple[OffsetRange, ...]:
        """Append each batch with one request; a transaction marker fills each missing offset."""
        at = place, partition
        if origin is BatchOrigin.OPEN:
            if at not in self._transactions:
                self._transactions[at] = self._begun(f"open-{partition}", *at)
            return self._written(*at, batches, self._transactions[at])
        if origin is not BatchOrigin.ABORTED:
            return self._written(*at, batches, None, _AGES[origin])
        ours = self._begun("aborting", *at)
        ranges = self._written(*at, batches, ours)
        self._admin.end(ours.transaction, ranges[-1].last + 1, committed=False)
        return ranges

    def end_transaction(self, place: GroupTopic, partition: int, *, committed: bool) -> None:
        """End the open transaction of a partition."""
        ours = self._transactions.pop((place, partition))
        marker = self._admin.end_offset(self._topics[place], partition)
        self._admin.end(ours.transaction, marker, committed=committed)

    def _begun(self, what: str, place: GroupTopic, partition: int) -> _Open:
        """Begin a transaction; ``what`` tells its id from others of this target."""
        return _Open(self._admin.begin(f"{self._token}-{what}", self._topics[place], partition))

    def _written(
        self,
        place: GroupTopic,
        partition: int,
        batches: Sequence[tuple[int, int]],
        within: _Open | None,
        age: timedelta = timedelta(),
    ) -> tuple[OffsetRange, ...]:
        topic, ranges = self._topics[place], []
        offset = self._admin.end_offset(topic, partition)
        for missing, size in batches:
            for _ in range(missing):
                marking = self._begun("marking", place, partition).transaction
                self._admin.end(marking, offset, committed=True)
                offset += 1
            first = self._append(topic, partition, (offset, size), within, age)
            if first != offset:
                raise TargetError(f"a batch went to offset {first} of {topic}, not to {offset}")
            ranges.append(OffsetRange(offset, offset + size - 1))
            offset += size
        return tuple(ranges)

    def _append(
        self,
        topic: str,
        partition: int,
        records: tuple[int, int],
        within: _Open | None,
        age: timedelta,
    ) -> int:
        """Append records whose contents tell where they are: which is the first, and how many."""
        first, size = records
        if within is None:
            contents = {nth: contents_of(first + nth, partition) for nth in range(size)}
            data = batch_with(contents, age=age)
            return self._admin.produce(topic, partition, data)
        ours = within.transaction
        producer = attrs.evolve(ours.producer, sequence=within.written)
        within.written += size
        data = record_batch(size, producer, first, partition=partition)
        return self._admin.produce(topic, partition, data, ours.id)

    def delete_records(self, place: GroupTopic, partition: int, before: int) -> None:
        """Move the log start offset up to ``before``."""
        self._admin.delete_records(self._topics[place], partition, before)

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:  # noqa: ARG002 - of the Protocol
        """Send a request over the named connection."""
        self._connections.add(name := _named(connection))
        wait_ms = request.max_wait_ms if isinstance(request, ShareFetch) else 0
        return exchange(request, self._wire.ask(name, message(request), wait_ms))

    def throttle(self, *, on: bool) -> float:
        """Set a quota that the kit's client always exceeds, or remove it."""
        self._admin.throttle(on=on)
        return time.monotonic() * 1000

    def disconnect(self, connection: str) -> None:
        """Close the named connection, if it exists."""
        self._wire.disconnect(_named(connection))

    def describe(self, place: GroupTopic, partition: int) -> Described:
        """Return the start offset and the lag of a share-partition."""
        answer, described = self._admin.describe(place.group, self._topics[place], partition)
        lag = getattr(described, "lag", _UNKNOWN_LAG)
        led = self._admin.leader_epoch(self._topics[place], partition)
        return Described(
            model_error(described.error_code),
            getattr(described, "start_offset", -1),
            None if lag == _UNKNOWN_LAG else lag,
            answer.sent_ms,
            answer.received_ms,
            getattr(described, "leader_epoch", -1),
            led,
        )

    def alter_offset(self, place: GroupTopic, partition: int, offset: int) -> None:
        """Alter a start offset while the group has no member."""
        self._empty(place.group)
        self._admin.alter_offset(place.group, self._topics[place], partition, offset)
        self._join(place)

    def recreate(self, place: GroupTopic, *, topic: bool) -> GroupTopic:
        """Delete the group, perhaps the topic, and create them again."""
        self._empty(place.group)
        self._admin.delete_group(place.group)
        if topic:
            name = self._topics.pop(place)
            self.delete_topic(name)
            place = attrs.evolve(place, topic_id=self.create_topic(name, place.partitions))
            self._topics[place] = name
        self._join(place)
        return place

    def set_group(self, place: GroupTopic, settings: Mapping[str, str | None]) -> None:
        """Alter settings of the group, which are removed with it."""
        known = self._settings.get(place.group, ())
        self._settings[place.group] = tuple(dict.fromkeys((*known, *settings)))
        self._admin.configure(Resource.GROUP, place.group, settings)

    def heartbeat(self, place: GroupTopic, member: str, epoch: int) -> HeartbeatReply:
        """Send a heartbeat of a member that is not the one which the group needs."""
        topics = [self._topics[place]] if epoch == 0 else None
        sent_ms = time.monotonic() * 1000
        said = self._admin.heartbeat(place.group, member, epoch, topics)
        return HeartbeatReply(
            model_error(said.error_code),
            said.member_epoch,
            said.heartbeat_interval,
            sent_ms,
            time.monotonic() * 1000,
        )

    def coordinator_of(self, key: str) -> NamedNode:
        """Ask for the share coordinator of a key."""
        code, node = self._admin.share_coordinator(key)
        return NamedNode(model_error(code), node)

    def wait(self, ms: float) -> None:
        """Sleep."""
        time.sleep(ms / 1000)

    def finish(self, place: GroupTopic) -> None:
        """End what is open, remove the topic and the group, close every connection of ``ask``."""
        for name in self._connections:
            self._wire.disconnect(name)
        self._connections.clear()
        try:
            for other, partition in tuple(self._transactions):
                if other == place:
                    self.end_transaction(place, partition, committed=False)
            self.leave(place.group)
        finally:
            self.delete_topic(self._topics[place])
        del self._topics[place]

    def close(self) -> None:
        """Remove remaining topics and groups as far as possible, and close every connection."""
        for place in tuple(self._topics):
            with suppress(TargetError):
                self.finish(place)
        self._topics.clear()
        self._wire.close()


def _named(connection: str) -> str:
    """Return a name that differs from that of the administrative connection."""
    return f"member {connection}"
