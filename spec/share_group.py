"""A share group as its coordinators have it: what is durable, and one write or call after another.

The group coordinator writes to ``__consumer_offsets``, the share coordinator to
``__share_group_state``. No two effects are one: a coordinator can crash between any two.
"""

from collections.abc import Iterable
from typing import TypeAlias, assert_never

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.coordinator import Durable, initialize

__all__ = [
    "BeginDeleting",
    "BeginInitializing",
    "Coordinators",
    "DeleteState",
    "Effect",
    "EndDeleting",
    "EndInitializing",
    "EraseGroup",
    "EraseMetadata",
    "InitializeState",
    "PartitionMetadata",
    "ShareGroup",
    "WriteGroup",
    "assignable",
    "group_of",
    "listed",
    "perform",
]

NONE = ErrorCode.NONE
Partitions: TypeAlias = frozenset[TopicPartition]
_NOTHING: Partitions = frozenset()


@attrs.frozen
class PartitionMetadata:
    """The record ShareGroupPartitionMetadata: which share-partitions are at which stage.

    Only what is ``initialized`` may be assigned. ``initializing`` and ``deleting`` are begun and
    not known to be done: after a crash they are done again.
    """

    initializing: Partitions = _NOTHING
    initialized: Partitions = _NOTHING
    deleting: Partitions = _NOTHING


_EMPTY = PartitionMetadata()


@attrs.frozen
class ShareGroup:
    """What the group coordinator has of a group: ShareGroupMetadata, its members, its partitions.

    ``subscriptions`` are the topics of each member; a group without members is empty.
    """

    epoch: int = 0
    subscriptions: Map[str, frozenset[str]] = Map()
    metadata: PartitionMetadata = _EMPTY


@attrs.frozen
class Coordinators:
    """What is durable of one group, and the metadata of the cluster.

    ``topics`` gives the number of partitions of each topic there is; ``group`` is None if there is
    no such group; ``states`` are what share coordinators have of its share-partitions.
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
class BeginInitializing:
    """The group coordinator records that it initializes share-partitions: the first stage."""

    partitions: Partitions


@attrs.frozen
class InitializeState:
    """A share coordinator serves InitializeShareGroupState."""

    at: TopicPartition
    start_offset: int
    state_epoch: int


@attrs.frozen
class EndInitializing:
    """The group coordinator records that share-partitions are initialized: the second stage."""

    partitions: Partitions


@attrs.frozen
class BeginDeleting:
    """The group coordinator records that it deletes share-partitions: the first stage."""

    partitions: Partitions


@attrs.frozen
class DeleteState:
    """A share coordinator serves DeleteShareGroupState, with a tombstone."""

    at: TopicPartition


@attrs.frozen
class EndDeleting:
    """The group coordinator records that share-partitions are deleted: the second stage."""

    partitions: Partitions


@attrs.frozen
class EraseMetadata:
    """The group coordinator writes a tombstone for ShareGroupPartitionMetadata."""


@attrs.frozen
class EraseGroup:
    """The group coordinator writes a tombstone for ShareGroupMetadata."""


Effect = (
    WriteGroup
    | BeginInitializing
    | InitializeState
    | EndInitializing
    | BeginDeleting
    | DeleteState
    | EndDeleting
    | EraseMetadata
    | EraseGroup
)


def perform(there: Coordinators, effect: Effect) -> tuple[ErrorCode, Coordinators]:
    """Let one effect take place. Done twice it is as if done once.

    Guard: a share coordinator refuses an older state epoch, FENCED_STATE_EPOCH; one that it has
    initialized in this state epoch it leaves.
    Effect: one record, or one call.
    Delivery count: InitializeState and DeleteState discard those of the share-partition.
    Persistence: this is it.
    """
    match effect:
        case InitializeState(at, start_offset, state_epoch):
            before = there.states.get(at)
            if before is not None and before.state_epoch == state_epoch:
                return NONE, there
            error, after = initialize(before or Durable(), start_offset, state_epoch)
            return error, attrs.evolve(there, states=there.states.set(at, after))
        case DeleteState(at):
            states = there.states.delete(at) if at in there.states else there.states
            return NONE, attrs.evolve(there, states=states)
        case EraseGroup():
            return NONE, attrs.evolve(there, group=None)
        case WriteGroup(epoch, subscriptions):
            group = attrs.evolve(group_of(there), epoch=epoch, subscriptions=subscriptions)
            return NONE, attrs.evolve(there, group=group)
        case _:
            metadata = _recorded(group_of(there).metadata, effect)
            group = attrs.evolve(group_of(there), metadata=metadata)
            return NONE, attrs.evolve(there, group=group)


def _recorded(
    now: PartitionMetadata,
    effect: BeginInitializing | EndInitializing | BeginDeleting | EndDeleting | EraseMetadata,
) -> PartitionMetadata:
    match effect:
        case BeginInitializing(begun):
            initializing = now.initializing | (begun - now.initialized)
            return PartitionMetadata(initializing, now.initialized, now.deleting - begun)
        case EndInitializing(done):
            initialized = now.initialized | done
            return PartitionMetadata(now.initializing - done, initialized, now.deleting)
        case BeginDeleting(begun):
            deleting = now.deleting | begun
            return PartitionMetadata(now.initializing - begun, now.initialized - begun, deleting)
        case EndDeleting(done):
            return PartitionMetadata(now.initializing, now.initialized, now.deleting - done)
        case EraseMetadata():
            return _EMPTY
        case _:
            assert_never(effect)


def group_of(there: Coordinators) -> ShareGroup:
    """Return the group, or one that has nothing if there is none."""
    return ShareGroup() if there.group is None else there.group


def listed(metadata: PartitionMetadata, topics: Iterable[str] | None = None) -> Partitions:
    """Return the share-partitions of some topics, or of all, that are at any stage."""
    every = metadata.initializing | metadata.initialized | metadata.deleting
    if topics is None:
        return every
    names = frozenset(topics)
    return frozenset(at for at in every if at.topic_id in names)


def assignable(there: Coordinators) -> Partitions:
    """Return what may be assigned: initialized, of a topic there is and that a member wants."""
    group = group_of(there)
    wanted = frozenset(topic for topics in group.subscriptions.values() for topic in topics)
    return frozenset(
        at
        for at in group.metadata.initialized
        if at.topic_id in wanted and at.partition < there.topics.get(at.topic_id, 0)
    )
