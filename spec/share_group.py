"""A share group as its coordinators keep it: its durable state, and the effects that change it.

The group coordinator writes to ``__consumer_offsets``, the share coordinator to
``__share_group_state``. A coordinator can crash between any two effects.
"""

from collections.abc import Iterable
from typing import TypeAlias, assert_never

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.coordinator import Durable, fence, initialize_durable, repeated

NONE = ErrorCode.NONE
Partitions: TypeAlias = frozenset[TopicPartition]
_NOTHING: Partitions = frozenset()


@attrs.frozen
class PartitionMetadata:
    """The record ShareGroupPartitionMetadata: which share-partitions are at which stage.

    Only ``initialized`` ones may be assigned. ``initializing`` and ``deleting`` have begun and may
    be incomplete: after a crash they are repeated.
    """

    initializing: Partitions = _NOTHING
    initialized: Partitions = _NOTHING
    deleting: Partitions = _NOTHING


_EMPTY = PartitionMetadata()


@attrs.frozen
class ShareGroup:
    """What the group coordinator keeps of a group: ShareGroupMetadata, its members, its partitions.

    ``subscriptions`` are the topics of each member; a group without members is empty.
    """

    epoch: int = 0
    subscriptions: Map[str, frozenset[str]] = Map()
    metadata: PartitionMetadata = _EMPTY


@attrs.frozen
class Coordinators:
    """The durable state of one group, and the metadata of the cluster.

    ``topics`` gives the number of partitions of each existing topic; ``group`` is None if the group
    does not exist; ``states`` are what share coordinators hold of its share-partitions.
    """

    topics: Map[str, int] = Map()
    group: ShareGroup | None = None
    states: Map[TopicPartition, Durable] = Map()


@attrs.frozen
class WriteGroup:
    """The group coordinator writes ShareGroupMetadata and the members."""

    epoch: int
    subscriptions: Map[str, frozenset[str]]


@attrs.frozen
class WriteMetadata:
    """The group coordinator writes ShareGroupPartitionMetadata; without any it is a tombstone."""

    metadata: PartitionMetadata = _EMPTY


@attrs.frozen
class CallInitialize:
    """A share coordinator serves InitializeShareGroupState."""

    topic_partition: TopicPartition
    start_offset: int
    state_epoch: int


@attrs.frozen
class CallDelete:
    """A share coordinator serves DeleteShareGroupState, with a tombstone."""

    topic_partition: TopicPartition


@attrs.frozen
class EraseGroup:
    """The group coordinator writes a tombstone for ShareGroupMetadata."""


Effect = WriteGroup | WriteMetadata | CallInitialize | CallDelete | EraseGroup


def perform(coordinators: Coordinators, effect: Effect) -> tuple[ErrorCode, Coordinators]:
    """Perform one effect; performing it twice is the same as once.

    Guard: FENCED_STATE_EPOCH for an older state epoch; initializing again in the same state epoch
    changes nothing, as ``coordinator.repeated``.
    Effect: one record, or one call.
    Delivery count: CallInitialize and CallDelete discard those of the share-partition.
    Persistence: the effect is one record.
    """
    match effect:
        case CallInitialize(topic_partition, start_offset, state_epoch):
            before = coordinators.states.get(topic_partition)
            error = NONE if before is None else fence(before, None, state_epoch)
            if before is not None and before.state_epoch == state_epoch:
                error = repeated(before, start_offset)
            elif error is NONE:
                after = initialize_durable(before or Durable(), start_offset, state_epoch)
                states = coordinators.states.set(topic_partition, after)
                coordinators = attrs.evolve(coordinators, states=states)
            return error, coordinators
        case CallDelete(topic_partition):
            states = coordinators.states
            states = states.delete(topic_partition) if topic_partition in states else states
            return NONE, attrs.evolve(coordinators, states=states)
        case EraseGroup():
            return NONE, attrs.evolve(coordinators, group=None)
        case WriteGroup(epoch, subscriptions):
            group = attrs.evolve(group_of(coordinators), epoch=epoch, subscriptions=subscriptions)
            return NONE, attrs.evolve(coordinators, group=group)
        case WriteMetadata(metadata):
            group = attrs.evolve(group_of(coordinators), metadata=metadata)
            return NONE, attrs.evolve(coordinators, group=group)
        case _:
            assert_never(effect)


def group_of(coordinators: Coordinators) -> ShareGroup:
    """Return the group; an empty one if it does not exist."""
    return ShareGroup() if coordinators.group is None else coordinators.group


def listed(metadata: PartitionMetadata, topics: Iterable[str] | None = None) -> Partitions:
    """Return the share-partitions of some topics, or of all, that are at any stage."""
    every = metadata.initializing | metadata.initialized | metadata.deleting
    if topics is None:
        return every
    names = frozenset(topics)
    return frozenset(key for key in every if key.topic_id in names)


def assignable(coordinators: Coordinators) -> Partitions:
    """Return the initialized partitions of existing topics to which a member subscribes."""
    group = group_of(coordinators)
    wanted = frozenset(topic for topics in group.subscriptions.values() for topic in topics)
    return frozenset(
        key
        for key in group.metadata.initialized
        if key.topic_id in wanted and key.partition < coordinators.topics.get(key.topic_id, 0)
    )
