"""What the group coordinator does: members join, leave and stop, offsets are altered and deleted.

Each operation is a plan of ``spec.group_lifecycle``, which is carried out at once; what it does to
the states of share-partitions the leader sees at once too, as one broker has all the roles.
"""

import attrs
from immutables import Map
from kio.schema.errors import ErrorCode as KafkaError

from model.errors import ErrorCode
from model.share_messages import TopicPartition
from serve.assignor import assign
from serve.batches import RefusedError
from serve.members import Group, Member
from serve.node import Node, forget, lead, settings_of
from serve.settings import number
from spec import group_lifecycle as lifecycle
from spec.group_lifecycle import Plan
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


def heartbeat(node: Node, beat: Beat) -> tuple[Member, bool]:
    """Serve a heartbeat of a member that stays; also return whether to tell it its assignment.

    Raises RefusedError (KIP-932, ShareGroupHeartbeat).
    """
    if beat.epoch == JOIN:
        group, member = _joined(node, beat)
    else:
        group, member = _known(node, beat)
    member.heard = node.real_clock()
    if beat.topics is not None:
        member.topics = beat.topics
    member.rack = beat.rack if beat.rack is not None else member.rack
    update(node, group)
    told = beat.epoch == JOIN or beat.topics is not None
    if member.epoch != group.target_epoch:
        member.previous_epoch, member.epoch = member.epoch, group.target_epoch
    if member.assigned != group.target[member.id]:
        member.assigned, told = group.target[member.id], True
    return member, told


def _joined(node: Node, beat: Beat) -> tuple[Group, Member]:
    if beat.topics is None:
        raise RefusedError(KafkaError.invalid_request, "a member joins with its topics")
    group = node.groups.get(beat.group)
    if group is None:
        if len(node.groups) >= node.options.limits.groups:
            text = f"at most {node.options.limits.groups} groups are kept"
            raise RefusedError(KafkaError.policy_violation, text)
        group = Group(beat.group)
    member = group.members.get(beat.member)
    if member is None:
        most = number(node.options.broker, {}, "max.size", node.options.profile)
        if len(group.members) >= most:
            text = f"the group has {most} members"
            raise RefusedError(KafkaError.group_max_size_reached, text)
        _check_room(node)
        member = Member(beat.member, beat.client_id, beat.host, beat.rack, beat.topics, 0)
        group.members[member.id] = member
    node.groups[group.id] = group
    return group, member


def _check_room(node: Node) -> None:
    most = node.options.limits.members
    if sum(len(group.members) for group in node.groups.values()) >= most:
        raise RefusedError(KafkaError.group_max_size_reached, f"all groups have {most} members")


def _known(node: Node, beat: Beat) -> tuple[Group, Member]:
    group = node.groups.get(beat.group)
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


def leave(node: Node, beat: Beat) -> None:
    """Remove a member that says that it leaves. Raises RefusedError."""
    group, member = _known(node, beat)
    remove(node, group, member)


def remove(node: Node, group: Group, member: Member) -> None:
    """Remove a member, and give its partitions to the others."""
    carry_out(node, group, lifecycle.leave(_current(node, group), member.id))
    del group.members[member.id]
    update(node, group)


def update(node: Node, group: Group) -> None:
    """Bring a group in line with the subscriptions of its members and the topics there are."""
    for member in group.members.values():
        topics = frozenset(str(node.topics[n].id) for n in member.topics if n in node.topics)
        coordinators = _current(node, group)
        carry_out(node, group, lifecycle.subscribe(coordinators, member.id, topics))
    carry_out(node, group, lifecycle.reconcile(_current(node, group)))
    if group.target_epoch == group.epoch and group.target.keys() == group.members.keys():
        return
    known = group.coordinators.group
    subscriptions = dict(known.subscriptions) if known else {}
    group.target = assign(subscriptions, assignable(group.coordinators), group.target)
    group.target_epoch = group.epoch


def update_all(node: Node) -> None:
    """Bring every group in line, as topics came or went."""
    for group in node.groups.values():
        update(node, group)


def carry_out(node: Node, group: Group, plan: Plan) -> None:
    """Carry out a plan, and let the leader lead or forget the share-partitions it concerns."""
    before = _current(node, group)
    after = lifecycle.carry_out(before, plan.effects)
    group.coordinators = after
    for place, durable in after.states.items():
        if before.states.get(place) != durable:
            lead(node, (group.id, place), durable)
    for place in before.states:
        if place not in after.states:
            forget(node, (group.id, place))


def _current(node: Node, group: Group) -> Coordinators:
    """Return what the coordinators keep: the leader wrote the states since the last plan."""
    states = {
        key[1]: partition.durable
        for key, partition in node.share.partitions.items()
        if key[0] == group.id
    }
    return attrs.evolve(group.coordinators, topics=node.share.topics, states=Map(states))


def alter_offsets(node: Node, group_id: str, offsets: dict[TopicPartition, int]) -> Plan:
    """Set start offsets of a group without members, which may be new."""
    group = node.groups.get(group_id) or Group(group_id)
    plan = lifecycle.alter_offsets(_current(node, group), offsets)
    if plan.error is ErrorCode.NONE and plan.effects:
        node.groups[group_id] = group
        carry_out(node, group, plan)
    return plan


def delete_offsets(node: Node, group: Group, topics: frozenset[str]) -> Plan:
    """Remove topics (by id) from a group without members."""
    plan = lifecycle.delete_offsets(_current(node, group), topics)
    carry_out(node, group, plan)
    return plan


def delete_group(node: Node, group: Group) -> Plan:
    """Delete a group without members."""
    plan = lifecycle.delete_group(_current(node, group))
    if plan.error is ErrorCode.NONE:
        carry_out(node, group, plan)
        del node.groups[group.id]
    return plan


def expel(node: Node) -> None:
    """Remove the members whose heartbeats have stopped."""
    now = node.real_clock()
    for group in tuple(node.groups.values()):
        if not group.members:
            continue
        timeout = setting(node, group.id, "session.timeout.ms")
        for member in tuple(group.members.values()):
            if now - member.heard > timeout:
                remove(node, group, member)


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


def setting(node: Node, group: str, name: str) -> int:
    """Return a setting of a group that is a number, by its name after ``share.``."""
    return number(node.options.broker, settings_of(node, group), name, node.options.profile)
