"""Judges each answer of a group coordinator by the plans of ``spec.group_lifecycle``.

The plans say which calls and errors are due; epochs are compared as a relation, since KIP-932 says
when they rise and not by how much.
"""

from collections.abc import Callable, Iterable, Mapping

import attrs
from immutables import Map

from conformance.coordinators.group_admin import (
    alteration_answered,
    deletion_answered,
    group_deleted,
    offsets_altered,
    offsets_deleted,
    offsets_described,
)
from conformance.coordinators.group_belief import (
    RETRY_MS,
    SETTLED,
    BrokenRuleError,
    GroupBelief,
    configured_now,
    first_offsets,
    heard_now,
    ids_of,
    initialized_now,
    restarted_now,
    subscribed,
    without,
    world,
)
from conformance.coordinators.group_causes import answered_now, counted_cause
from conformance.coordinators.group_checks import (
    NONE,
    Request,
    any_text,
    call_text,
    is_refused,
    keys_text,
    no_calls,
    offset_is,
    raised,
    refused,
    require,
    served,
)
from conformance.coordinators.group_reply import GroupReply
from model.share_messages import TopicPartition
from spec.coordinator import Durable
from spec.group_lifecycle import GroupPlan, leave, subscribe
from spec.group_membership import JOINING, LEAVING, ended, heartbeat_answers, unassigned, uneven
from spec.share_group import CallInitialize, Partitions, assignable, listed

_WRITING = ("alter_offsets", "delete_offsets", "answer", "fail_over")
"""What may write the metadata of share-partitions, also where it is as it was."""


def judged(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    """Return what is known after an answer. Raises BrokenRuleError."""
    after = _JUDGES[request["op"]](belief, request, reply)
    _described(belief, after, request, reply)
    if after.metadata != belief.metadata or request["op"] in _WRITING or reply.calls:
        # Apache Kafka counts anew whenever it writes the record, which KIP-932 leaves open.
        begun = Map(dict.fromkeys(after.metadata.initializing, after.now_ms))
        after = attrs.evolve(after, begun=begun)
    return attrs.evolve(after, group=reply.group)


# Requests of members.


def _heartbeat(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    if request["epoch"] == LEAVING:
        return _left(belief, request, reply)
    member, named = request["member"], request["topics"]
    members = belief.members if belief.exists else None
    allowed = heartbeat_answers(members, member, request["epoch"], belief.max_members)
    names = {error.name for error in allowed}
    require(reply.result.status in names, "REQUEST_ANSWER", reply.result.status, any_text(names))
    if reply.result.status != NONE:
        return refused(belief, reply)
    given, due = reply.result.heartbeat_ms, belief.heartbeat_ms
    require(given == due, "HEARTBEAT_INTERVAL", f"{given} ms", f"{due} ms")
    topics = belief.subscriptions[member] if named is None else frozenset(named)
    plan = subscribe(world(belief), member, ids_of(belief, topics))
    is_new = belief.subscriptions.get(member) != topics
    after = attrs.evolve(
        heard_now(belief, member, reply.result.member_epoch),
        exists=True,
        subscriptions=belief.subscriptions.set(member, topics),
    )
    is_due = is_new or subscribed(after) != belief.seen
    after = raised(after, reply, must=is_due, may=belief.changed)
    beats = Map[str, int]() if is_due else after.beats
    after = attrs.evolve(after, changed=False, beats=beats.set(member, beats.get(member, 0) + 1))
    after = _initialized(after, plan, reply)
    return _assigned(after, member, reply, rested=not is_due, joins=request["epoch"] == JOINING)


def _left(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    if is_refused(leave(world(belief), request["member"]), reply):
        return refused(belief, reply)
    no_calls(reply)
    return raised(_without_members(belief, (request["member"],)), reply, must=True)


def _time_passed(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    later = attrs.evolve(belief, now_ms=belief.now_ms + request["ms"])
    no_calls(reply)
    named = frozenset(reply.group.by_name) if reply.group else frozenset[str]()
    may_stay = frozenset(later.members) - ended(later.members, later.now_ms)
    must_stay = {name for name in may_stay if later.earliest[name] > later.now_ms}
    holds = must_stay <= named <= may_stay
    require(holds, "SESSION_TIMEOUT", _members(named), _members(may_stay))
    gone = frozenset(later.members) - named
    after = _without_members(later, gone)
    return raised(after, reply, must=bool(gone)) if belief.exists else after


def _without_members(belief: GroupBelief, names: Iterable[str]) -> GroupBelief:
    subscriptions, members = belief.subscriptions, belief.members
    for name in names:
        subscriptions, members = subscriptions.delete(name), members.delete(name)
    if subscriptions == belief.subscriptions:
        return belief
    # What they had is to be assigned anew, so that the next heartbeat may raise the epoch again.
    after = attrs.evolve(belief, subscriptions=subscriptions, members=members)
    return attrs.evolve(after, beats=Map(), changed=True)


def _assigned(
    belief: GroupBelief, member: str, reply: GroupReply, *, rested: bool, joins: bool
) -> GroupBelief:
    """Check what a member has after its heartbeat, and what all have once they have sent two."""
    described = reply.group.by_name if reply.group else {}
    if member not in described:
        return belief
    mine, coordinators = described[member].assigned, world(belief)
    topics = ids_of(belief, belief.subscriptions[member])
    may_be = frozenset(key for key in assignable(coordinators) if key.topic_id in topics)
    require(
        mine <= may_be,
        "ASSIGNED_IS_INITIALIZED",
        keys_text(mine - may_be),
        f"some of {keys_text(may_be)}",
    )
    plain = reply.result.assignment
    told = None if plain is None else frozenset(TopicPartition(*each) for each in plain)
    known = frozenset() if joins else belief.told.get(member, frozenset())
    # It is null where it is what the member was told before; a topic that is gone goes unsaid.
    holds = told == mine or (
        told is None and mine == {key for key in known if key.topic_id in belief.topics}
    )
    require(holds, "REQUEST_ANSWER", _told(told, known), keys_text(mine))
    belief = attrs.evolve(belief, told=belief.told.set(member, mine))
    if not belief.initializes:
        states = belief.states.update({key: Durable() for key in mine if key not in belief.states})
        belief = attrs.evolve(belief, states=states)
    if rested and all(belief.beats.get(each, 0) >= SETTLED for each in belief.members):
        _settled(belief, reply)
    return belief


def _told(told: Partitions | None, known: Partitions) -> str:
    return f"nothing new, after {keys_text(known)}" if told is None else keys_text(told)


def _settled(belief: GroupBelief, reply: GroupReply) -> None:
    described = reply.group.by_name if reply.group else {}
    assignment = {name: each.assigned for name, each in described.items()}
    nobody = unassigned(assignable(world(belief)), assignment)
    require(
        not nobody,
        "EVERY_PARTITION_IS_ASSIGNED",
        f"nobody has {keys_text(nobody)}",
        "a member has it",
    )
    for more, less in uneven(assignment, world(belief).group.subscriptions):  # type: ignore[union-attr] # it has members
        texts = (f"{name} {keys_text(assignment[name])}" for name in (more, less))
        raise BrokenRuleError("ASSIGNMENT_IS_EVEN", "; ".join(texts), "one more at most")
    late = [name for name, each in described.items() if each.epoch != belief.epoch]
    require(not late, "MEMBER_EPOCH", f"{late} behind", f"epoch {belief.epoch}")


def _initialized(belief: GroupBelief, plan: GroupPlan, reply: GroupReply) -> GroupBelief:
    due = {each.topic_partition for each in plan.effects if isinstance(each, CallInitialize)}
    if not belief.initializes:
        no_calls(reply)
        return initialized_now(belief, frozenset(due))
    for call in reply.calls:
        known = call.call == "initialize" and call.key in due
        require(known, "NEW_IS_INITIALIZED", call_text(call), f"calls for {keys_text(due)}")
        belief = offset_is(belief, call, first_offsets(belief, call.key))
    topics = {topic for topic, _partitions in subscribed(belief)}
    since = belief.now_ms - RETRY_MS
    called = {call.key for call in reply.calls}
    late = {key for key in due - called if belief.begun.get(key, since) <= since}
    late = {key for key in late if key.topic_id in topics}
    kind = counted_cause(belief, late)
    require(not late, "NEW_IS_INITIALIZED", f"no call for {keys_text(late)}", "a call", kind)
    return served(belief, reply)


# What happens around the group coordinator.


def _grown(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    name, more = request["topic"], request["partitions"]
    topic = belief.names.get(name, request.get("id", ""))
    topics = belief.topics.set(topic, belief.topics.get(topic, 0) + more)
    after = attrs.evolve(belief, names=belief.names.set(name, topic), topics=topics)
    return _cluster_changed(belief, after, reply)


def _topic_gone(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    topic = belief.names[request["topic"]]
    keys = frozenset(k for k in {*listed(belief.metadata), *belief.states} if k.topic_id == topic)
    after = without(belief, keys, states=keys)
    names, topics = after.names.delete(request["topic"]), after.topics.delete(topic)
    return _cluster_changed(belief, attrs.evolve(after, names=names, topics=topics), reply)


def _cluster_changed(belief: GroupBelief, after: GroupBelief, reply: GroupReply) -> GroupBelief:
    no_calls(reply)
    if subscribed(after) == subscribed(belief) or not after.exists:
        return after
    return raised(attrs.evolve(after, beats=Map()), reply, must=False, may=True)


def _call_answered(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    no_calls(reply)
    if request["id"] in belief.ending:
        return deletion_answered(belief, request, reply)
    failed, alters = request["status"] != NONE, request["id"] in belief.altering
    if alters:
        belief = alteration_answered(belief, request, reply)
    keys = belief.waiting.get(request["id"], frozenset()) & belief.metadata.initializing
    after = answered_now(belief, request["id"], failed=failed, alters=alters)
    after = attrs.evolve(after, waiting=belief.waiting.delete(request["id"]))
    return initialized_now(after, keys) if belief.exists and not failed else after


def _failed_over(belief: GroupBelief, _request: Request, reply: GroupReply) -> GroupBelief:
    no_calls(reply)
    require(_plain(reply) == _plain(belief), "REPLAYED", _plain(reply), _plain(belief))
    return restarted_now(belief)


def _configured(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    no_calls(reply)
    after = configured_now(belief, request["heartbeat_ms"], request["session_ms"])
    return raised(after, reply, must=False) if belief.exists else after


_JUDGES: Mapping[str, Callable[[GroupBelief, Request, GroupReply], GroupBelief]] = {
    "heartbeat": _heartbeat,
    "advance_time": _time_passed,
    "alter_offsets": offsets_altered,
    "delete_offsets": offsets_deleted,
    "delete_group": group_deleted,
    "describe_offsets": offsets_described,
    "create_topic": _grown,
    "add_partitions": _grown,
    "delete_topic": _topic_gone,
    "answer": _call_answered,
    "fail_over": _failed_over,
    "configure": _configured,
}


def _described(
    before: GroupBelief, after: GroupBelief, request: Request, reply: GroupReply
) -> None:
    """Check the description of the group after a request."""
    group = reply.group
    if not after.exists or group is None:
        found = "no group" if group is None else f"a group at epoch {group.epoch}"
        expected = "a group" if after.exists else "no group"
        require(after.exists == (group is not None), "MEMBERS", found, expected)
        return
    require(group.status == NONE, "REQUEST_ANSWER", group.status, NONE)
    topics = {member.member: frozenset(member.topics) for member in group.members}
    require(topics == dict(after.subscriptions), "MEMBERS", topics, dict(after.subscriptions))
    require(group.epoch == after.epoch, "GROUP_EPOCH_STAYS", group.epoch, after.epoch)
    for member in group.members:
        known, lowest = after.members[member.member].epoch, 0
        if member.member == request.get("member") and member.member in before.members:
            lowest = before.members[member.member].epoch
        holds = lowest <= member.epoch == known <= group.epoch
        expected = f"epoch {known}, from {lowest} to {group.epoch}"
        require(holds, "MEMBER_EPOCH", f"{member.member} epoch {member.epoch}", expected)


def _plain(of: GroupBelief | GroupReply) -> object:
    """Return a description without the order of its parts."""
    if of.group is None:
        return None
    members = {m.member: (m.epoch, m.topics, keys_text(m.assigned)) for m in of.group.members}
    return of.group.epoch, of.group.assignment_epoch, sorted(members.items())


def _members(names: Iterable[str]) -> str:
    return f"members {', '.join(sorted(names)) or 'none'}"
