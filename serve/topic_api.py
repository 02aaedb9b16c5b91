"""Topics and the cluster: what there is, what is created and deleted, and offsets of logs."""

from collections.abc import Iterable
from types import SimpleNamespace

from kio.schema.errors import ErrorCode as KafkaError

from serve.asked import Asked, Values
from serve.batches import RefusedError
from serve.coordination import update_all
from serve.node import (
    LEADER_EPOCH,
    NODE_ID,
    Node,
    Topic,
    check_topic_name,
    create_topic,
    delete_records,
    delete_topic,
)
from serve.record_log import RecordLog, offset_at

_LATEST, _EARLIEST, _NEWEST, _EARLIEST_LOCAL = -1, -2, -3, -4
_EVERY_OPERATION = -2147483648
_NONE = KafkaError.none
_UNKNOWN = KafkaError.unknown_topic_or_partition
_BROKERS = 1


def metadata(node: Node, asked: Asked) -> Values:
    """Describe the broker and topics; one that does not exist is created if the client asks."""
    wanted = asked.body.topics
    if wanted is None or (asked.version == 0 and not wanted):
        topics = [_described(topic.name, topic) for topic in node.topics.values()]
    else:
        create = getattr(asked.body, "allow_auto_topic_creation", True)
        topics = [_found(node, topic, create=create) for topic in wanted]
    return {
        "throttle_time": 0,
        "brokers": [_broker(node)],
        "cluster_id": node.cluster_id,
        "controller_id": NODE_ID,
        "topics": topics,
        "cluster_authorized_operations": _EVERY_OPERATION,
        "error_code": _NONE,
    }


def _broker(node: Node) -> Values:
    host, port = node.address
    return {"node_id": NODE_ID, "host": host, "port": port, "rack": None}


def _found(node: Node, wanted: SimpleNamespace, *, create: bool) -> Values:
    topic_id = getattr(wanted, "topic_id", None)
    if topic_id is not None:
        topic = node.topic_of(topic_id)
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
    if name in node.topics:
        return node.topics[name]
    check_topic_name(name, node.options.limits)
    if not (create and node.options.auto_create):
        raise RefusedError(_UNKNOWN, "no such topic")
    topic = create_topic(node, name, node.options.partitions)
    update_all(node)
    return topic


def _described(name: str | None, topic: Topic | None, error: KafkaError = _NONE) -> Values:
    partitions = [
        {
            "error_code": _NONE,
            "partition_index": partition,
            "leader_id": NODE_ID,
            "leader_epoch": LEADER_EPOCH,
            "replica_nodes": [NODE_ID],
            "isr_nodes": [NODE_ID],
            "offline_replicas": [],
        }
        for partition in range(len(topic.logs) if topic else 0)
    ]
    return {
        "error_code": error,
        "name": name,
        "topic_id": topic.id if topic else None,
        "is_internal": False,
        "partitions": partitions,
        "topic_authorized_operations": _EVERY_OPERATION,
    }


def describe_cluster(node: Node, asked: Asked) -> Values:
    """Describe the one broker."""
    endpoint = getattr(asked.body, "endpoint_type", _BROKERS)
    known = endpoint == _BROKERS
    broker = _broker(node)
    return {
        "throttle_time": 0,
        "error_code": _NONE if known else KafkaError.mismatched_endpoint_type,
        "error_message": None if known else "a broker answers, not a controller",
        "endpoint_type": _BROKERS,
        "cluster_id": node.cluster_id,
        "controller_id": NODE_ID,
        "brokers": [{**broker, "broker_id": NODE_ID, "is_fenced": False}],
        "cluster_authorized_operations": _EVERY_OPERATION,
    }


def create_topics(node: Node, asked: Asked) -> Values:
    """Create topics of one replica; their settings are refused, as none is applied."""
    topics = [
        _created(node, topic, only_check=asked.body.validate_only) for topic in asked.body.topics
    ]
    update_all(node)
    return {"throttle_time": 0, "topics": topics}


def _created(node: Node, wanted: SimpleNamespace, *, only_check: bool) -> Values:
    count = len(wanted.assignments) or wanted.num_partitions
    count = node.options.partitions if count == -1 else count
    answer = {
        "name": wanted.name,
        "topic_id": None,
        "error_code": _NONE,
        "error_message": None,
        "topic_config_error_code": 0,
        "num_partitions": count,
        "replication_factor": 1,
        "configs": [],
    }
    try:
        _check_new(wanted)
        topic = create_topic(node, wanted.name, count)
    except RefusedError as refused:
        nothing = {"num_partitions": -1, "replication_factor": -1, "configs": []}
        return {**answer, "error_code": refused.error, "error_message": refused.why, **nothing}
    if only_check:
        delete_topic(node, topic)
        return answer
    return {**answer, "topic_id": topic.id}


def _check_new(wanted: SimpleNamespace) -> None:
    others = any(tuple(part.broker_ids) != (NODE_ID,) for part in wanted.assignments)
    if others:
        raise RefusedError(KafkaError.invalid_replica_assignment, f"the broker is {NODE_ID}")
    if not wanted.assignments and wanted.replication_factor not in (-1, 1):
        text = f"{wanted.replication_factor} replicas, and there is one broker"
        raise RefusedError(KafkaError.invalid_replication_factor, text)
    if wanted.configs:
        text = f"topics have no settings here: {wanted.configs[0].name[:100]}"
        raise RefusedError(KafkaError.invalid_config, text)


def delete_topics(node: Node, asked: Asked) -> Values:
    """Delete topics, by name or by id."""
    names = getattr(asked.body, "topic_names", None)
    wanted = (
        asked.body.topics
        if names is None
        else [SimpleNamespace(name=name, topic_id=None) for name in names]
    )
    answers = [_deleted(node, topic) for topic in wanted]
    update_all(node)
    return {"throttle_time": 0, "responses": answers}


def _deleted(node: Node, wanted: SimpleNamespace) -> Values:
    by_id = wanted.topic_id is not None
    topic = node.topic_of(wanted.topic_id) if by_id else node.topics.get(wanted.name)
    if topic is None:
        error = KafkaError.unknown_topic_id if by_id else _UNKNOWN
        named = {"name": wanted.name, "topic_id": wanted.topic_id}
        return {**named, "error_code": error, "error_message": "no such topic"}
    delete_topic(node, topic)
    return {"name": topic.name, "topic_id": topic.id, "error_code": _NONE, "error_message": None}


def list_offsets(node: Node, asked: Asked) -> Values:
    """Return offsets of logs: the first, the last, or the first of a time."""
    topics = [
        {
            "name": topic.name,
            "partitions": [_listed(node, topic.name, part) for part in topic.partitions],
        }
        for topic in asked.body.topics
    ]
    return {"throttle_time": 0, "topics": topics}


def _listed(node: Node, name: str, wanted: SimpleNamespace) -> Values:
    log = log_of(node, name, wanted.partition_index)
    answer = {
        "partition_index": wanted.partition_index,
        "error_code": _NONE if log else _UNKNOWN,
        "timestamp": -1,
        "offset": -1,
        "leader_epoch": LEADER_EPOCH if log else -1,
    }
    if log is None:
        return answer
    timestamp, offset = _offset(log, wanted.timestamp)
    return {**answer, "timestamp": timestamp, "offset": offset}


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


def log_of(node: Node, name: str, partition: int) -> RecordLog | None:
    """Return the log of a partition, or None."""
    topic = node.topics.get(name)
    if topic is None or not 0 <= partition < len(topic.logs):
        return None
    return topic.logs[partition]


def delete_old_records(node: Node, asked: Asked) -> Values:
    """Move the start of logs up; -1 means to the end."""
    topics = [
        {
            "name": topic.name,
            "partitions": list(_shortened(node, topic.name, topic.partitions)),
        }
        for topic in asked.body.topics
    ]
    return {"throttle_time": 0, "topics": topics}


def _shortened(node: Node, name: str, wanted: Iterable[SimpleNamespace]) -> Iterable[Values]:
    for part in wanted:
        log, error, start = log_of(node, name, part.partition_index), _UNKNOWN, -1
        if log is not None:
            start = log.end if part.offset == -1 else part.offset
            error = _NONE if 0 <= start <= log.end else KafkaError.offset_out_of_range
            if error is _NONE:
                delete_records(node, node.topics[name], part.partition_index, start)
            start = log.start if error is _NONE else -1
        yield {
            "partition_index": part.partition_index,
            "low_watermark": start,
            "error_code": error,
        }
