"""One partition of the topic __share_group_state: what is appended, recovered and pruned."""

import attrs
from immutables import Map

from model.guards import CoordinatorGuard
from model.profile import Profile
from model.state_topic import SharePartitionKey, ShareSnapshot, StateRecord
from spec.coordinator import Durable, replay_record
from spec.partition import require
from spec.share_coordinator import HeldState, ShareCoordinator


@attrs.frozen
class StateTopicPartition:
    """The records that are not pruned, in order; the first one is at ``first_offset``."""

    first_offset: int = 0
    records: tuple[StateRecord, ...] = ()


def append(topic: StateTopicPartition, *records: StateRecord | None) -> StateTopicPartition:
    """Return the topic with these records at its end; None is no record."""
    more = tuple(record for record in records if record is not None)
    return attrs.evolve(topic, records=topic.records + more)


def recover(topic: StateTopicPartition, coordinator: ShareCoordinator) -> ShareCoordinator:
    """Start a coordinator from its topic (KIP-932, ShareSnapshot and ShareUpdate).

    It holds what the records say, and nothing else of its predecessor.
    """
    held: Map[SharePartitionKey, HeldState] = Map()
    for record in topic.records:
        after = replay_held(held.get(record.key), record, coordinator.profile)
        if after is not None:
            held = held.set(record.key, after)
        elif record.key in held:
            held = held.delete(record.key)
    return attrs.evolve(coordinator, held=held)


def replay_held(held: HeldState | None, record: StateRecord, profile: Profile) -> HeldState | None:
    """Return what is held of a share-partition after one more record about it.

    A tombstone leaves nothing: earlier records are about a deleted share-partition. Where nothing
    was held, an update is all that is known.
    """
    value = record.value
    if value is None:
        return None
    before = held or HeldState(Durable(snapshot_epoch=value.snapshot_epoch), 0, 0, 0)
    after = replay_record(before.durable, value, profile)
    fence = after.leader_epoch
    if profile.defect_initialize_forgets_leader_epoch:
        fence = max(fence, before.leader_fence)
    if isinstance(value, ShareSnapshot):
        return HeldState(after, fence, value.create_timestamp, value.write_timestamp)
    return HeldState(after, fence, before.created_ms, before.written_ms)


def redundant_below(topic: StateTopicPartition) -> int:
    """Return the offset below which no record is needed: that of the oldest latest snapshot.

    Without any share-partition no record is needed, not even a tombstone (KIP-932).
    """
    latest: dict[SharePartitionKey, int] = {}
    for offset, record in enumerate(topic.records, topic.first_offset):
        if record.value is None:
            latest.pop(record.key, None)
        elif isinstance(record.value, ShareSnapshot):
            latest[record.key] = offset
    return min(latest.values(), default=topic.first_offset + len(topic.records))


def prune(topic: StateTopicPartition, below: int) -> StateTopicPartition:
    """Delete the records below an offset (KIP-932: ReplicaManager.deleteRecords).

    Guard: at most to ``redundant_below``; how far is the coordinator's choice.
    Effect: what a coordinator recovers is unchanged.
    Delivery count: unchanged.
    Persistence: the first offset of the topic.
    """
    limit = redundant_below(topic)
    require(below <= limit, CoordinatorGuard.PRUNED_IS_REDUNDANT, f"{below} is beyond {limit}")
    gone = max(below - topic.first_offset, 0)
    return StateTopicPartition(topic.first_offset + gone, topic.records[gone:])
