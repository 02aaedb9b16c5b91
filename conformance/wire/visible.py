"""What a response shows by itself, whatever state its broker is in: contents, waiting, a name."""

import base64
from collections.abc import Collection, Iterator
from uuid import UUID

from conformance.wire.asks import Key
from conformance.wire.explain import AnswerMismatch, WireDifference
from conformance.wire.target import Described, Exchange, NamedNode
from model.errors import ErrorCode
from model.share_messages import PartitionResponse, ShareFetch, TopicPartition

MOST_HASTY = 6
"""How many fetches in a row may get nothing at once: each may have met a change of what waits."""


def ill_described(place: TopicPartition, said: Described) -> Iterator[AnswerMismatch]:
    """Yield why no broker that leads the partition describes its share-partition like this."""
    if said.error is not ErrorCode.NONE:
        kind, texts = WireDifference.DESCRIBED, (said.error.name, "a start offset")
        yield AnswerMismatch(kind, "describe", *texts, place)
    elif said.leader_epoch > said.led >= 0:
        kind, texts = WireDifference.LEADER_EPOCH, (str(said.leader_epoch), str(said.led))
        yield AnswerMismatch(kind, "describe", *texts, place)


def altered(
    answer: PartitionResponse, written: set[int], exchange: Exchange
) -> Iterator[AnswerMismatch]:
    """Yield each acquired record, of those ``written``, that has other contents."""
    kind, place = WireDifference.SENT_AS_WRITTEN, answer.topic_partition
    for offset in dict(exchange.altered).get(place, ()):
        if offset in written:
            texts = f"another record {offset}", f"record {offset} as it was produced"
            yield AnswerMismatch(kind, "fetch", *texts, place)


def misled(
    exchange: Exchange, about: str, exist: Collection[TopicPartition], nodes: Collection[int]
) -> Iterator[AnswerMismatch]:
    """Yield where an error names a leader that cannot be: of what does not exist, or no broker."""
    kind, moved = WireDifference.CURRENT_LEADER, {ErrorCode.NOT_LEADER_OR_FOLLOWER}
    errors = {
        part.topic_partition: {part.error, part.acknowledge_error}
        for part in exchange.response.partitions
    }
    for place, node in exchange.leaders:
        texts = f"node {node} as the leader of {_named(place, exist)}", "-1: no leader is known"
        if place not in exist or (nodes and node not in nodes and errors[place] & moved):
            yield AnswerMismatch(kind, about, *texts, None)


def _named(place: TopicPartition, exist: Collection[TopicPartition]) -> str:
    topics = {known.topic_id for known in exist}
    where = f"partition {place.partition}"
    return where if place.topic_id in topics else f"{where} of a topic that does not exist"


def is_empty(request: ShareFetch, exchange: Exchange) -> bool:
    """Return whether a fetch that may wait for records got none, and no error."""
    response = exchange.response
    errors = (response.error, *(part.error for part in response.partitions))
    return (
        request.max_wait_ms > 0 < request.max_records
        and all(error is ErrorCode.NONE for error in errors)
        and not any(part.acquired for part in response.partitions)
    )


def hasty(request: ShareFetch, exchange: Exchange, number: int) -> int:
    """Return how many empty responses in a row came at once, after ``number`` of them."""
    return number + 1 if exchange.received_ms - exchange.sent_ms < request.max_wait_ms / 2 else 0


def share_key(group: str, place: TopicPartition, key: Key) -> str:
    """Return the key of a share coordinator, or one that lacks something of it."""
    topic = base64.urlsafe_b64encode(UUID(place.topic_id).bytes).decode().rstrip("=")
    match key:
        case Key.NO_PARTITION:
            return f"{group}:{topic}"
        case Key.NO_NUMBER:
            return f"{group}:{topic}:x"
        case Key.NO_TOPIC:
            return f"{group}:none:{place.partition}"
        case Key.NO_GROUP:
            return f":{topic}:{place.partition}"
    return f"{group}:{topic}:{place.partition}"


def ill_coordinated(key: Key, found: NamedNode, nodes: Collection[int]) -> Iterator[AnswerMismatch]:
    """Yield why this is no answer about the share coordinator of a key."""
    kind, refused = WireDifference.COORDINATOR, ErrorCode.INVALID_REQUEST
    told = found.error.name if found.error is not ErrorCode.NONE else f"node {found.node}"
    if key and found.error is not refused:
        yield AnswerMismatch(kind, f"a key with {key}", told, refused.name)
    elif not key and (found.error is not ErrorCode.NONE or (nodes and found.node not in nodes)):
        wanted = f"node {' or '.join(map(str, sorted(nodes)))}" if nodes else "a node"
        yield AnswerMismatch(kind, "a whole key", told, wanted)
