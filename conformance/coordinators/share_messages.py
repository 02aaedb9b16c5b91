"""Requests, answers and records of the state topic, in Kafka's own JSON."""

from collections.abc import Mapping
from typing import Any

import attrs

from model.errors import ErrorCode, InvalidValueError
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.state_topic import StateRecord
from model.state_topic_codec import batch_values, record_from_json
from model.states import RecordState
from model.wire import uuid_text
from spec.coordinator import Entry

APIS: dict[type[StateRequest], str] = {
    InitializeState: "InitializeShareGroupState",
    ReadState: "ReadShareGroupState",
    WriteState: "WriteShareGroupState",
    ReadStateSummary: "ReadShareGroupStateSummary",
    DeleteState: "DeleteShareGroupState",
}
"""The name of each request in the Kafka protocol."""


@attrs.frozen
class StateAnswer:
    """An answer about one share-partition: the error code, numbers by name, states by offset."""

    status: ErrorCode
    numbers: Mapping[str, int]
    entries: Mapping[int, Entry]


def body_of(request: StateRequest) -> dict[str, Any]:
    """Return a request as Kafka's JSON has it."""
    key = request.key
    fields = attrs.asdict(request, recurse=False, filter=lambda field, _value: field.name != "key")
    plain = {
        camel(name): batch_values(value) if name == "state_batches" else value
        for name, value in fields.items()
    }
    partitions = [{"partition": key.partition, **plain}]
    topic = {"topicId": uuid_text(key.topic_id), "partitions": partitions}
    return {"groupId": key.group_id, "topics": [topic]}


def answer_of(response: Any) -> StateAnswer:  # noqa: ANN401 - JSON
    """Return the answer in a response. Raises InvalidValueError that names what cannot be."""
    try:
        (result,) = response["results"]
        (part,) = result["partitions"]
        status = ErrorCode(part["errorCode"])
        batches = [_batch(batch) for batch in part.get("stateBatches", ())]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InvalidValueError):
            raise
        allowed = "one result for one partition, with a known error code and known states"
        raise InvalidValueError("response", response, allowed) from None
    numbers = {
        name: value for name, value in part.items() if type(value) is int and name != "errorCode"
    }
    entries = {
        offset: (batch.state, batch.delivery_count)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
    }
    return StateAnswer(status, numbers, entries)


def records_of(reply: Mapping[str, Any], *, stamped: bool) -> list[StateRecord]:
    """Return the records that a reply says were appended.

    Not ``stamped``: its release writes no times, and they are 0. Raises InvalidValueError.
    """
    records = reply.get("records", [])
    if not isinstance(records, list) or not all(isinstance(each, dict) for each in records):
        raise InvalidValueError("records", records, "a list of objects")
    return [_record(each, stamped=stamped) for each in records]


def _record(plain: Mapping[str, Any], *, stamped: bool) -> StateRecord:
    value = plain.get("value")
    if not stamped and isinstance(value, dict) and isinstance(value.get("data"), dict):
        value["data"] |= {"createTimestamp": 0, "writeTimestamp": 0}
    return record_from_json(plain.get("key"), value)


def _batch(plain: Mapping[str, Any]) -> StateBatch:
    names = ("firstOffset", "lastOffset", "deliveryState", "deliveryCount")
    first, last, state, count = (plain[name] for name in names)
    return StateBatch(first, last, RecordState(state), count)


def camel(name: str) -> str:
    """Return the name of a field as Kafka's JSON has it."""
    first, *others = name.split("_")
    return "".join((first, *(part.capitalize() for part in others)))
