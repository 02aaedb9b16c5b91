"""Producing: InitProducerId and Produce."""

from types import SimpleNamespace

from kio.schema.errors import ErrorCode as KafkaError

from serve.asked import Call, Values
from serve.batches import RefusedError, produced_batch
from serve.leaders import current_leader, endpoints, refusal, topic_asked
from serve.node import Node, Topic
from serve.topics import produce

_NONE = KafkaError.none
_MOVED = KafkaError.not_leader_or_follower
_ACKS = (-1, 0, 1)


def init_producer_id(node: Node, asked: Call) -> Values:
    """Give a producer an id, or its id with the next epoch; none for transactions."""
    refused = {"producer_id": -1, "producer_epoch": -1}
    if asked.body.transactional_id is not None:
        return {**refused, "error_code": KafkaError.invalid_request}
    return {"producer_id": next(node.cluster.producers)}


def produce_records(node: Node, asked: Call) -> Values | None:
    """Append batches; None where the producer wants no answer."""
    responses: list[Values] = []
    for wanted in asked.body.topic_data:
        topic, named, unknown = topic_asked(node, wanted)
        parts = [_appended(node, asked, topic, part, unknown) for part in wanted.partition_data]
        responses.append({**named, "partition_responses": parts})
    if not asked.body.acks:
        return None
    parts = [part for topic in responses for part in topic["partition_responses"]]
    return {
        "responses": responses,
        "node_endpoints": endpoints(node, [part["current_leader"] for part in parts]),
    }


def _appended(
    node: Node, asked: Call, topic: Topic | None, part: SimpleNamespace, unknown: KafkaError
) -> Values:
    first, start, error, why, leader = -1, -1, _NONE, None, None
    try:
        known = _checked(node, asked, topic, part, unknown)
        batch = produced_batch(part.records or b"", node.cluster.options.limits)
        first = produce(node.cluster, known, part.index, batch)
        start = known.logs[part.index].start
    except RefusedError as refused:
        error, why = refused.error, refused.why
        leader = topic.leaders[part.index] if topic and error is _MOVED else None
    return {
        "index": part.index,
        "error_code": error,
        "base_offset": first,
        "log_append_time": None,
        "log_start_offset": start,
        "error_message": why,
        "current_leader": current_leader(node, leader),
    }


def _checked(
    node: Node, asked: Call, topic: Topic | None, part: SimpleNamespace, unknown: KafkaError
) -> Topic:
    """Return the topic if records can go to its partition. Raises RefusedError."""
    if asked.body.acks not in _ACKS:
        raise RefusedError(KafkaError.invalid_required_acks, f"acks {asked.body.acks}")
    if topic is None:
        raise RefusedError(unknown, "no such topic")
    if not 0 <= part.index < len(topic.logs):
        raise RefusedError(KafkaError.unknown_topic_or_partition, "no such partition")
    wrong = refusal(node, topic.leaders[part.index])
    if wrong is not None:
        raise RefusedError(wrong, "another broker leads it")
    return topic
