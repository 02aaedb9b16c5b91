"""The records of the topic __share_group_state, and the share-partitions that they describe."""

import struct
from uuid import UUID

import attrs

from model.checks import from_minus_one, int32, member_name, non_negative
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.wire import uuid_text

_INT32 = 2**31


@attrs.frozen(cache_hash=True)
class SharePartitionKey:
    """A share-partition of a cluster. A request may name a negative partition; nothing has one."""

    group_id: str = attrs.field(validator=member_name)
    topic_id: UUID = attrs.field(validator=attrs.validators.instance_of(UUID))
    partition: int = attrs.field(validator=int32)


@attrs.frozen
class ShareSnapshot:
    """A record that holds all the state: nothing before it is needed (KIP-932).

    Timestamps are in ms: when this state was first written whole, and when last.
    """

    snapshot_epoch: int = attrs.field(validator=non_negative)
    state: DurableState
    create_timestamp: int = 0
    write_timestamp: int = 0


@attrs.frozen
class ShareUpdate:
    """A record that holds one write; it carries no state epoch (KIP-932).

    A start offset of -1 leaves it as it was, a delivery complete count of -1 is not known.
    """

    snapshot_epoch: int = attrs.field(validator=non_negative)
    leader_epoch: int = attrs.field(validator=non_negative)
    start_offset: int = attrs.field(validator=from_minus_one)
    delivery_complete_count: int = attrs.field(validator=from_minus_one)
    state_batches: tuple[StateBatch, ...] = ()


@attrs.frozen
class StateRecord:
    """A record of the topic. None is a tombstone: the share-partition was deleted."""

    key: SharePartitionKey
    value: ShareSnapshot | ShareUpdate | None


def state_partition(key: SharePartitionKey, partitions: int = 50) -> int:
    """Return the partition of __share_group_state whose leader coordinates the share-partition.

    KIP-932: the coordinator's key is "groupId:topicId:partition"; Kafka takes Java's hash of it.
    ``partitions``, at least 1, is share.coordinator.state.topic.num.partitions.
    """
    text = f"{key.group_id}:{uuid_text(key.topic_id)}:{key.partition}".encode("utf-16-be")
    total = 0
    for (unit,) in struct.iter_unpack(">H", text):
        total = (31 * total + unit) % (2 * _INT32)
    # Kafka takes the absolute value of an int32, and 0 for the one that has none.
    magnitude = min(total, 2 * _INT32 - total)
    return 0 if magnitude == _INT32 else magnitude % partitions
