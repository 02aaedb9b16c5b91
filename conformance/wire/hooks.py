"""What differs between brokers: how to create topics, records and groups, and capabilities."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any
from uuid import uuid4

import attrs

from conformance.target import TargetError
from conformance.wire.admin import Admin, Transaction
from conformance.wire.records import record_batch
from conformance.wire.target import WireCapabilities
from model.config import AutoOffsetReset, SharePartitionConfig
from model.ranges import OffsetRange


@attrs.define
class _Open:
    """An open transaction, and how many records were written in it."""

    transaction: Transaction
    written: int = 0


_LOCKS = "partition.max.record.locks"
_MIN_LOCK = "group.share.min.record.lock.duration.ms"
_LIMITS = ("delivery.count.limit", _LOCKS)
_ASKED = (
    *(_MIN_LOCK, *(f"group.share.{limit}" for limit in _LIMITS)),
    *(f"group.share.{end}.{limit}" for end in ("min", "max") for limit in _LIMITS),
)
_NEEDED = ("share.record.lock.duration.ms", "share.auto.offset.reset")
_ISOLATION, _RENEWS = "share.isolation.level", "share.renew.acknowledge.enable"
_OF_A_GROUP = (*_NEEDED, _ISOLATION, _RENEWS, *(f"share.{limit}" for limit in _LIMITS))
_KNOWS_SHARE = 6
"""The first version of FindCoordinator with the key type SHARE."""
_DELIVERY_LIMITS, _LOCK_LIMITS = (2, 3, 5), (100, 200)


class Hooks:
    """What a broker does for the kit besides share sessions, over Kafka's protocol.

    Each may raise TargetError. ``create_topic`` returns the topic's id; the topic can be written to
    at once. ``delete_records`` moves the log start offset of a partition up.
    """

    def __init__(
        self, admin: Admin, can: Mapping[str, Any] | None = None, *, joins: bool = True
    ) -> None:
        """``can`` are capabilities that the broker's versions and settings do not tell.

        ``joins``: a group needs a member before anybody fetches.
        """
        self._admin, self._can, self._joins = admin, can or {}, joins
        self.create_topic: Callable[[str, int], str] = admin.create_topic
        self.delete_topic: Callable[[str], None] = admin.delete_topic
        self.delete_records: Callable[[str, int, int], None] = admin.delete_records
        name = f"sharespec-{uuid4().hex[:12]}"
        self._marking, self._aborting = f"{name}-marking", f"{name}-aborting"
        self._opening = f"{name}-open"
        self._transactions: dict[tuple[str, int], _Open] = {}
        self._members: dict[str, str] = {}
        self._settings: dict[str, tuple[str, ...]] = {}
        self._own = frozenset(_OF_A_GROUP)

    def capabilities(self) -> WireCapabilities:
        """Return what the broker's versions and settings allow, and what is known besides."""
        return attrs.evolve(self._told(), **self._can)

    def _told(self) -> WireCapabilities:
        spoken = self._admin.spoken
        fetch, acknowledge = spoken("share_fetch"), spoken("share_acknowledge")
        if fetch is None or acknowledge is None:
            raise TargetError("the broker has no share groups: no ShareFetch of version 1 or 2")
        described = spoken("describe_share_group_offsets")
        transactions = all(
            spoken(name) for name in ("init_producer_id", "add_partitions_to_txn", "end_txn")
        )
        configures = spoken("incremental_alter_configs") is not None
        can = WireCapabilities(
            fetch_versions=fetch,
            acknowledge_versions=acknowledge,
            acquire_modes=("batch_optimized", "record_limit")[: fetch[1]],
            renew=min(fetch[1], acknowledge[1]) > 1,
            offsets=described is not None,
            lag=described is not None and described[1] > 0,
            delete_records=spoken("delete_records") is not None,
            gaps=transactions,
            aborted=transactions,
            transactions=transactions,
            # 4.1 answers an alteration without saying of which share-partition.
            alters=described is not None
            and described[1] > 0
            and spoken("alter_share_group_offsets") is not None,
            recreates=spoken("delete_groups") is not None,
            coordinators=(spoken("find_coordinator") or (0, 0))[1] >= _KNOWS_SHARE,
            config=configures,
            committed=configures,
        )
        if spoken("describe_configs") is None:
            return can
        # A broker that does not describe groups is asked for all.
        with suppress(TargetError):
            own = self._admin.group_settings(_OF_A_GROUP)
            self._own = frozenset(own) or self._own
        can = attrs.evolve(
            can,
            config=configures and self._own.issuperset(_NEEDED),
            committed=configures and _ISOLATION in self._own,
            group_limits=all(f"share.{limit}" in self._own for limit in _LIMITS),
        )
        return _limited(can, self._admin.broker_settings(_ASKED))

    def produce(
        self, topic: str, partition: int, batches: Sequence[tuple[int, int]], *, aborted: bool
    ) -> tuple[OffsetRange, ...]:
        """Append each batch with one request; a transaction marker fills each missing offset."""
        if not aborted:
            return self._written(topic, partition, batches, None)
        ours = _Open(self._admin.begin(self._aborting, topic, partition))
        ranges = self._written(topic, partition, batches, ours)
        self._admin.end(ours.transaction, ranges[-1].last + 1, committed=False)
        return ranges

    def produce_open(
        self, topic: str, partition: int, batches: Sequence[tuple[int, int]]
    ) -> tuple[OffsetRange, ...]:
        """Append batches in the open transaction of a partition, which they may begin."""
        ours = self._transactions.get((topic, partition))
        if ours is None:
            ours = _Open(self._admin.begin(f"{self._opening}-{partition}", topic, partition))
            self._transactions[topic, partition] = ours
        return self._written(topic, partition, batches, ours)

    def end_transaction(self, topic: str, partition: int, *, committed: bool) -> None:
        """End the open transaction of a partition."""
        ours = self._transactions.pop((topic, partition))
        marker = self._admin.end_offset(topic, partition)
        self._admin.end(ours.transaction, marker, committed=committed)

    def _written(
        self,
        topic: str,
        partition: int,
        batches: Sequence[tuple[int, int]],
        within: _Open | None,
    ) -> tuple[OffsetRange, ...]:
        offset, ranges = self._admin.end_offset(topic, partition), []
        for missing, size in batches:
            for _ in range(missing):
                marking = self._admin.begin(self._marking, topic, partition)
                self._admin.end(marking, offset, committed=True)
                offset += 1
            first = self._append(topic, partition, (offset, size), within)
            if first != offset:
                raise TargetError(f"a batch went to offset {first} of {topic}, not to {offset}")
            ranges.append(OffsetRange(offset, offset + size - 1))
            offset += size
        return tuple(ranges)

    def _append(
        self, topic: str, partition: int, records: tuple[int, int], within: _Open | None
    ) -> int:
        """Append records whose contents tell where they are: which is the first, and how many."""
        first, size = records
        if within is None:
            data = record_batch(size, first=first, partition=partition)
            return self._admin.produce(topic, partition, data)
        ours = within.transaction
        producer = attrs.evolve(ours.producer, sequence=within.written)
        within.written += size
        data = record_batch(size, producer, first, partition=partition)
        return self._admin.produce(topic, partition, data, ours.id)

    def configure(self, group: str, config: SharePartitionConfig) -> None:
        """Set the configuration of a group, and remember which settings to remove."""
        if config.auto_offset_reset is AutoOffsetReset.BY_DURATION or config.dead_letter_queue:
            raise TargetError("sequences do not configure by_duration or a dead-letter queue")
        settings = {
            "share.delivery.count.limit": str(config.delivery_count_limit),
            "share.partition.max.record.locks": str(config.partition_max_record_locks),
            "share.record.lock.duration.ms": str(config.record_lock_duration_ms),
            "share.auto.offset.reset": config.auto_offset_reset.value,
            _ISOLATION: config.isolation_level.value,
            _RENEWS: str(config.renew_acknowledge_enable).lower(),
        }
        settings = {name: value for name, value in settings.items() if name in self._own}
        self._admin.configure(group, settings)
        self._settings[group] = tuple(settings)

    def join(self, group: str, topic: str, topic_id: str, partitions: int) -> None:
        """Join with a member, so that the coordinator initializes the share-partitions."""
        if not self._joins:
            return
        self._members[group] = str(uuid4())
        self._admin.join(group, self._members[group], topic, topic_id, partitions)

    def empty(self, group: str) -> None:
        """Leave the group, and keep it and its settings."""
        if member := self._members.pop(group, None):
            self._admin.leave(group, member)

    def leave(self, group: str) -> None:
        """Leave, and delete the group and its settings; try each even if another fails."""
        with ExitStack() as last_first:
            if settings := self._settings.pop(group, None):
                last_first.callback(self._admin.configure, group, dict.fromkeys(settings))
            if member := self._members.pop(group, None):
                last_first.callback(self._admin.delete_group, group)
                last_first.callback(self._admin.leave, group, member)


def _limited(can: WireCapabilities, settings: dict[str, str]) -> WireCapabilities:
    """Cut to what the broker's settings allow, as far as it reports them."""
    known = {name: int(value) for name, value in settings.items() if value.isdecimal()}

    def within(limit: str, wanted: tuple[int, ...]) -> tuple[int, ...]:
        if not can.group_limits and (fixed := known.get(f"group.share.{limit}")):
            return (fixed,)
        low = known.get(f"group.share.min.{limit}", min(wanted))
        high = known.get(f"group.share.max.{limit}", max(wanted))
        return tuple(version for version in wanted if low <= version <= high) or (low,)

    return attrs.evolve(
        can,
        lock_ms=max(can.lock_ms, known.get(_MIN_LOCK, 0)),
        delivery_limits=within("delivery.count.limit", _DELIVERY_LIMITS),
        lock_limits=within(_LOCKS, _LOCK_LIMITS),
    )
