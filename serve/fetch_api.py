"""Fetch: reading a log from an offset, without a group; librdkafka needs to see that it is there.

No fetch session is opened, which a broker may refuse to do (KIP-227): every request names all.
"""

from types import SimpleNamespace

from kio.schema.errors import ErrorCode as KafkaError

from serve.asked import Call, Values
from serve.leaders import current_leader, endpoints, refusal, topic_asked
from serve.node import Node, Topic, log_of
from serve.record_log import batches_from
from serve.waiting import wait_until

_NONE = KafkaError.none
_MOVED = (KafkaError.not_leader_or_follower, KafkaError.fenced_leader_epoch)


async def fetch(node: Node, asked: Call) -> Values:
    """Return batches from offsets on, once there are enough or the time is over."""
    body = asked.body
    if getattr(body, "session_id", 0):
        error = KafkaError.fetch_session_id_not_found
        return {"error_code": error}

    def enough() -> bool:
        parts = [part for topic in _responses(node, body) for part in topic["partitions"]]
        size = sum(len(part["records"]) for part in parts)
        failed = any(part["error_code"] is not _NONE for part in parts)
        return failed or not parts or size >= body.min_bytes

    await wait_until(enough, body.max_wait, node, asked)
    responses = _responses(node, body)
    parts = [part for topic in responses for part in topic["partitions"]]
    moved = [part["current_leader"] for part in parts if part["error_code"] in _MOVED]
    return {"responses": responses, "node_endpoints": endpoints(node, moved)}


def _responses(node: Node, body: SimpleNamespace) -> list[Values]:
    room, responses = min(body.max_bytes, node.cluster.options.limits.response_bytes), []
    for wanted in body.topics:
        topic, named, unknown = topic_asked(node, wanted, "topic")
        parts = []
        for part in wanted.partitions:
            parts.append(_read(node, topic, part, unknown, room))
            room -= len(parts[-1]["records"])
        responses.append({**named, "partitions": parts})
    return responses


def _read(
    node: Node, topic: Topic | None, part: SimpleNamespace, unknown: KafkaError, room: int
) -> Values:
    """Read one partition; the first batch comes whole, unless the response is full."""
    answer: Values = {
        "partition_index": part.partition,
        "error_code": unknown,
        "high_watermark": -1,
        "last_stable_offset": -1,
        "log_start_offset": -1,
        "aborted_transactions": None,
        "current_leader": current_leader(node, None),
        "records": b"",
    }
    log, leader = log_of(topic, part.partition)
    if log is None or leader is None:
        return answer
    wrong = refusal(node, leader, part)
    if wrong is not None:
        return {**answer, "error_code": wrong, "current_leader": current_leader(node, leader)}
    answer |= {
        "error_code": _NONE,
        "high_watermark": log.end,
        "last_stable_offset": log.end,
        "log_start_offset": log.start,
    }
    if not log.start <= part.fetch_offset <= log.end:
        return {**answer, "error_code": KafkaError.offset_out_of_range}
    data: list[bytes] = []
    size, most = 0, min(room, part.partition_max_bytes)
    for batch in batches_from(log, part.fetch_offset) if room > 0 else ():
        if data and size + len(batch.data) > most:
            break
        data.append(batch.data)
        size += len(batch.data)
    return {**answer, "records": b"".join(data)}
