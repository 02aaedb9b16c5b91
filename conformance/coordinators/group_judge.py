"""Judges each answer of a group coordinator by the plans of ``spec.group_lifecycle``.

The plans say which calls and errors are due; epochs are compared as a relation, since KIP-932 says
when they rise and not by how much.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
from immutables import Map

from conformance.coordinators.group_belief import (
    RETRY_MS,
    SETTLED,
    GroupBelief,
    begun_now,
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
from conformance.coordinators.group_reply import GroupReply, StateCall
from model.errors import ErrorCode
from model.rules import RULES, RuleKind
from model.share_messages import TopicPartition
from spec.coordinator import Durable
from spec.group_lifecycle import (
    GroupPlan,
    alter_offsets,
    delete_group,
    delete_offsets,
    describe_offsets,
    leave,
    subscribe,
)
from spec.group_membership import (
    JOINING,
    LEAVING,
    ended,
    heartbeat_answers,
    unassigned,
    uneven,
)
from spec.share_group import (
    CallInitialize,
    PartitionMetadata,
    Partitions,
    assignable,
    listed,
    perform,
)

Request = Mapping[str, Any]
NONE = ErrorCode.NONE.name
_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name
_WRITING = ("alter_offsets", "delete_offsets", "answer", "fail_over")
"""What may write the metadata of share-partitions, also where it is as it was."""


class BrokenRuleError(Exception):
    """An answer breaks a rule: its name, its sentence, what was recorded and what was expected.

    ``kind`` tells apart what breaks one rule with different causes; empty where nothing does.
    """

    def __init__(self, rule: str, recorded: str, expected: str, kind: str = "") -> None:
        """Take the sentence of the rule from the table."""
        super().__init__(rule)
        self.rule, self.recorded, self.expected, self.kind = rule, recorded, expected, kind
        self.sentence = RULES[RuleKind.GROUP][rule].sentence


def _require(holds: object, rule: str, recorded: object, expected: object, kind: str = "") -> None:
    if not holds:
        raise BrokenRuleError(rule, str(recorded), str(expected), kind)


def judged(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    """Return what is known after an answer. Raises BrokenRuleError."""
    after = _JUDGES[request["op"]](belief, request, reply)
    _described(belief, after, request, reply)
    if after.metadata != belief.metadata or request["op"] in _WRITING:
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
    _require(reply.result.status in names, "REQUEST_ANSWER", reply.result.status, _any(names))
    if reply.result.status != NONE:
        return _refused(belief, reply)
    given, due = reply.result.heartbeat_ms, belief.heartbeat_ms
    _require(given == due, "HEARTBEAT_INTERVAL", f"{given} ms", f"{due} ms")
    topics = belief.subscriptions[member] if named is None else frozenset(named)
    plan = subscribe(world(belief), member, ids_of(belief, topics))
    is_new = belief.subscriptions.get(member) != topics
    after = attrs.evolve(
        heard_now(belief, member, reply.result.member_epoch),
        exists=True,
        subscriptions=belief.subscriptions.set(member, topics),
    )
    is_due = is_new or subscribed(after) != belief.seen
    after = _raised(after, reply, must=is_due, may=belief.changed)
    beats = Map[str, int]() if is_due else after.beats
    after = attrs.evolve(after, changed=False, beats=beats.set(member, beats.get(member, 0) + 1))
    after = _initialized(after, plan, reply)
    return _assigned(after, member, reply, rested=not is_due, joins=request["epoch"] == JOINING)


def _left(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    if _is_refused(leave(world(belief), request["member"]), reply):
        return _refused(belief, reply)
    _no_calls(reply)
    return _raised(_without_members(belief, (request["member"],)), reply, must=True)


def _time_passed(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    later = attrs.evolve(belief, now_ms=belief.now_ms + request["ms"])
    _no_calls(reply)
    named = frozenset(reply.group.by_name) if reply.group else frozenset[str]()
    may_stay = frozenset(later.members) - ended(later.members, later.now_ms)
    must_stay = {name for name in may_stay if later.earliest[name] > later.now_ms}
    holds = must_stay <= named <= may_stay
    _require(holds, "SESSION_TIMEOUT", _members(named), _members(may_stay))
    gone = frozenset(later.members) - named
    after = _without_members(later, gone)
    return _raised(after, reply, must=bool(gone)) if belief.exists else after


def _without_members(belief: GroupBelief, names: Iterable[str]) -> GroupBelief:
    subscriptions, members = belief.subscriptions, belief.members
    for name in names:
        subscriptions, members = subscriptions.delete(name), members.delete(name)
    if subscriptions == belief.subscriptions:
        return belief
    # What they had is to be assigned anew, so that the next heartbeat may raise the epoch again.
    after = attrs.evolve(belief, subscriptions=subscriptions, members=members)
    return attrs.evolve(after, beats=Map(), changed=True)


def _raised(
    belief: GroupBelief, reply: GroupReply, *, must: bool, may: bool = False
) -> GroupBelief:
    """Take up the group epoch: higher if it must be, the same unless it may be higher."""
    epoch, known = (reply.group.epoch if reply.group else -1), belief.epoch
    _require(epoch > known or not must, "GROUP_EPOCH_RISES", f"epoch {epoch}", f"above {known}")
    holds = epoch == known or (epoch > known and (must or may))
    _require(holds, "GROUP_EPOCH_STAYS", f"epoch {epoch}", f"epoch {known}")
    seen = subscribed(belief) if epoch > known else belief.seen
    return attrs.evolve(belief, epoch=epoch, seen=seen)


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
    _require(
        mine <= may_be, "ASSIGNED_IS_INITIALIZED", _keys(mine - may_be), f"some of {_keys(may_be)}"
    )
    plain = reply.result.assignment
    told = None if plain is None else frozenset(TopicPartition(*each) for each in plain)
    known = frozenset() if joins else belief.told.get(member, frozenset())
    # It is null where it is what the member was told before; a topic that is gone goes unsaid.
    holds = told == mine or (
        told is None and mine == {key for key in known if key.topic_id in belief.topics}
    )
    _require(holds, "REQUEST_ANSWER", _told(told, known), _keys(mine))
    belief = attrs.evolve(belief, told=belief.told.set(member, mine))
    if not belief.initializes:
        states = belief.states.update({key: Durable() for key in mine if key not in belief.states})
        belief = attrs.evolve(belief, states=states)
    if rested and all(belief.beats.get(each, 0) >= SETTLED for each in belief.members):
        _settled(belief, reply)
    return belief


def _told(told: Partitions | None, known: Partitions) -> str:
    return f"nothing new, after {_keys(known)}" if told is None else _keys(told)


def _settled(belief: GroupBelief, reply: GroupReply) -> None:
    described = reply.group.by_name if reply.group else {}
    assignment = {name: each.assigned for name, each in described.items()}
    nobody = unassigned(assignable(world(belief)), assignment)
    _require(
        not nobody, "EVERY_PARTITION_IS_ASSIGNED", f"nobody has {_keys(nobody)}", "a member has it"
    )
    for more, less in uneven(assignment, world(belief).group.subscriptions):  # type: ignore[union-attr] # it has members
        texts = (f"{name} {_keys(assignment[name])}" for name in (more, less))
        raise BrokenRuleError("ASSIGNMENT_IS_EVEN", "; ".join(texts), "one more at most")
    late = [name for name, each in described.items() if each.epoch != belief.epoch]
    _require(not late, "MEMBER_EPOCH", f"{late} behind", f"epoch {belief.epoch}")


def _initialized(belief: GroupBelief, plan: GroupPlan, reply: GroupReply) -> GroupBelief:
    due = {each.topic_partition for each in plan.effects if isinstance(each, CallInitialize)}
    if not belief.initializes:
        _no_calls(reply)
        return initialized_now(belief, frozenset(due))
    for call in reply.calls:
        known = call.call == "initialize" and call.key in due
        _require(known, "NEW_IS_INITIALIZED", call_text(call), f"calls for {_keys(due)}")
        _offset_is(call, first_offsets(belief, call.key))
    topics = {topic for topic, _partitions in subscribed(belief)}
    since = belief.now_ms - RETRY_MS
    called = {call.key for call in reply.calls}
    late = {key for key in due - called if belief.begun.get(key, since) <= since}
    late = {key for key in late if key.topic_id in topics}
    _require(not late, "NEW_IS_INITIALIZED", f"no call for {_keys(late)}", "a call")
    return _served(belief, reply)


def _offset_is(call: StateCall, offsets: Iterable[int]) -> None:
    expected = _any(f"start offset {offset}" for offset in offsets)
    holds = call.start_offset in offsets
    _require(holds, "FIRST_OFFSET", call_text(call), expected, f"{expected} is due")


def _served(belief: GroupBelief, reply: GroupReply) -> GroupBelief:
    """Take up what share coordinators did for the calls of a request that initialize."""
    for call in reply.calls:
        expected = f"state epoch {belief.epoch}"
        _require(call.state_epoch == belief.epoch, "STATE_EPOCH", call_text(call), expected)
        belief = begun_now(belief, call.key, call.start_offset)
        if call.status not in (NONE, ErrorCode.PENDING.name):
            continue
        effect = CallInitialize(call.key, call.start_offset, call.state_epoch)
        error, after = perform(world(belief), effect)
        _require(error is ErrorCode.NONE, "STATE_EPOCH", call_text(call), f"not {error.name}")
        belief = attrs.evolve(belief, states=after.states)
        if call.status == NONE:
            belief = initialized_now(belief, frozenset({call.key}))
        else:
            keys = belief.waiting.get(call.id, frozenset())
            belief = attrs.evolve(belief, waiting=belief.waiting.set(call.id, keys | {call.key}))
    return belief


# Requests of administrators.


def _altered(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    asked = request["offsets"]
    offsets = {_key(belief, name, part): start for name, part, start in asked if part >= 0}
    below = [call_text(call) for call in reply.calls if call.partition < 0]
    _require(not below, "NEW_IS_INITIALIZED", "; ".join(below), "no call", "a partition below 0")
    plan = alter_offsets(world(belief), offsets)
    if _is_refused(plan, reply):
        return _refused(belief, reply)
    failed = {call.key for call in reply.calls if call.status != NONE}
    for name, part, status in reply.result.partitions:
        key = _key(belief, name, part) if part >= 0 else None
        unknown = key is None or key in plan.refused
        told = {_UNKNOWN} if unknown else set() if key in failed else {NONE}
        # Where the call fails with an exception, all that the request names may have its error.
        holds = status in told or (failed and told != {NONE} and status != NONE)
        _require(holds, "REQUEST_ANSWER", f"{name}:{part} {status}", _any(told or {"an error"}))
    told_of = {(name, part) for name, part, _status in reply.result.partitions}
    untold = [f"{n}:{part}" for n, part, _start in asked if not failed and (n, part) not in told_of]
    _require(not untold, "REQUEST_ANSWER", f"nothing of {untold}", "an answer for each")
    altered = {key: start for key, start in offsets.items() if key not in plan.refused}
    if not altered:
        return _refused(belief, reply)
    after = _raised(attrs.evolve(belief, exists=True), reply, must=True)
    begun = {each.topic_partition for each in plan.effects if isinstance(each, CallInitialize)}
    for call in reply.calls:
        _require(
            call.key in begun, "NEW_IS_INITIALIZED", call_text(call), f"calls for {_keys(begun)}"
        )
        starts = {altered[call.key]} if call.key in altered else first_offsets(belief, call.key)
        _offset_is(call, starts)
    missing = set(altered) - {call.key for call in reply.calls}
    _require(not missing, "NEW_IS_INITIALIZED", f"no call for {_keys(missing)}", "a call")
    return _served(after, reply)


def _deleted_offsets(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    ids = {name: belief.names.get(name, name) for name in request["topics"]}
    plan = delete_offsets(world(belief), tuple(ids.values()))
    if _is_refused(plan, reply):
        return _refused(belief, reply)
    called, after = {call.key for call in reply.calls}, belief
    told = dict(reply.result.topics)
    for name, topic in ids.items():
        status = told.get(name, reply.result.status)
        keys = listed(belief.metadata, (topic,))
        certain = keys - belief.metadata.initializing
        failed = any(c.status != NONE for c in reply.calls if c.topic == topic)
        allowed = {_UNKNOWN} if not certain else set()
        allowed |= {NONE} if keys and not failed else set()
        holds = status in allowed or (failed and status != NONE)
        _require(holds, "REQUEST_ANSWER", f"{name} {status}", _any(allowed or {"an error"}))
        gone = certain | (keys & called)
        if failed:
            now = after.metadata
            stages = now.initializing - gone, now.initialized - gone, now.deleting | gone
            after = attrs.evolve(after, metadata=PartitionMetadata(*stages), changed=True)
        elif status == NONE:
            left = (certain & set(belief.states)) - called
            _require(not left, "STATE_IS_DELETED", f"state left of {_keys(left)}", "none")
            after = without(after, gone, states=keys & called)
    return after


def _deleted_group(belief: GroupBelief, _request: Request, reply: GroupReply) -> GroupBelief:
    if _is_refused(delete_group(world(belief)), reply):
        return _refused(belief, reply)
    keys = listed(belief.metadata)
    if any(call.status != NONE for call in reply.calls):
        _require(reply.result.status != NONE, "REQUEST_ANSWER", NONE, "an error")
        metadata = PartitionMetadata(deleting=keys)
        return attrs.evolve(belief, metadata=metadata, widths=Map(), begun=Map())
    left = set(belief.states) - {call.key for call in reply.calls}
    kind = "what was initialized" if left & keys else "what an error left"
    _require(not left, "STATE_IS_DELETED", f"state left of {_keys(left)}", "none", kind)
    after = without(belief, keys, states=frozenset(belief.states))
    return attrs.evolve(after, exists=False, epoch=0, seen=frozenset(), changed=False)


def _offsets(belief: GroupBelief, _request: Request, reply: GroupReply) -> GroupBelief:
    missing = ErrorCode.GROUP_ID_NOT_FOUND.name
    if not (reply.result.status == missing and not belief.exists):
        _answered(reply, ErrorCode.NONE)
    told = {TopicPartition(topic, part): start for topic, part, start in reply.result.offsets}
    durable = describe_offsets(world(belief)).items()
    expected = {key: -1 if start is None else start for key, start in durable}
    _require(told == expected, "OFFSETS_DESCRIBED", _starts(told), _starts(expected))
    return belief


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
    _no_calls(reply)
    if subscribed(after) == subscribed(belief) or not after.exists:
        return after
    return _raised(attrs.evolve(after, beats=Map()), reply, must=False, may=True)


def _call_answered(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    _no_calls(reply)
    keys = belief.waiting.get(request["id"], frozenset()) & belief.metadata.initializing
    after = attrs.evolve(belief, waiting=belief.waiting.delete(request["id"]))
    served = request["status"] == NONE and belief.exists
    return initialized_now(after, keys) if served else after


def _failed_over(belief: GroupBelief, _request: Request, reply: GroupReply) -> GroupBelief:
    _no_calls(reply)
    _require(_plain(reply) == _plain(belief), "REPLAYED", _plain(reply), _plain(belief))
    return restarted_now(belief)


def _configured(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    _no_calls(reply)
    after = configured_now(belief, request["heartbeat_ms"], request["session_ms"])
    return _raised(after, reply, must=False) if belief.exists else after


_JUDGES: Mapping[str, Callable[[GroupBelief, Request, GroupReply], GroupBelief]] = {
    "heartbeat": _heartbeat,
    "advance_time": _time_passed,
    "alter_offsets": _altered,
    "delete_offsets": _deleted_offsets,
    "delete_group": _deleted_group,
    "describe_offsets": _offsets,
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
        _require(after.exists == (group is not None), "MEMBERS", found, expected)
        return
    _require(group.status == NONE, "REQUEST_ANSWER", group.status, NONE)
    topics = {member.member: frozenset(member.topics) for member in group.members}
    _require(topics == dict(after.subscriptions), "MEMBERS", topics, dict(after.subscriptions))
    _require(group.epoch == after.epoch, "GROUP_EPOCH_STAYS", group.epoch, after.epoch)
    for member in group.members:
        known, lowest = after.members[member.member].epoch, 0
        if member.member == request.get("member") and member.member in before.members:
            lowest = before.members[member.member].epoch
        holds = lowest <= member.epoch == known <= group.epoch
        expected = f"epoch {known}, from {lowest} to {group.epoch}"
        _require(holds, "MEMBER_EPOCH", f"{member.member} epoch {member.epoch}", expected)


def _is_refused(plan: GroupPlan, reply: GroupReply) -> bool:
    """Return whether a plan has an error; check the answer by it, unless a call failed."""
    refused = plan.error is not ErrorCode.NONE
    if refused or all(call.status == NONE for call in reply.calls):
        _answered(reply, plan.error)
    return refused


def _answered(reply: GroupReply, error: ErrorCode) -> None:
    status = reply.result.status
    _require(status == error.name, "REQUEST_ANSWER", status, error.name)


def _refused(belief: GroupBelief, reply: GroupReply) -> GroupBelief:
    _no_calls(reply)
    return belief


def _no_calls(reply: GroupReply) -> None:
    calls = ", ".join(map(call_text, reply.calls))
    _require(not reply.calls, "NEW_IS_INITIALIZED", calls, "no call of a share coordinator")


def _key(belief: GroupBelief, name: str, partition: int) -> TopicPartition:
    return TopicPartition(belief.names.get(name, name), partition)


def _plain(of: GroupBelief | GroupReply) -> object:
    """Return a description without the order of its parts."""
    if of.group is None:
        return None
    members = {m.member: (m.epoch, m.topics, _keys(m.assigned)) for m in of.group.members}
    return of.group.epoch, of.group.assignment_epoch, sorted(members.items())


def _keys(keys: Iterable[Any]) -> str:
    return ", ".join(f"{key.topic_id}:{key.partition}" for key in sorted(keys)) or "none"


def _starts(starts: Mapping[TopicPartition, int]) -> str:
    return ", ".join(f"{_keys((key,))} at {starts[key]}" for key in sorted(starts)) or "none"


def call_text(call: StateCall) -> str:
    """Return a call of a share coordinator in words."""
    at = f" at {call.start_offset}, state epoch {call.state_epoch}"
    rest = at if call.call == "initialize" else ""
    return f"{call.call} {call.topic}:{call.partition}{rest} ({call.status})"


def _any(texts: Iterable[str]) -> str:
    return " or ".join(sorted(texts))


def _members(names: Iterable[str]) -> str:
    return f"members {', '.join(sorted(names)) or 'none'}"
