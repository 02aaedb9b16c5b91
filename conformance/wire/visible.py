"""What a response shows by itself, whatever state its broker is in: contents, waiting, a name."""

import base64
from collections.abc import Collection, Iterator
from itertools import pairwise, product
from uuid import UUID

from conformance.wire.asks import Key
from conformance.wire.explain import AnswerMismatch, WireDifference
from conformance.wire.target import Described, Exchange, NamedNode
from conformance.wire.words import acquired_text
from conformance.wire.written import WrittenLog
from judge.words import ranges_text
from model.errors import ErrorCode
from model.ranges import OffsetRange, offsets
from model.share_messages import PartitionResponse, ShareFetch, TopicPartition

NODE_0 = "node 0 for what does not exist"
NODE_0_BESIDE = "node 0 beside an acknowledgement that is refused so, and a fetch that is not"
NAMES_A_NODE = "it names a node"
BELOW_LOG, BELOW_IN_BATCH = "deleted records", "deleted records of a log batch that is still there"
REFUSED_APART = "a refusal has an entry of its own"

MOST_HASTY = 6
"""How many fetches in a row may get nothing at once: each may have met a change of what waits."""


def twice(exchange: Exchange) -> Iterator[AnswerMismatch]:
    """Yield where a response has a share-partition or a log batch twice."""
    named = [part.topic_partition for part in exchange.response.partitions]
    if doubled := next((place for place in named if named.count(place) > 1), None):
        kind = WireDifference.ANSWERED_ONCE
        texts = f"partition {doubled.partition} {named.count(doubled)} times", "once"
        parts = [p for p in exchange.response.partitions if p.topic_partition == doubled]
        refusals = [p for p in parts if p.acknowledge_error is not ErrorCode.NONE]
        apart = len(refusals) == 1 and not refusals[0].acquired
        odd = REFUSED_APART if apart and refusals[0].error is ErrorCode.NONE else ""
        yield AnswerMismatch(kind, "fetch", *texts, doubled, odd)
    for place, read in exchange.read:
        if any(after.first <= before.last for before, after in pairwise(read)):
            kind = WireDifference.SENT_ONCE
            texts = f"records {ranges_text(read)}", "each batch once, ascending"
            yield AnswerMismatch(kind, "fetch", *texts, place)


def ill_acquired(
    answer: PartitionResponse, log: WrittenLog, read: tuple[OffsetRange, ...], *, committed: bool
) -> Iterator[AnswerMismatch]:
    """Yield why no broker acquires this, of a log of which the response has what was ``read``.

    ``committed``: only what is committed may be acquired.
    """
    acquired, place = acquired_text(answer.acquired), answer.topic_partition
    if any(part.first < log.start or part.last >= log.end for part in answer.acquired):
        kind = WireDifference.ONLY_LOGGED_IS_ACQUIRED
        allowed = f"offsets of the log, {log.start} to {log.end - 1}"
        yield AnswerMismatch(kind, "fetch", acquired, allowed, place, _deleted(answer, log))
    if committed and not set(offsets(log.aborted)).isdisjoint(offsets(answer.acquired)):
        kind = WireDifference.COMMITTED_IS_DELIVERED
        allowed = f"nothing of {ranges_text(log.aborted)}"
        yield AnswerMismatch(kind, "fetch", acquired, allowed, place)
    if committed and any(part.last >= log.stable for part in answer.acquired):
        kind = WireDifference.STABLE_IS_DELIVERED
        allowed = f"offsets below the last stable offset, which is {log.stable}"
        yield AnswerMismatch(kind, "fetch", acquired, allowed, place)
    for offset in data(answer, log):
        if not any(batch.first <= offset <= batch.last for batch in read):
            kind = WireDifference.ACQUIRED_IS_SENT
            texts = f"records {ranges_text(read)}", f"record {offset} among them"
            yield AnswerMismatch(kind, "fetch", *texts, place)


def _deleted(answer: PartitionResponse, log: WrittenLog) -> str:
    outside = [o for o in offsets(answer.acquired) if not log.start <= o < log.end]
    if outside[-1] >= log.end:
        return ""
    batch = next((b for b in log.batches if b.first < log.start <= b.last), None)
    return BELOW_IN_BATCH if batch and outside[0] >= batch.first else BELOW_LOG


def data(answer: PartitionResponse, log: WrittenLog) -> Iterator[int]:
    """Yield the acquired offsets that have a record."""
    for acquired, batch in product(answer.acquired, log.batches):
        first, last = max(batch.first, acquired.first), min(batch.last, acquired.last)
        yield from range(first, last + 1)


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
    fetched = {p.topic_partition for p in exchange.response.partitions if p.error is ErrorCode.NONE}
    for place, node in exchange.leaders:
        texts = f"node {node} as the leader of {_named(place, exist)}", "-1: no leader is known"
        if place not in exist or (nodes and node not in nodes and errors[place] & moved):
            beside = NODE_0_BESIDE if about == "fetch" and place in fetched else ""
            odd = "" if node else beside if place in exist else NODE_0
            yield AnswerMismatch(kind, about, *texts, None, odd)


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
        odd = NAMES_A_NODE if found.error is ErrorCode.NONE else ""
        yield AnswerMismatch(kind, f"a key with {key}", told, refused.name, odd=odd)
    elif not key and (found.error is not ErrorCode.NONE or (nodes and found.node not in nodes)):
        wanted = f"node {' or '.join(map(str, sorted(nodes)))}" if nodes else "a node"
        yield AnswerMismatch(kind, "a whole key", told, wanted)
