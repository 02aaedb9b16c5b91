"""Judge what a group coordinator answers administrators."""

from collections.abc import Collection, Mapping

import attrs
from immutables import Map

from conformance.coordinators.group_belief import GroupBelief, first_offsets, less, without, world
from conformance.coordinators.group_causes import (
    OUTRUN,
    PARTED,
    counted_cause,
    left_cause,
    outrun_now,
    taken_now,
)
from conformance.coordinators.group_checks import (
    NONE,
    PENDING,
    Request,
    any_text,
    call_text,
    is_answered,
    is_refused,
    keys_text,
    noted,
    offset_is,
    raised,
    refused,
    require,
    served,
)
from conformance.coordinators.group_reply import GroupReply
from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.group_lifecycle import alter_offsets, delete_group, delete_offsets, describe_offsets
from spec.share_group import CallInitialize, PartitionMetadata, Partitions, listed

_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name


def offsets_altered(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    """Judge the answer to AlterShareGroupOffsets. Raises BrokenRuleError."""
    asked = request["offsets"]
    offsets = {_key(belief, name, part): start for name, part, start in asked if part >= 0}
    below = [call_text(call) for call in reply.calls if call.partition < 0]
    require(not below, "NEW_IS_INITIALIZED", "; ".join(below), "no call", "a partition below 0")
    plan = alter_offsets(world(belief), offsets)
    if is_refused(plan, reply):
        return refused(belief, reply)
    failed = {call.key for call in reply.calls if call.status != NONE}
    for name, part, status in reply.result.partitions:
        key = _key(belief, name, part) if part >= 0 else None
        unknown = key is None or key in plan.refused
        told = {_UNKNOWN} if unknown else set() if key in failed else {NONE}
        # Where the call fails with an exception, all that the request names may have its error.
        holds = status in told or (failed and told != {NONE} and status != NONE)
        require(holds, "REQUEST_ANSWER", f"{name}:{part} {status}", any_text(told or {"an error"}))
    told_of = {(name, part) for name, part, _status in reply.result.partitions}
    untold = [f"{n}:{part}" for n, part, _start in asked if not failed and (n, part) not in told_of]
    require(not untold, "REQUEST_ANSWER", f"nothing of {untold}", "an answer for each")
    altered = {key: start for key, start in offsets.items() if key not in plan.refused}
    vain = {belief.names[name] for name, _part, _start in asked if name in belief.names}
    belief = attrs.evolve(belief, vain=belief.vain | (vain - {key.topic_id for key in altered}))
    if not altered:
        kind = "nothing is altered of a topic that exists" if vain else ""
        none = "a group" if reply.group else "no group"
        after = noted(belief, belief.exists or not reply.group, "MEMBERS", none, "no group", kind)
        if reply.group and not belief.exists:
            after = attrs.evolve(after, exists=True, epoch=reply.group.epoch)
        return refused(after, reply)
    epoch, above = reply.group.epoch if reply.group else -1, f"above {belief.epoch}"
    stays = epoch == belief.epoch
    after = noted(belief, not stays, "GROUP_EPOCH_RISES", f"epoch {epoch}", above, "it stays")
    after = raised(attrs.evolve(after, exists=True), reply, must=not stays)
    begun = {each.topic_partition for each in plan.effects if isinstance(each, CallInitialize)}
    for call in reply.calls:
        require(
            call.key in begun,
            "NEW_IS_INITIALIZED",
            call_text(call),
            f"calls for {keys_text(begun)}",
        )
        starts = {altered[call.key]} if call.key in altered else first_offsets(belief, call.key)
        after = offset_is(after, call, starts)
    missing = set(altered) - {call.key for call in reply.calls}
    require(not missing, "NEW_IS_INITIALIZED", f"no call for {keys_text(missing)}", "a call")
    known = Map({(n, p): p >= 0 and _key(belief, n, p) in altered for n, p, _start in asked})
    late = dict.fromkeys((call.id for call in reply.calls if reply.result.status == PENDING), known)
    after = attrs.evolve(served(after, reply), altering=belief.altering.update(late))
    held = frozenset(call.key for call in reply.calls if call.status != NONE)
    return attrs.evolve(after, altered=after.altered | altered.keys(), held=after.held | held)


def alteration_answered(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    """Judge how AlterShareGroupOffsets ends whose call is answered late. Raises BrokenRuleError.

    Where the call fails, all that the request names may have its error; so may what is gone by now.
    """
    told = {(name, part): status for name, part, status in reply.result.partitions}
    whole = reply.result.status if reply.result.status != NONE else "nothing"
    failed = request["status"] != NONE
    for (name, part), known in belief.altering[request["id"]].items():
        status, due = told.get((name, part), whole), NONE if known else _UNKNOWN
        may_fail = failed or not belief.exists or name not in belief.names
        allowed = set() if failed and known else {due}
        holds = status in allowed or (may_fail and status not in {NONE, "nothing"})
        expected = "an error" if failed else due
        require(holds, "REQUEST_ANSWER", f"{name}:{part} {status}", expected)
    return attrs.evolve(belief, altering=belief.altering.delete(request["id"]))


def offsets_deleted(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    """Judge the answer to DeleteShareGroupOffsets. Raises BrokenRuleError."""
    ids = {name: belief.names.get(name, name) for name in request["topics"]}
    plan = delete_offsets(world(belief), tuple(ids.values()))
    if is_refused(plan, reply):
        return refused(belief, reply)
    called, after = {call.key for call in reply.calls}, belief
    told, waits = dict(reply.result.topics), _waits(reply)
    # Where the call fails with an exception, all that the request names has its error.
    all_fail = reply.result.status != NONE and any(call.status != NONE for call in reply.calls)
    is_silent = reply.result.status == NONE and not (told or listed(belief.metadata))
    silent = "nothing is told, and there are none" if is_silent else ""
    for name, topic in ids.items():
        status = told.get(name, reply.result.status)
        keys = listed(belief.metadata, (topic,))
        certain = keys - belief.metadata.initializing
        failed = any(c.status != NONE for c in reply.calls if c.topic == topic)
        allowed = {_UNKNOWN} if not certain else set()
        allowed |= {NONE} if keys and not failed else set()
        holds = status in allowed or ((failed or all_fail) and status != NONE)
        expected = any_text(allowed or {"an error"})
        late = counted_cause(belief, {call.key for call in reply.calls if call.topic == topic})
        lost = {belief.lost.get(key) for key in certain}
        hidden = next((why for why in (PARTED, OUTRUN) if lost == {why}), silent)
        kind = "a late answer" if late and not keys else hidden
        require(holds or kind, "REQUEST_ANSWER", f"{name} {status}", expected)
        after = noted(after, holds, "REQUEST_ANSWER", f"{name} {status}", expected, kind)
        gone = certain | (keys & called)
        is_done = waits or status == NONE
        left = (certain & set(belief.states)) - called if is_done else set[TopicPartition]()
        _nothing_left(left, left_cause(belief, left))
        if failed:
            now = after.metadata
            stages = now.initializing - gone, now.initialized - gone, now.deleting | gone
            after = attrs.evolve(
                after,
                metadata=PartitionMetadata(*stages),
                lost=less(after.lost, keys & called),
                changed=True,
            )
        elif status == NONE:
            after = without(after, gone, states=keys & called)
    after = taken_now(belief, after, "its offsets were deleted", called)
    after = attrs.evolve(after, held=after.held | (called & belief.metadata.initializing))
    return _ending(after, reply, frozenset(called)) if waits else after


def group_deleted(belief: GroupBelief, _request: Request, reply: GroupReply) -> GroupBelief:
    """Judge the answer to the deletion of the group. Raises BrokenRuleError."""
    plan, status = delete_group(world(belief)), reply.result.status
    fails = belief.vain and status == ErrorCode.UNKNOWN_SERVER_ERROR.name and not reply.calls
    kind = "a topic was altered in vain"
    require(not fails or plan.error is not ErrorCode.NONE, "REQUEST_ANSWER", status, NONE, kind)
    if is_refused(plan, reply):
        return refused(belief, reply)
    keys = listed(belief.metadata)
    left = set(belief.states) - {call.key for call in reply.calls}
    kind = left_cause(belief, left)
    if any(call.status != NONE for call in reply.calls):
        require(reply.result.status != NONE, "REQUEST_ANSWER", NONE, "an error")
        called = {call.key for call in reply.calls}
        # What a heartbeat could not initialize may be there no more.
        open_ = belief.metadata.initializing - called
        metadata = PartitionMetadata(initializing=open_, deleting=keys - open_)
        lost = less(belief.lost, called)
        after = attrs.evolve(belief, metadata=metadata, widths=Map(), begun=Map(), lost=lost)
        after = taken_now(belief, after, "a deletion of the group has begun")
        if not _waits(reply):
            return after
        _nothing_left(left, kind)
        return _ending(after, reply, None)
    _nothing_left(left, kind)
    return _without_group(belief)


def _nothing_left(left: Collection[TopicPartition], kind: str) -> None:
    require(not left, "STATE_IS_DELETED", f"state left of {keys_text(left)}", "none", kind)


def _without_group(belief: GroupBelief) -> GroupBelief:
    after = without(belief, listed(belief.metadata), states=frozenset(belief.states))
    after = attrs.evolve(after, exists=False, epoch=0, seen=frozenset(), changed=False)
    return taken_now(belief, attrs.evolve(after, lost=Map()), "the group was deleted")


def _waits(reply: GroupReply) -> bool:
    return any(call.status == PENDING for call in reply.calls)


def _ending(belief: GroupBelief, reply: GroupReply, keys: Partitions | None) -> GroupBelief:
    """Take up a call that waits; share coordinators have served it."""
    deleted = {call.key for call in reply.calls}
    states = Map({key: state for key, state in belief.states.items() if key not in deleted})
    late = dict.fromkeys((call.id for call in reply.calls), keys)
    return attrs.evolve(belief, ending=belief.ending.update(late), states=states)


def deletion_answered(belief: GroupBelief, request: Request, reply: GroupReply) -> GroupBelief:
    """Judge how a deletion ends whose call is answered late. Raises BrokenRuleError.

    Meanwhile members may have joined, and the group may be another one of its name.
    """
    keys = belief.ending[request["id"]]
    after = attrs.evolve(belief, ending=belief.ending.delete(request["id"]))
    served, done, now = request["status"] == NONE, reply.result.status == NONE, after.metadata
    is_due = served and belief.exists and request["id"] not in belief.former
    if keys is not None:
        return _offsets_deleted_late(after, keys, reply, served=served, is_due=is_due)
    if not belief.exists or reply.group is not None:
        holds = not (done and belief.exists)
        require(holds, "REQUEST_ANSWER", NONE, "an error, as the group is there")
        unused = not (belief.members or belief.states or now.initializing) and now.deleting
        refusal = reply.result.status
        require(not (is_due and unused), "REQUEST_ANSWER", refusal, f"{NONE}, as nobody came")
        return after
    require(served, "REQUEST_ANSWER", "the group is deleted", "an error")
    members = f"members {', '.join(sorted(belief.members))}"
    require(not belief.members, "MEMBERS", "no group", members, "a late answer")
    is_ours = request["id"] not in belief.former
    _nothing_left(set(belief.states), "a late answer" if is_ours else "")
    return _without_group(after)


def _offsets_deleted_late(
    belief: GroupBelief, keys: Partitions, reply: GroupReply, *, served: bool, is_due: bool
) -> GroupBelief:
    """Judge what is told of topics, of which nobody may have begun one anew meanwhile."""
    nameless = sum(name is None for name, _status in reply.result.topics)
    gone = {key.topic_id for key in keys} - {*belief.topics}
    kind = "no name of a topic that is gone" if nameless <= len(gone) else ""
    belief = noted(
        belief, not nameless, "REQUEST_ANSWER", "a topic without a name", "its name", kind
    )
    told = {belief.names.get(str(name), name): status for name, status in reply.result.topics}
    deleting = belief.metadata.deleting
    for topic in sorted({key.topic_id for key in keys}):
        status = told.get(topic, reply.result.status if reply.result.status != NONE else "nothing")
        require(served or status != NONE, "REQUEST_ANSWER", f"{topic} {status}", "an error")
        mine = frozenset(key for key in keys if key.topic_id == topic)
        holds = status == NONE or not (is_due and mine <= deleting)
        require(holds, "REQUEST_ANSWER", f"{topic} {status}", NONE)
        deleting = deleting - mine if status == NONE else deleting
        belief = outrun_now(belief, mine) if status == NONE else belief
    return attrs.evolve(belief, metadata=attrs.evolve(belief.metadata, deleting=deleting))


def offsets_described(belief: GroupBelief, _request: Request, reply: GroupReply) -> GroupBelief:
    """Judge the answer to DescribeShareGroupOffsets. Raises BrokenRuleError."""
    missing = ErrorCode.GROUP_ID_NOT_FOUND.name
    if not (reply.result.status == missing and not belief.exists):
        is_answered(reply, ErrorCode.NONE)
    told = {TopicPartition(topic, part): start for topic, part, start in reply.result.offsets}
    durable = describe_offsets(world(belief)).items()
    expected = {key: -1 if start is None else start for key, start in durable}
    extra = told.keys() - expected.keys()
    others = {key: start for key, start in told.items() if key in expected}
    kind = "a late answer" if others == expected and counted_cause(belief, extra) else ""
    expected |= {key: told[key] for key in belief.unclear if key in expected and key in told}
    holds = told == expected
    return noted(belief, holds, "OFFSETS_DESCRIBED", _starts(told), _starts(expected), kind)


def _key(belief: GroupBelief, name: str, partition: int) -> TopicPartition:
    return TopicPartition(belief.names.get(name, name), partition)


def _starts(starts: Mapping[TopicPartition, int]) -> str:
    return ", ".join(f"{keys_text((key,))} at {starts[key]}" for key in sorted(starts)) or "none"
