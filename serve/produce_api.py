"""Producing: InitProducerId and Produce."""

from types import SimpleNamespace

from kio.schema.errors import ErrorCode as KafkaError

from serve.asked import Asked, Values
from serve.batches import RefusedError, produced_batch
from serve.node import Node, Topic, produce

_NONE = KafkaError.none
_LEADER = {"leader_id": -1, "leader_epoch": -1}
_ACKS = (-1, 0, 1)


def init_producer_id(node: Node, asked: Asked) -> Values:
    """Give a producer an id, or its id with the next epoch; none for transactions."""
    refused = {"throttle_time": 0, "producer_id": -1, "producer_epoch": -1}
    if asked.body.transactional_id is not None:
        return {**refused, "error_code": KafkaError.invalid_request}
    return {
        "throttle_time": 0,
        "error_code": _NONE,
        "producer_id": next(node.producers),
        "producer_epoch": 0,
    }


def produce_records(node: Node, asked: Asked) -> Values | None:
    """Append batches; None where the producer wants no answer."""
    responses = []
    for wanted in asked.body.topic_data:
        by_id = not hasattr(wanted, "name")
        topic = node.topic_of(wanted.topic_id) if by_id else node.topics.get(wanted.name)
        named = {"topic_id": wanted.topic_id} if by_id else {"name": wanted.name}
        unknown = KafkaError.unknown_topic_id if by_id else KafkaError.unknown_topic_or_partition
        parts = [_appended(node, asked, topic, part, unknown) for part in wanted.partition_data]
        responses.append({**named, "partition_responses": parts})
    if not asked.body.acks:
        return None
    return {"throttle_time": 0, "responses": responses, "node_endpoints": []}


def _appended(
    node: Node, asked: Asked, topic: Topic | None, part: SimpleNamespace, unknown: KafkaError
) -> Values:
    first, start, error, why = -1, -1, _NONE, None
    try:
        known = _checked(asked, topic, part, unknown)
        batch = produced_batch(part.records or b"", node.options.limits)
        first = produce(node, known, part.index, batch)
        start = known.logs[part.index].start
    except RefusedError as refused:
        error, why = refused.error, refused.why
    return {
        "index": part.index,
        "error_code": error,
        "base_offset": first,
        "log_append_time": None,
        "log_start_offset": start,
        "record_errors": [],
        "error_message": why,
        "current_leader": _LEADER,
    }


def _checked(
    asked: Asked, topic: Topic | None, part: SimpleNamespace, unknown: KafkaError
) -> Topic:
    """Return the topic if records can go to its partition. Raises RefusedError."""
    if asked.body.acks not in _ACKS:
        raise RefusedError(KafkaError.invalid_required_acks, f"acks {asked.body.acks}")
    if topic is None:
        raise RefusedError(unknown, "no such topic")
    if not 0 <= part.index < len(topic.logs):
        raise RefusedError(KafkaError.unknown_topic_or_partition, "no such partition")
    return topic
