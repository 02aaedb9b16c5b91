"""What a response shows by itself, whatever state its broker is in: contents, waiting, a name."""

from collections.abc import Iterator

from conformance.wire.explain import AnswerMismatch, WireDifference
from conformance.wire.target import Described, Exchange
from model.errors import ErrorCode
from model.share_messages import PartitionResponse, ShareFetch, TopicPartition

MOST_HASTY = 6
"""How many fetches in a row may get nothing at once: each may have met a change of what waits."""


def ill_described(place: TopicPartition, said: Described) -> Iterator[AnswerMismatch]:
    """Yield why no broker that leads the partition describes its share-partition like this."""
    if said.error is not ErrorCode.NONE:
        kind, texts = WireDifference.DESCRIBED, (said.error.name, "a start offset")
        yield AnswerMismatch(kind.name, kind.value, "describe", *texts, place)
    elif said.leader_epoch > said.led >= 0:
        kind, texts = WireDifference.LEADER_EPOCH, (str(said.leader_epoch), str(said.led))
        yield AnswerMismatch(kind.name, kind.value, "describe", *texts, place)


def altered(
    answer: PartitionResponse, written: set[int], exchange: Exchange
) -> Iterator[AnswerMismatch]:
    """Yield each acquired record, of those ``written``, that has other contents."""
    kind, place = WireDifference.SENT_AS_WRITTEN, answer.topic_partition
    for offset in dict(exchange.altered).get(place, ()):
        if offset in written:
            texts = f"another record {offset}", f"record {offset} as it was produced"
            yield AnswerMismatch(kind.name, kind.value, "fetch", *texts, place)


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
