"""What the group coordinator does: members join, leave and stop, offsets are altered and deleted.

Each operation is a plan of ``spec.group_lifecycle``, which is carried out at once; what it does to
the states of share-partitions the leader sees at once too, as one broker has all the roles.
"""

from collections.abc import Collection, Iterator

import attrs
from immutables import Map
from kio.schema.errors import ErrorCode as KafkaError

from model.errors import ErrorCode
from model.share_messages import TopicPartition
from serve.assignor import assign
from serve.batches import RefusedError
from serve.members import Group, Member
from serve.node import Cluster
from serve.settings import number
from serve.topics import forget, lead, settings_of
from spec import group_lifecycle as lifecycle
from spec.group_lifecycle import GroupPlan
from spec.share_group import Coordinators, assignable

JOIN, LEAVE = 0, -1


@attrs.frozen
class Beat:
    """A heartbeat as it came; ``topics`` and ``rack`` are None where they are as before."""

    group: str
    member: str
    epoch: int
    topics: frozenset[str] | None
    rack: str | None = None
    client_id: str = ""
    host: str = ""


def heartbeat(cluster: Cluster, beat: Beat) -> tuple[Member, bool]:
    """Serve a heartbeat of a member that stays; also return whether to tell it its assignment.

    Raises RefusedError (KIP-932, ShareGroupHeartbeat).
    """
    if beat.epoch == JOIN:
        group, member = _joined(cluster, beat)
    else:
        group, member = _known(cluster, beat)
    member.heard = cluster.real_clock()
    if beat.topics is not None:
        member.topics = beat.topics
    member.rack = beat.rack if beat.rack is not None else member.rack
    update(cluster, group, member)
    cluster.silence.schedule(group.id, _silent_at(cluster, group.id, member))
    told = beat.epoch == JOIN or beat.topics is not None
    if member.epoch != group.target_epoch:
        member.previous_epoch, member.epoch = member.epoch, group.target_epoch
    if member.assigned != group.target[member.id]:
        member.assigned, told = group.target[member.id], True
    return member, told


def _joined(cluster: Cluster, beat: Beat) -> tuple[Group, Member]:
    if beat.topics is None:
        raise RefusedError(KafkaError.invalid_request, "a member joins with its topics")
    group = cluster.groups.get(beat.group)
    if group is None:
        if len(cluster.groups) >= cluster.options.limits.groups:
            text = f"at most {cluster.options.limits.groups} groups are kept"
            raise RefusedError(KafkaError.policy_violation, text)
        group = Group(beat.group)
    member = group.members.get(beat.member)
    if member is None:
        most = number(cluster.options.broker, {}, "max.size", cluster.options.profile)
        if len(group.members) >= most:
            text = f"the group has {most} members"
            raise RefusedError(KafkaError.group_max_size_reached, text)
        _check_room(cluster)
        member = Member(beat.member, beat.client_id, beat.host, beat.rack, beat.topics, 0)
        group.members[member.id] = member
    cluster.groups[group.id] = group
    return group, member


def _check_room(cluster: Cluster) -> None:
    most = cluster.options.limits.members
    if sum(len(group.members) for group in cluster.groups.values()) >= most:
        raise RefusedError(KafkaError.group_max_size_reached, f"all groups have {most} members")


def _known(cluster: Cluster, beat: Beat) -> tuple[Group, Member]:
    group = cluster.groups.get(beat.group)
    if group is None:
        raise RefusedError(KafkaError.group_id_not_found, f"Group {beat.group} not found.")
    member = group.members.get(beat.member)
    if member is None:
        text = f"Member {beat.member} is not a member of group {beat.group}."
        raise RefusedError(KafkaError.unknown_member_id, text)
    if beat.epoch not in (member.epoch, member.previous_epoch, LEAVE):
        text = f"the member epoch is {member.epoch}, not {beat.epoch}"
        raise RefusedError(KafkaError.fenced_member_epoch, text)
    return group, member


def leave(cluster: Cluster, beat: Beat) -> None:
    """Remove a member that says that it leaves. Raises RefusedError."""
    group, member = _known(cluster, beat)
    remove(cluster, group, member)


def remove(cluster: Cluster, group: Group, member: Member) -> None:
    """Remove a member, and give its partitions to the others."""
    carry_out(cluster, group, lifecycle.leave(_current(cluster, group), member.id))
    del group.members[member.id]
    update(cluster, group)


def update(cluster: Cluster, group: Group, only: Member | None = None) -> None:
    """Bring a group in line with the topics there are and what members, or one, subscribe to."""
    for member in (only,) if only else group.members.values():
        topics = frozenset(str(cluster.topics[n].id) for n in member.topics if n in cluster.topics)
        coordinators = _current(cluster, group)
        carry_out(cluster, group, lifecycle.subscribe(coordinators, member.id, topics))
    carry_out(cluster, group, lifecycle.reconcile(_current(cluster, group)))
    if group.target_epoch == group.epoch and group.target.keys() == group.members.keys():
        return
    known = group.coordinators.group
    subscriptions = dict(known.subscriptions) if known else {}
    group.target = assign(subscriptions, assignable(group.coordinators), group.target)
    group.target_epoch = group.epoch


def update_all(cluster: Cluster, topics: Collection[str]) -> None:
    """Bring groups in line, of which members subscribe to topics that came, changed or went."""
    for group in cluster.groups.values():
        if any(not member.topics.isdisjoint(topics) for member in group.members.values()):
            update(cluster, group)


def carry_out(cluster: Cluster, group: Group, plan: GroupPlan) -> None:
    """Carry out a plan, and let the leader lead or forget the share-partitions it concerns."""
    before = _current(cluster, group)
    after = lifecycle.carry_out(before, plan.effects)
    group.coordinators = after
    states = {p: durable for p, durable in after.states.items() if before.states.get(p) != durable}
    lead(cluster, group.id, states)
    for place in before.states:
        if place not in after.states:
            forget(cluster, (group.id, place))


def _current(cluster: Cluster, group: Group) -> Coordinators:
    """Return what the coordinators keep: the leader wrote the states since the last plan."""
    states = {key[1]: partition.durable for key, partition in cluster.led(group.id)}
    return attrs.evolve(group.coordinators, topics=cluster.counts, states=Map(states))


def alter_offsets(cluster: Cluster, group_id: str, offsets: dict[TopicPartition, int]) -> GroupPlan:
    """Set start offsets of a group without members, which may be new."""
    group = cluster.groups.get(group_id) or Group(group_id)
    plan = lifecycle.alter_offsets(_current(cluster, group), offsets)
    if plan.error is ErrorCode.NONE and plan.effects:
        cluster.groups[group_id] = group
        carry_out(cluster, group, plan)
    return plan


def delete_offsets(cluster: Cluster, group: Group, topics: frozenset[str]) -> GroupPlan:
    """Remove topics (by id) from a group without members."""
    plan = lifecycle.delete_offsets(_current(cluster, group), topics)
    carry_out(cluster, group, plan)
    return plan


def delete_group(cluster: Cluster, group: Group) -> GroupPlan:
    """Delete a group without members."""
    plan = lifecycle.delete_group(_current(cluster, group))
    if plan.error is ErrorCode.NONE:
        carry_out(cluster, group, plan)
        del cluster.groups[group.id]
    return plan


def expel(cluster: Cluster) -> Iterator[None]:
    """Remove the members whose heartbeats have stopped, one after the other."""
    now = cluster.real_clock()
    for id_ in cluster.silence.due(now):
        group = cluster.groups.get(id_)
        for member in tuple(group.members.values()) if group else ():
            silent = _silent_at(cluster, id_, member)
            if silent > now:
                cluster.silence.schedule(id_, silent)
            elif group and group.members.get(member.id) is member:  # It may have left meanwhile.
                remove(cluster, group, member)
                yield


def _silent_at(cluster: Cluster, group: str, member: Member) -> int:
    """Return when a member will have been silent for too long, in ms of the real clock."""
    return member.heard + setting(cluster, group, "session.timeout.ms") + 1


def move_on(group: Group) -> None:
    """Let the group epoch move on, and its members' with it, by answers that do not reach them."""
    known = group.coordinators.group
    if known is None:
        return
    later = attrs.evolve(known, epoch=known.epoch + 1)
    group.coordinators = attrs.evolve(group.coordinators, group=later)
    group.target_epoch = later.epoch
    for member in group.members.values():
        member.previous_epoch, member.epoch = member.epoch, later.epoch


def move_coordinator(cluster: Cluster, group: str, broker: int) -> None:
    """Let another broker be the coordinator of a group; it begins to wait for heartbeats anew."""
    cluster.coordinators[group] = broker
    known = cluster.groups.get(group)
    for member in known.members.values() if known else ():
        member.heard = cluster.real_clock()


def setting(cluster: Cluster, group: str, name: str) -> int:
    """Return a setting of a group that is a number, by its name after ``share.``."""
    return number(
        cluster.options.broker, settings_of(cluster, group), name, cluster.options.profile
    )
