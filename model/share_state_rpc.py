"""The share coordinator's requests and responses as bytes, in versions 0 and 1.

One message carries any number of share-partitions of one group. Version 1 of Write and of
ReadSummary has the delivery complete count (KIP-1226); a reader of version 0 finds -1.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar
from uuid import UUID

import attrs

from model.errors import ErrorCode, InvalidValueError
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    StateResult,
    WriteState,
)
from model.state_topic import SharePartitionKey
from model.state_topic_codec import STATE_BATCHES, batch_values, batches_from
from model.wire import Field, Message, array, decode, encode

__all__ = [
    "newest_version",
    "request_bytes",
    "requests_from_bytes",
    "response_bytes",
    "results_from_bytes",
]

R = TypeVar("R", bound=StateRequest)

_PARTITION = Field("partition", "int32")
_STATE_EPOCH, _LEADER_EPOCH = Field("stateEpoch", "int32"), Field("leaderEpoch", "int32")
_START_OFFSET = Field("startOffset", "int64")
_COMPLETE_COUNT = Field("deliveryCompleteCount", "int32", since=1, default=-1)
_ERROR = (Field("errorCode", "int16"), Field("errorMessage", "nullable string"))


@attrs.frozen
class _Api:
    """A request and its response: what each says of a share-partition."""

    name: str
    newest: int
    asked: tuple[Field, ...] = ()
    answered: tuple[Field, ...] = ()


_APIS: dict[type, _Api] = {
    InitializeState: _Api("InitializeShareGroupState", 0, (_STATE_EPOCH, _START_OFFSET)),
    ReadState: _Api(
        "ReadShareGroupState", 0, (_LEADER_EPOCH,), (_STATE_EPOCH, _START_OFFSET, STATE_BATCHES)
    ),
    WriteState: _Api(
        "WriteShareGroupState",
        1,
        (_STATE_EPOCH, _LEADER_EPOCH, _START_OFFSET, _COMPLETE_COUNT, STATE_BATCHES),
    ),
    DeleteState: _Api("DeleteShareGroupState", 0),
    ReadStateSummary: _Api(
        "ReadShareGroupStateSummary",
        1,
        (_LEADER_EPOCH,),
        (_STATE_EPOCH, _LEADER_EPOCH, _START_OFFSET, _COMPLETE_COUNT),
    ),
}
_NAMES = {
    "stateEpoch": "state_epoch",
    "leaderEpoch": "leader_epoch",
    "startOffset": "start_offset",
    "deliveryCompleteCount": "delivery_complete_count",
    "stateBatches": "state_batches",
}


def newest_version(kind: type[StateRequest]) -> int:
    """Return the newest version of a request and its response."""
    return _APIS[kind].newest


def request_bytes(requests: Sequence[StateRequest], version: int) -> bytes:
    """Return one request for all these; they are of one kind and one group.

    Raises InvalidValueError if they are not, if there are none, or if a field does not fit.
    """
    kinds = {(type(request), request.key.group_id) for request in requests}
    if len(kinds) != 1:
        raise InvalidValueError("requests", requests, "requests of one kind and one group")
    ((kind, group),) = kinds
    parts = (
        (
            request.key.topic_id,
            {"partition": request.key.partition, **_by_name(_APIS[kind].asked, request)},
        )
        for request in requests
    )
    return encode(_request(kind), {"groupId": group, "topics": _by_topic(parts)}, version)


def requests_from_bytes(kind: type[R], data: bytes, version: int) -> tuple[R, ...]:
    """Return the requests of a message, in its order; InvalidValueError if it is not one."""
    values = decode(_request(kind), data, version)
    return tuple(
        kind(
            key=SharePartitionKey(values["groupId"], topic, one["partition"]),
            **_by_attribute(_APIS[kind].asked, one),
        )
        for topic, one in _partitions(values["topics"])
    )


def response_bytes(kind: type[StateRequest], results: Iterable[StateResult], version: int) -> bytes:
    """Return the response to requests of a kind."""
    parts = (
        (
            result.topic_id,
            {
                "partition": result.partition,
                "errorCode": result.status.value,
                "errorMessage": result.message,
                **_by_name(_APIS[kind].answered, result),
            },
        )
        for result in results
    )
    return encode(_response(kind), {"results": _by_topic(parts)}, version)


def results_from_bytes(
    kind: type[StateRequest], data: bytes, version: int
) -> tuple[StateResult, ...]:
    """Return the results of a response, in its order; InvalidValueError if it is not one."""
    values = decode(_response(kind), data, version)
    return tuple(
        StateResult(
            topic,
            one["partition"],
            _error(one["errorCode"]),
            one["errorMessage"],
            **_by_attribute(_APIS[kind].answered, one),
        )
        for topic, one in _partitions(values["results"])
    )


def _request(kind: type) -> Message:
    api = _APIS[kind]
    part = array("partitions", _PARTITION, *api.asked)
    topics = array("topics", Field("topicId", "uuid"), part)
    return Message(f"{api.name}Request", (Field("groupId", "string"), topics), api.newest)


def _response(kind: type) -> Message:
    api = _APIS[kind]
    part = array("partitions", _PARTITION, *_ERROR, *api.answered)
    results = array("results", Field("topicId", "uuid"), part)
    return Message(f"{api.name}Response", (results,), api.newest)


def _by_name(fields: tuple[Field, ...], value: object) -> dict[str, Any]:
    found = {field.name: getattr(value, _NAMES[field.name]) for field in fields}
    if "stateBatches" in found:
        found["stateBatches"] = batch_values(found["stateBatches"])
    return found


def _by_attribute(fields: tuple[Field, ...], values: dict[str, Any]) -> dict[str, Any]:
    found = {_NAMES[field.name]: values[field.name] for field in fields}
    if "state_batches" in found:
        found["state_batches"] = batches_from(found["state_batches"])
    return found


def _by_topic(parts: Iterable[tuple[UUID, dict[str, Any]]]) -> list[dict[str, Any]]:
    topics: dict[UUID, list[dict[str, Any]]] = {}
    for topic, part in parts:
        topics.setdefault(topic, []).append(part)
    return [{"topicId": topic, "partitions": part} for topic, part in topics.items()]


def _partitions(topics: list[dict[str, Any]]) -> Iterator[tuple[UUID, dict[str, Any]]]:
    for topic in topics:
        for part in topic["partitions"]:
            yield topic["topicId"], part


def _error(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        allowed = ", ".join(str(known.value) for known in ErrorCode if type(known.value) is int)
        raise InvalidValueError("errorCode", code, allowed) from None
