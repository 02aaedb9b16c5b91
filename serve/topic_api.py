"""Topics and the cluster: what there is, what is created and deleted, and offsets of logs."""

import time
from collections.abc import Collection, Iterable
from types import SimpleNamespace

from kio.schema.errors import ErrorCode as KafkaError

from serve.asked import Call, Values
from serve.batches import RefusedError
from serve.coordination import update_all
from serve.leaders import address, refusal, topic_asked
from serve.node import CONTROLLER, Node, Topic, log_of
from serve.record_log import RecordLog, offset_at
from serve.topics import check_topic_name, create_topic, delete_records, delete_topic

_LATEST, _EARLIEST, _NEWEST, _EARLIEST_LOCAL = -1, -2, -3, -4
_NONE = KafkaError.none
_UNKNOWN = KafkaError.unknown_topic_or_partition
_BROKERS = 1
_NAMELESS = 12
"""The version of Metadata from which on a topic that is asked by its id may have no name."""


def metadata(node: Node, asked: Call) -> Values:
    """Describe the brokers and topics; one that does not exist is created if the client asks."""
    wanted = asked.body.topics
    if wanted is None or (asked.version == 0 and not wanted):
        topics = [_described(topic.name, topic) for topic in node.cluster.topics.values()]
    else:
        create = getattr(asked.body, "allow_auto_topic_creation", True)
        topics = [_found(node, topic, create=create) for topic in wanted]
    if asked.version < _NAMELESS:
        topics = [{**topic, "name": topic["name"] or ""} for topic in topics]
    starting = [
        id_ for id_, until in node.cluster.rare.starting.items() if time.monotonic() < until
    ]
    return {
        "brokers": [_broker(other) for other in node.cluster.nodes],
        "cluster_id": node.cluster.id,
        "controller_id": CONTROLLER,
        "topics": [_leaderless(_heard(node, topic), starting) for topic in topics],
    }


def _leaderless(topic: Values, starting: Collection[int]) -> Values:
    """Return a topic as it is described while these brokers start."""
    unknown = {"error_code": KafkaError.leader_not_available, "leader_id": -1}
    parts = topic["partitions"]
    parts = [{**part, **(unknown if part["leader_id"] in starting else {})} for part in parts]
    return {**topic, "partitions": parts}


def _heard(node: Node, topic: Values) -> Values:
    """Return a topic with the partitions that Metadata tells already."""
    most, until = node.cluster.rare.unheard.get(topic["name"], (0, 0.0))
    whole = time.monotonic() >= until
    return topic if whole else {**topic, "partitions": topic["partitions"][:most]}


def _broker(node: Node) -> Values:
    return {"node_id": node.id, **address(node)}


def _found(node: Node, wanted: SimpleNamespace, *, create: bool) -> Values:
    topic_id = getattr(wanted, "topic_id", None)
    if topic_id is not None:
        topic = node.cluster.topic_of(topic_id)
        if topic is None:
            unknown = _described(None, None, KafkaError.unknown_topic_id)
            return {**unknown, "topic_id": topic_id}
        return _described(topic.name, topic)
    name = wanted.name or ""
    try:
        return _described(name, _named(node, name, create=create))
    except RefusedError as refused:
        return _described(name, None, refused.error)


def _named(node: Node, name: str, *, create: bool) -> Topic:
    """Return the topic of a name, which may be created now. Raises RefusedError."""
    if name in node.cluster.topics:
        return node.cluster.topics[name]
    check_topic_name(name, node.cluster.options.limits)
    if not (create and node.cluster.options.auto_create):
        raise RefusedError(_UNKNOWN, "no such topic")
    topic = create_topic(node.cluster, name, node.cluster.options.partitions)
    update_all(node.cluster, (name,))
    return topic


def _described(name: str | None, topic: Topic | None, error: KafkaError = _NONE) -> Values:
    partitions = [
        {
            "partition_index": partition,
            "leader_id": leader.id,
            "leader_epoch": leader.epoch,
            "replica_nodes": [leader.id],
            "isr_nodes": [leader.id],
        }
        for partition, leader in enumerate(topic.leaders if topic else ())
    ]
    return {
        "error_code": error,
        "name": name,
        "topic_id": topic.id if topic else None,
        "partitions": partitions,
    }


def describe_cluster(node: Node, asked: Call) -> Values:
    """Describe the brokers."""
    endpoint = getattr(asked.body, "endpoint_type", _BROKERS)
    known = endpoint == _BROKERS
    return {
        "error_code": _NONE if known else KafkaError.mismatched_endpoint_type,
        "error_message": None if known else "a broker answers, not a controller",
        "endpoint_type": _BROKERS,
        "cluster_id": node.cluster.id,
        "controller_id": CONTROLLER,
        "brokers": [{**_broker(other), "broker_id": other.id} for other in node.cluster.nodes],
    }


def create_topics(node: Node, asked: Call) -> Values:
    """Create topics of one replica; their settings are refused, as none is applied."""
    topics = [
        _created(node, topic, only_check=asked.body.validate_only) for topic in asked.body.topics
    ]
    update_all(node.cluster, [topic.name for topic in asked.body.topics])
    return {"topics": topics}


def _created(node: Node, wanted: SimpleNamespace, *, only_check: bool) -> Values:
    count = len(wanted.assignments) or wanted.num_partitions
    count = node.cluster.options.partitions if count == -1 else count
    answer = {"name": wanted.name, "num_partitions": count, "replication_factor": 1}
    try:
        topic = create_topic(node.cluster, wanted.name, count, _assigned(node, wanted))
    except RefusedError as refused:
        nothing = {"num_partitions": -1, "replication_factor": -1}
        return {**answer, "error_code": refused.error, "error_message": refused.why, **nothing}
    if only_check:
        delete_topic(node.cluster, topic)
        return answer
    return {**answer, "topic_id": topic.id}


def _assigned(node: Node, wanted: SimpleNamespace) -> tuple[int, ...]:
    """Return the broker of each partition, where the client says it. Raises RefusedError."""
    ids = {(known.id,) for known in node.cluster.nodes}
    replicas = {part.partition_index: tuple(part.broker_ids) for part in wanted.assignments}
    if set(replicas) != set(range(len(wanted.assignments))) or not set(replicas.values()) <= ids:
        text = "a partition has one replica, at one of the brokers; they count from 0"
        raise RefusedError(KafkaError.invalid_replica_assignment, text)
    if not wanted.assignments and wanted.replication_factor not in (-1, 1):
        text = f"{wanted.replication_factor} replicas; a partition has one"
        raise RefusedError(KafkaError.invalid_replication_factor, text)
    if wanted.configs:
        text = f"topics have no settings here: {wanted.configs[0].name[:100]}"
        raise RefusedError(KafkaError.invalid_config, text)
    return tuple(replicas[nth][0] for nth in sorted(replicas))


def delete_topics(node: Node, asked: Call) -> Values:
    """Delete topics, by name or by id."""
    names = getattr(asked.body, "topic_names", None)
    wanted = asked.body.topics if names is None else [SimpleNamespace(name=name) for name in names]
    answers = [_deleted(node, topic) for topic in wanted]
    update_all(node.cluster, [answer["name"] for answer in answers])
    return {"responses": answers}


def _deleted(node: Node, wanted: SimpleNamespace) -> Values:
    topic, named, unknown = topic_asked(node, wanted)
    if topic is None:
        return {"name": None, **named, "error_code": unknown, "error_message": "no such topic"}
    delete_topic(node.cluster, topic)
    return {"name": topic.name, "topic_id": topic.id}


def list_offsets(node: Node, asked: Call) -> Values:
    """Return offsets of logs: the first, the last, or the first of a time."""
    topics = [
        {
            "name": topic.name,
            "partitions": [_listed(node, topic.name, part) for part in topic.partitions],
        }
        for topic in asked.body.topics
    ]
    return {"topics": topics}


def _listed(node: Node, name: str, wanted: SimpleNamespace) -> Values:
    log, leader = log_of(node.cluster.topics.get(name), wanted.partition_index)
    answer = {
        "partition_index": wanted.partition_index,
        "error_code": _UNKNOWN if leader is None else refusal(node, leader, wanted) or _NONE,
        "timestamp": -1,
        "offset": -1,
        "leader_epoch": -1,
    }
    if log is None or leader is None or answer["error_code"] is not _NONE:
        return answer
    timestamp, offset = _offset(log, wanted.timestamp)
    return {**answer, "timestamp": timestamp, "offset": offset, "leader_epoch": leader.epoch}


def _offset(log: RecordLog, wanted: int) -> tuple[int, int]:
    """Return the timestamp and the offset that a request asks for; -1 for none."""
    if wanted == _LATEST:
        return -1, log.end
    if wanted in (_EARLIEST, _EARLIEST_LOCAL):
        return -1, log.start
    if wanted == _NEWEST:
        newest = max(log.batches, key=lambda batch: batch.max_timestamp, default=None)
        return (newest.max_timestamp, newest.last) if newest else (-1, -1)
    known = offset_at(log, wanted) if wanted >= 0 else None
    return (known[1], known[0]) if known else (-1, -1)


def delete_old_records(node: Node, asked: Call) -> Values:
    """Move the start of logs up; -1 means to the end."""
    topics = [
        {"name": topic.name, "partitions": list(_shortened(node, topic.name, topic.partitions))}
        for topic in asked.body.topics
    ]
    return {"topics": topics}


def _shortened(node: Node, name: str, wanted: Iterable[SimpleNamespace]) -> Iterable[Values]:
    topic = node.cluster.topics.get(name)
    for part in wanted:
        (log, leader), error, start = log_of(topic, part.partition_index), _UNKNOWN, -1
        if topic and log is not None and leader is not None:
            start = log.end if part.offset == -1 else part.offset
            within = _NONE if 0 <= start <= log.end else KafkaError.offset_out_of_range
            error = refusal(node, leader) or within
            if error is _NONE:
                delete_records(node, topic, part.partition_index, start)
            start = log.start if error is _NONE else -1
        yield {"partition_index": part.partition_index, "low_watermark": start, "error_code": error}
