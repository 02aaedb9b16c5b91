"""Encode requests of share sessions, and decode responses to values of the specification."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, groupby
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

from kio.schema.errors import ErrorCode as KafkaError

from conformance.target import TargetError
from conformance.wire.connection import Replied
from conformance.wire.messages import MalformedError, Message, request
from conformance.wire.records import LogBatch, read_batches
from conformance.wire.target import Exchange
from model.errors import ErrorCode, InvalidValueError
from model.operations import AcknowledgementBatch
from model.ranges import AcquiredRange
from model.share_messages import (
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.states import AcquireMode

_T = TypeVar("_T")
_NO_ID = UUID(int=0)
_NO_ERROR = ErrorCode.NONE, ErrorCode.NONE
_NOBODY = -1


def topic_uuid(text: str) -> UUID:
    """Return the UUID of a topic id of 36 characters. Raises InvalidValueError."""
    try:
        return UUID(text)
    except ValueError:
        raise InvalidValueError("topic_id", text, "a UUID of 36 characters") from None


def error_name(code: int) -> str:
    """Return Kafka's name of an error, or its number if Kafka does not define it."""
    try:
        return KafkaError(code).name.upper()
    except ValueError:
        return f"error {code}"


def model_error(code: int) -> ErrorCode:
    """Return an error as the model has it; UNKNOWN_SERVER_ERROR if it has it not."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def may_pass(code: int) -> bool:
    """Whether Kafka marks an error as retriable."""
    try:
        return KafkaError(code).retriable
    except ValueError:
        return False


def message(asked: ShareRequest) -> Message:
    """Return a request as a message of its version; RENEW and record_limit need version 2."""
    head: dict[str, Any] = {
        "group_id": asked.group_id,
        "member_id": asked.member_id,
        "share_session_epoch": asked.session_epoch,
        "topics": _topics(asked.partitions),
    }
    if asked.version > 1:
        head["is_renew_ack"] = asked.is_renew_ack
    if not isinstance(asked, ShareFetch):
        return request("share_acknowledge", asked.version, **head)
    if asked.version > 1:
        head["share_acquire_mode"] = int(asked.acquire_mode is AcquireMode.RECORD_LIMIT)
    return request(
        "share_fetch",
        asked.version,
        **head,
        max_wait=asked.max_wait_ms,
        min_bytes=asked.min_bytes,
        max_bytes=asked.max_bytes,
        max_records=asked.max_records,
        batch_size=asked.batch_size,
        forgotten_topics_data=[
            {"topic_id": topic_uuid(topic), "partitions": [place.partition for place in places]}
            for topic, places in groupby(asked.forgotten, lambda place: place.topic_id)
        ],
    )


def _topics(partitions: Iterable[PartitionRequest]) -> list[dict[str, Any]]:
    """Group adjacent partitions by topic; a topic can therefore appear more than once."""
    return [
        {
            "topic_id": topic_uuid(topic),
            "partitions": [
                {
                    "partition_index": part.topic_partition.partition,
                    "acknowledgement_batches": [_batch(batch) for batch in part.batches],
                }
                for part in parts
            ],
        }
        for topic, parts in groupby(partitions, lambda part: part.topic_partition.topic_id)
    ]


def _batch(batch: AcknowledgementBatch) -> dict[str, Any]:
    return {
        "first_offset": batch.first,
        "last_offset": batch.last,
        "acknowledge_types": batch.types,
    }


def exchange(asked: ShareRequest, answer: Replied) -> Exchange:
    """Return a response as values of the specification. Raises TargetError if it is impossible."""
    body = answer.body
    fetch = isinstance(asked, ShareFetch)
    unknown: list[str] = []
    try:
        parts = [
            (_partition(topic, each, fetch, unknown), each)
            for topic in body.responses
            for each in topic.partitions
        ]
        batches = [
            (part.topic_partition, read_batches(each.records or b"", each.partition_index))
            for part, each in parts
            if fetch
        ]
        error = _error(body.error_code, unknown)
    except (InvalidValueError, MalformedError) as impossible:
        kind = type(asked).__name__
        raise TargetError(f"its answer to {kind} is impossible: {impossible}") from None
    return Exchange(
        ShareResponse(error, tuple(part for part, _ in parts)),
        answer.sent_ms,
        answer.received_ms,
        _of_each(batches, lambda batch: batch.ranges),
        getattr(body, "acquisition_lock_timeout", None),
        tuple(unknown),
        _of_each(batches, lambda batch: batch.altered),
        tuple(
            (part.topic_partition, each.current_leader.leader_id)
            for part, each in parts
            if (part.error, part.acknowledge_error) != _NO_ERROR
            and each.current_leader.leader_id != _NOBODY
        ),
        getattr(body, "throttle_time", 0),
    )


def _partition(
    topic: SimpleNamespace,
    each: SimpleNamespace,
    fetch: bool,  # noqa: FBT001 - the two kinds of response
    unknown: list[str],
) -> PartitionResponse:
    place = TopicPartition(str(topic.topic_id or _NO_ID), each.partition_index)
    error = _error(each.error_code, unknown)
    if not fetch:
        return PartitionResponse(place, acknowledge_error=error)
    acquired = tuple(
        AcquiredRange(part.first_offset, part.last_offset, part.delivery_count)
        for part in each.acquired_records
    )
    return PartitionResponse(place, error, _error(each.acknowledge_error_code, unknown), acquired)


def _error(code: int, unknown: list[str]) -> ErrorCode:
    error = model_error(code)
    if error.value != code:
        unknown.append(error_name(code))
    return error


def _of_each(
    batches: Iterable[tuple[TopicPartition, Sequence[LogBatch]]],
    told: Callable[[LogBatch], tuple[_T, ...]],
) -> tuple[tuple[TopicPartition, tuple[_T, ...]], ...]:
    """Return what is told of the log batches of each partition where that is anything."""
    found = ((place, tuple(chain(*map(told, read)))) for place, read in batches)
    return tuple((place, some) for place, some in found if some)
