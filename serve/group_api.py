"""Share groups: heartbeats, descriptions, and their offsets as administrators see them."""

from types import SimpleNamespace
from uuid import UUID

from kio.schema.errors import ErrorCode as KafkaError

from judge.view import durable
from model.errors import InvalidValueError
from model.share_messages import TopicPartition
from serve.asked import Call, Values
from serve.batches import RefusedError
from serve.coordination import (
    JOIN,
    LEAVE,
    Beat,
    alter_offsets,
    delete_group,
    delete_offsets,
    heartbeat,
    leave,
    setting,
)
from serve.leaders import address
from serve.limits import Maxima
from serve.members import Group, Member
from serve.node import Cluster, Node, log_of
from serve.rare import THROTTLE_MS, UNHEARD_WITH, Habit
from spec.group_lifecycle import describe_offsets
from spec.lag import durable_lag

_NONE = KafkaError.none
_GROUP_KEY = 0
_ASSIGNOR = "simple"
_UNKNOWN_OFFSET = -1
_LONGEST_ID = 1000


def find_coordinator(node: Node, asked: Call) -> Values:
    """Name the coordinator of each group; transactions have none."""
    body = asked.body
    error, why = _NONE, None
    if getattr(body, "key_type", _GROUP_KEY) != _GROUP_KEY:
        error, why = KafkaError.invalid_request, "only groups have a coordinator here"
    elif node.cluster.rare.takes(Habit.NO_COORDINATOR):
        error, why = KafkaError.coordinator_not_available, "it is not available now"

    def answer(group: str) -> Values:
        coordinator = node.cluster.coordinator(group)
        known = {"node_id": coordinator.id, **address(coordinator)}
        nobody = {"node_id": -1, "host": "", "port": -1}
        return {**(nobody if why else known), "error_code": error, "error_message": why}

    keys = getattr(body, "coordinator_keys", ())
    return {
        **answer(getattr(body, "key", "")),
        "coordinators": [{"key": key, **answer(key)} for key in keys],
    }


def _group(node: Node, group_id: str) -> tuple[Group | None, KafkaError, str]:
    """Return a group of which this broker is the coordinator, or None, and what is wrong then."""
    if node.cluster.coordinator(group_id) is not node:
        return None, KafkaError.not_coordinator, "This is not the correct coordinator."
    group = node.cluster.groups.get(group_id)
    return group, KafkaError.group_id_not_found, f"Group {group_id} not found."


def share_group_heartbeat(node: Node, asked: Call) -> Values:
    """Serve a heartbeat."""
    body = asked.body
    names = body.subscribed_topic_names
    answer: Values = {
        "error_code": _NONE,
        "member_id": body.member_id,
        "member_epoch": body.member_epoch,
        "assignment": None,
    }
    _, wrong, why = _group(node, body.group_id or "")
    if wrong is KafkaError.not_coordinator:
        return {**answer, "error_code": wrong, "error_message": why}
    rare = node.cluster.rare
    unheard = rare.next_of(UNHEARD_WITH) if body.member_epoch != LEAVE else None
    if unheard is not None:
        rare.happened(unheard)
        return {**answer, "error_code": UNHEARD_WITH[unheard], "error_message": unheard.name}
    try:
        _check_heartbeat(body, node.cluster.options.limits)
        topics = None if names is None else frozenset(names)
        beat = Beat(
            body.group_id,
            body.member_id,
            body.member_epoch,
            topics,
            body.rack_id,
            asked.client_id,
            asked.host,
        )
        if beat.epoch == LEAVE:
            leave(node.cluster, beat)
            return answer
        member, told = heartbeat(node.cluster, beat)
    except RefusedError as refused:
        return {**answer, "error_code": refused.error, "error_message": refused.why}
    answer["member_epoch"] = member.epoch
    answer["heartbeat_interval"] = setting(node.cluster, beat.group, "heartbeat.interval.ms")
    if rare.takes(Habit.THROTTLE_MEMBER):
        answer["throttle_time"] = THROTTLE_MS
    if told:
        answer["assignment"] = {"topic_partitions": _by_topic(node, member)}
    return answer


def _check_heartbeat(body: SimpleNamespace, limits: Maxima) -> None:
    """Refuse what no member sends (Kafka: throwIfShareGroupHeartbeatRequestIsInvalid)."""
    if not body.group_id or not body.group_id.strip():
        raise RefusedError(KafkaError.invalid_request, "GroupId can't be empty.")
    if not body.member_id or not body.member_id.strip():
        raise RefusedError(KafkaError.invalid_request, "MemberId can't be empty.")
    if max(len(body.group_id), len(body.member_id), len(body.rack_id or "")) > _LONGEST_ID:
        raise RefusedError(KafkaError.invalid_request, f"an id of over {_LONGEST_ID} characters")
    if body.rack_id is not None and not body.rack_id.strip():
        raise RefusedError(KafkaError.invalid_request, "RackId can't be empty.")
    names = body.subscribed_topic_names or ()
    if sum(len(name or "") for name in names) > limits.subscription_characters or None in names:
        text = f"topics with more than {limits.subscription_characters} characters together"
        raise RefusedError(KafkaError.invalid_request, text)
    if body.member_epoch < LEAVE:
        raise RefusedError(KafkaError.invalid_request, "MemberEpoch is invalid.")
    if body.member_epoch == JOIN and not body.subscribed_topic_names:
        text = "SubscribedTopicNames must be set in first request."
        raise RefusedError(KafkaError.invalid_request, text)


def _by_topic(node: Node, member: Member) -> list[Values]:
    topics: dict[str, list[int]] = {}
    for place in sorted(member.assigned):
        topics.setdefault(place.topic_id, []).append(place.partition)
    parts = []
    for topic_id, partitions in topics.items():
        topic = node.cluster.topic_of(topic_id)
        name = topic.name if topic else ""
        parts.append({"topic_id": UUID(topic_id), "topic_name": name, "partitions": partitions})
    return parts


def share_group_describe(node: Node, asked: Call) -> Values:
    """Describe groups with their members."""
    groups = [_described(node, group_id) for group_id in asked.body.group_ids]
    return {"groups": groups}


def _described(node: Node, group_id: str) -> Values:
    group, wrong, why = _group(node, group_id)
    answer = {"group_id": group_id, "group_state": state_of(group)}
    if group is None:
        return {**answer, "error_code": wrong, "error_message": why}
    return {
        **answer,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": _ASSIGNOR,
        "members": [_member(node, member) for member in group.members.values()],
    }


def state_of(group: Group | None) -> str:
    """Return the state of a group by Kafka's name."""
    if group is None:
        return "Dead"
    return "Stable" if group.members else "Empty"


def _member(node: Node, member: Member) -> Values:
    return {
        "member_id": member.id,
        "rack_id": member.rack,
        "member_epoch": member.epoch,
        "client_id": member.client_id,
        "client_host": f"/{member.host}",
        "subscribed_topic_names": sorted(member.topics),
        "assignment": {"topic_partitions": _by_topic(node, member)},
    }


def list_groups(node: Node, asked: Call) -> Values:
    """List the groups that this broker coordinates, of the states and types asked for."""
    states = {state.lower() for state in getattr(asked.body, "states_filter", ())}
    types = {kind.lower() for kind in getattr(asked.body, "types_filter", ())}
    groups = [
        {
            "group_id": group.id,
            "protocol_type": "share",
            "group_state": state_of(group),
            "group_type": "share",
        }
        for group in node.cluster.groups.values()
        if node.cluster.coordinator(group.id) is node
        if (not states or state_of(group).lower() in states) and (not types or "share" in types)
    ]
    return {"groups": groups}


def delete_groups(node: Node, asked: Call) -> Values:
    """Delete groups without members."""
    results = []
    for group_id in asked.body.groups_names:
        group, error, _ = _group(node, group_id)
        if group is not None:
            error = KafkaError(delete_group(node.cluster, group).error.value)
        results.append({"group_id": group_id, "error_code": error})
    return {"results": results}


def describe_share_group_offsets(node: Node, asked: Call) -> Values:
    """Return the durable start offsets and the reported lag."""
    groups = [_offsets(node, wanted) for wanted in asked.body.groups]
    return {"groups": groups}


def _offsets(node: Node, wanted: SimpleNamespace) -> Values:
    group, wrong, why = _group(node, wanted.group_id)
    if group is None:
        return {"group_id": wanted.group_id, "error_code": wrong, "error_message": why}
    known = describe_offsets(group.coordinators)
    asked = [(t.topic_name, list(t.partitions)) for t in wanted.topics or ()]
    if wanted.topics is None:
        places: dict[str, list[int]] = {}
        for place in sorted(known):
            if topic := node.cluster.topic_of(place.topic_id):
                places.setdefault(topic.name, []).append(place.partition)
        asked = list(places.items())
    topics = [
        {
            "topic_name": name,
            "topic_id": node.cluster.topics[name].id if name in node.cluster.topics else None,
            "partitions": [_offset(node, group, name, part) for part in partitions],
        }
        for name, partitions in asked
    ]
    return {"group_id": wanted.group_id, "topics": topics}


def _offset(node: Node, group: Group, name: str, partition: int) -> Values:
    leader = log_of(node.cluster.topics.get(name), partition)[1]
    start, lag = reported(node.cluster, group.id, name, partition)
    answer = {
        "partition_index": partition,
        "start_offset": start,
        "lag": -1 if lag is None else lag,
    }
    if leader is None:
        error = KafkaError.unknown_topic_or_partition
        return {**answer, "error_code": error, "error_message": "no such partition"}
    return {**answer, "leader_epoch": leader.epoch}


def reported(cluster: Cluster, group: str, name: str, partition: int) -> tuple[int, int | None]:
    """Return start offset and lag of a group at a partition (KIP-1226); -1, None if not known."""
    topic = cluster.topics.get(name)
    log, leader = log_of(topic, partition)
    led = cluster.node(leader.id).share(group).partitions if leader else {}
    known = led.get((group, TopicPartition(str(topic.id), partition))) if topic else None
    if known is None or log is None:
        return _UNKNOWN_OFFSET, None
    state = durable(known)
    return state.start_offset, durable_lag(log.end, state)


def alter_share_group_offsets(node: Node, asked: Call) -> Values:
    """Set start offsets of a group without members."""
    body, offsets, names = asked.body, {}, {}
    for topic in body.topics:
        known = node.cluster.topics.get(topic.topic_name)
        names[topic.topic_name] = known.id if known else None
        for part in topic.partitions:
            if known and log_of(known, part.partition_index)[0]:
                offsets[TopicPartition(str(known.id), part.partition_index)] = part.start_offset
    why: str | None
    _, error, why = _group(node, body.group_id)
    if error is not KafkaError.not_coordinator:
        error, why = _altered_all(node, body.group_id, offsets)
    return {
        "error_code": error,
        "error_message": why,
        "responses": []
        if error is not _NONE
        else [
            {
                "topic_name": topic.topic_name,
                "topic_id": names[topic.topic_name],
                "partitions": [_altered(node, topic.topic_name, p) for p in topic.partitions],
            }
            for topic in body.topics
        ],
    }


def _altered_all(
    node: Node, group: str, offsets: dict[TopicPartition, int]
) -> tuple[KafkaError, str | None]:
    try:
        return KafkaError(alter_offsets(node.cluster, group, offsets).error.value), None
    except InvalidValueError as wrong:
        return KafkaError.invalid_request, str(wrong)
    except RefusedError as refused:
        return KafkaError.unknown_server_error, refused.why


def _altered(node: Node, name: str, part: SimpleNamespace) -> Values:
    known = log_of(node.cluster.topics.get(name), part.partition_index)[0]
    return {
        "partition_index": part.partition_index,
        "error_code": _NONE if known else KafkaError.unknown_topic_or_partition,
        "error_message": None if known else "no such partition",
    }


def delete_share_group_offsets(node: Node, asked: Call) -> Values:
    """Remove topics from a group without members."""
    body = asked.body
    group, error, _ = _group(node, body.group_id)
    ids = {t.topic_name: node.cluster.topics.get(t.topic_name) for t in body.topics}
    refused = {}
    if group is not None:
        known = frozenset(str(topic.id) for topic in ids.values() if topic)
        plan = delete_offsets(node.cluster, group, known)
        error, refused = KafkaError(plan.error.value), dict(plan.refused)
    responses = []
    for name, topic in ids.items():
        code = _NONE if topic and str(topic.id) not in refused else _UNKNOWN_TOPIC
        topic_id = topic.id if topic else None
        responses.append({"topic_name": name, "topic_id": topic_id, "error_code": code})
    return {"error_code": error, "responses": responses if error is _NONE else []}


_UNKNOWN_TOPIC = KafkaError.unknown_topic_or_partition
