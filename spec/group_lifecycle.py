"""Operations on a share group, each a plan of effects in two stages (KIP-932, group coordinator).

A plan first records the intent, then calls the share coordinators, then records the completion.
After a crash anywhere the operation is repeated, or ``reconcile`` completes it. A group runs one
operation at a time. Transitions read Guard, Effect, Epochs, Persistence.
"""

from collections.abc import Collection, Iterable, Mapping

import attrs
from immutables import Map

from model.checks import whole
from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.share_group import (
    CallDelete,
    CallInitialize,
    Coordinators,
    Effect,
    EraseGroup,
    PartitionMetadata,
    WriteGroup,
    WriteMetadata,
    group_of,
    listed,
    perform,
)

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNINITIALIZED = -1
"""The start offset that leaves it to the first leader: ``share.auto.offset.reset`` decides."""

Effects = tuple[Effect, ...]


@attrs.frozen
class GroupPlan:
    """What an operation does: its effects in order, or why it does none.

    ``refused`` names the topics or partitions that the operation leaves out, with the error.
    """

    effects: Effects = ()
    error: ErrorCode = NONE
    refused: Map[str | TopicPartition, ErrorCode] = Map()


def carry_out(coordinators: Coordinators, effects: Iterable[Effect]) -> Coordinators:
    """Return what is durable after the effects; one that is refused ends them, as a crash does."""
    for effect in effects:
        error, coordinators = perform(coordinators, effect)
        if error is not NONE:
            break
    return coordinators


def subscribe(coordinators: Coordinators, member: str, topics: frozenset[str]) -> GroupPlan:
    """Let a member join, or change its topics (ShareGroupHeartbeat). The first creates the group.

    Guard: none; a topic that does not exist is not initialized.
    Effect: the member and its topics; then as ``reconcile``.
    Epochs: the group epoch is one more if something changed.
    Persistence: ShareGroupMetadata and ShareGroupMemberMetadata.
    """
    group = group_of(coordinators)
    if group.subscriptions.get(member) == topics:
        return reconcile(coordinators)
    write = WriteGroup(group.epoch + 1, group.subscriptions.set(member, topics))
    return GroupPlan((write, *reconcile(carry_out(coordinators, (write,))).effects))


def leave(coordinators: Coordinators, member: str) -> GroupPlan:
    """Let a member leave, or remove it because its heartbeats have stopped.

    Guard: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID.
    Effect: the group loses the member, and stays even if it is empty.
    Epochs: the group epoch is one more.
    Persistence: ShareGroupMetadata and a tombstone for the member.
    """
    if coordinators.group is None:
        return GroupPlan(error=ErrorCode.GROUP_ID_NOT_FOUND)
    if member not in coordinators.group.subscriptions:
        return GroupPlan(error=ErrorCode.UNKNOWN_MEMBER_ID)
    remaining = coordinators.group.subscriptions.delete(member)
    return GroupPlan((WriteGroup(coordinators.group.epoch + 1, remaining),))


def reconcile(coordinators: Coordinators) -> GroupPlan:
    """Bring the group in line with the cluster, and finish what a crash interrupted.

    Guard: none.
    Effect: deletions that were begun are finished, and topics that are gone deleted. Then
    initializations that were begun are finished, and after that the partitions are initialized to
    which members subscribe and which are not yet initialized.
    Epochs: the group epoch is one more if topics are gone, and if there are new partitions: the
    metadata of its partitions changed. It is the state epoch of what is initialized.
    Persistence: ShareGroupPartitionMetadata before and after the share coordinators are called.
    """
    if coordinators.group is None:
        return GroupPlan()
    metadata = group_of(coordinators).metadata
    gone = frozenset(key for key in listed(metadata) if key.topic_id not in coordinators.topics)
    effects = _resumed(coordinators, gone - metadata.deleting)
    coordinators = carry_out(coordinators, effects)
    if new := _new(coordinators):
        bump = _bumped(coordinators)
        effects += (bump, *_initialized(carry_out(coordinators, (bump,)), new))
    return GroupPlan(effects)


def change_racks(coordinators: Coordinators) -> GroupPlan:
    """Take up that partitions of the group have replicas in other racks (KIP-932, Group epoch).

    Guard: none; without a group there is nothing to do.
    Effect: none but that a new assignment is due.
    Epochs: the group epoch is one more: the metadata of its partitions changed.
    Persistence: ShareGroupMetadata.
    """
    return GroupPlan() if coordinators.group is None else GroupPlan((_bumped(coordinators),))


def alter_offsets(coordinators: Coordinators, offsets: Mapping[TopicPartition, int]) -> GroupPlan:
    """Set the start offsets of share-partitions (KafkaAdmin.alterShareGroupOffsets).

    Guard: NON_EMPTY_GROUP if it has members; UNKNOWN_TOPIC_OR_PARTITION of each partition that does
    not exist, which is left out. InvalidValueError for an offset below 0.
    Effect: everything in flight is discarded. What was begun before is finished first. A group that
    does not exist is created, and partitions that were not part of the group are initialized
    (KIP-932, SPSO and SPEO). A topic that is new to the group is initialized whole, its other
    partitions without a start offset, as at a first subscription.
    Epochs: the group epoch is one more, and is the new state epoch: it fences former leaders.
    Persistence: ShareGroupMetadata; ShareGroupPartitionMetadata in two stages for what is new.
    """
    for key, start in offsets.items():
        whole(f"the start offset of {key.topic_id}:{key.partition}", start, 0)
    if group_of(coordinators).subscriptions:
        return GroupPlan(error=ErrorCode.NON_EMPTY_GROUP)
    topics = coordinators.topics
    refused = {key: UNKNOWN for key in offsets if key.partition >= topics.get(key.topic_id, 0)}
    altered = {key: start for key, start in offsets.items() if key not in refused}
    if not altered:
        return GroupPlan(refused=Map(refused))
    begun = _resumed(coordinators)
    coordinators = carry_out(coordinators, begun)
    bump = _bumped(coordinators)
    starts = _with_whole_topics(coordinators, altered)
    after = _initialized(carry_out(coordinators, (bump,)), starts)
    return GroupPlan((*begun, bump, *after), refused=Map(refused))


def delete_offsets(coordinators: Coordinators, topics: Collection[str]) -> GroupPlan:
    """Remove topics from a group (KafkaAdmin.deleteShareGroupOffsets).

    Guard: GROUP_ID_NOT_FOUND; NON_EMPTY_GROUP; UNKNOWN_TOPIC_OR_PARTITION of each topic of which
    the group has nothing, which is left out.
    Effect: the durable state of their share-partitions is deleted, whatever stage they are at.
    Epochs: unchanged: an empty group has no assignment that could change.
    Persistence: ShareGroupPartitionMetadata in two stages, tombstones between them.
    """
    if (error := _not_empty(coordinators)) is not NONE:
        return GroupPlan(error=error)
    metadata = group_of(coordinators).metadata
    refused = {topic: UNKNOWN for topic in topics if not listed(metadata, (topic,))}
    deleted = listed(metadata, (topic for topic in topics if topic not in refused))
    return GroupPlan(_deleted(coordinators, deleted), refused=Map(refused))


def delete_group(coordinators: Coordinators) -> GroupPlan:
    """Delete a group (KafkaAdmin.deleteShareGroups).

    Guard: GROUP_ID_NOT_FOUND; NON_EMPTY_GROUP if it has members.
    Effect: the durable state of all its share-partitions is deleted, and then the group.
    Epochs: end with the group.
    Persistence: ShareGroupPartitionMetadata, tombstones of states, then one for
    ShareGroupPartitionMetadata and last one for ShareGroupMetadata.
    """
    if (error := _not_empty(coordinators)) is not NONE:
        return GroupPlan(error=error)
    deleted = _deleted(coordinators, listed(group_of(coordinators).metadata))[:-1]
    return GroupPlan((*deleted, WriteMetadata(), EraseGroup()))


def describe_offsets(coordinators: Coordinators) -> dict[TopicPartition, int | None]:
    """Return the durable start offset of each initialized share-partition; None if never written.

    Empty for a group that does not exist (DescribeShareGroupOffsets).
    """
    initialized = sorted(group_of(coordinators).metadata.initialized)
    starts = {key: coordinators.states[key].start_offset for key in initialized}
    return {key: None if start == UNINITIALIZED else start for key, start in starts.items()}


def _not_empty(coordinators: Coordinators) -> ErrorCode:
    if coordinators.group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NON_EMPTY_GROUP if coordinators.group.subscriptions else NONE


def _bumped(coordinators: Coordinators) -> WriteGroup:
    group = group_of(coordinators)
    return WriteGroup(group.epoch + 1, group.subscriptions)


def _resumed(coordinators: Coordinators, gone: frozenset[TopicPartition] = frozenset()) -> Effects:
    """Return the effects that delete ``gone`` and finish every stage that was begun."""
    effects: Effects = (_bumped(coordinators),) if gone else ()
    effects += _deleted(coordinators, gone | group_of(coordinators).metadata.deleting)
    after = carry_out(coordinators, effects)
    begun = {key: _first_offset(after, key) for key in group_of(after).metadata.initializing}
    return (*effects, *_initialized(after, begun))


def _new(coordinators: Coordinators) -> dict[TopicPartition, int]:
    """Return the subscribed partitions that are not initialized, with their start offsets."""
    group = group_of(coordinators)
    wanted = frozenset[str]().union(*group.subscriptions.values())
    every = (key for topic in wanted for key in _partitions_of(coordinators, topic))
    known = group.metadata.initialized
    return {key: _first_offset(coordinators, key) for key in every if key not in known}


def _partitions_of(coordinators: Coordinators, topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for index in range(coordinators.topics.get(topic, 0))]


def _first_offset(coordinators: Coordinators, topic_partition: TopicPartition) -> int:
    """Return where a new share-partition starts: at 0 if it was added to a topic of the group."""
    initialized = group_of(coordinators).metadata.initialized
    known = any(other.topic_id == topic_partition.topic_id for other in initialized)
    return 0 if known else UNINITIALIZED


def _with_whole_topics(
    coordinators: Coordinators, altered: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return the altered start offsets, and none for the others of topics new to the group."""
    known = {key.topic_id for key in listed(group_of(coordinators).metadata)}
    new = {key.topic_id for key in altered} - known
    others = (key for topic in new for key in _partitions_of(coordinators, topic))
    return {**dict.fromkeys(others, UNINITIALIZED), **altered}


def _initialized(coordinators: Coordinators, starts: Mapping[TopicPartition, int]) -> Effects:
    group = group_of(coordinators)
    known, new = group.metadata, frozenset(starts) - group.metadata.initialized
    calls = tuple(CallInitialize(key, starts[key], group.epoch) for key in sorted(starts))
    begun = PartitionMetadata(known.initializing | new, known.initialized, known.deleting - new)
    done = PartitionMetadata(begun.initializing - new, known.initialized | new, begun.deleting)
    return (WriteMetadata(begun), *calls, WriteMetadata(done)) if new else calls


def _deleted(coordinators: Coordinators, gone: frozenset[TopicPartition]) -> Effects:
    if not gone:
        return ()
    known = group_of(coordinators).metadata
    kept = PartitionMetadata(known.initializing - gone, known.initialized - gone, known.deleting)
    begun = attrs.evolve(kept, deleting=known.deleting | gone)
    done = attrs.evolve(kept, deleting=known.deleting - gone)
    return (WriteMetadata(begun), *map(CallDelete, sorted(gone)), WriteMetadata(done))
