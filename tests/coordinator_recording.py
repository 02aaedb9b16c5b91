"""What Apache Kafka 4.4.0's ShareCoordinatorShard answered and wrote, under requests by chance.

Each line is one step: the request and its response as bytes, one for each version from 0 on; the
records that were appended, as the bytes of ShareCoordinatorRecordSerde and as the JSON of Kafka's
generated converters. A line that names the version of Kafka begins a run with a new coordinator.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
from kio.index import load_request_schema, load_response_schema

from conformance.wire.messages import Message, decoded
from model.errors import ErrorCode
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.state_topic import SharePartitionKey, StateRecord
from model.state_topic_codec import record_from_bytes
from model.states import RecordState

RECORDING = Path(__file__).parent / "data" / "golden" / "kafka-4.4.0-share-coordinator.jsonl.gz"

KINDS: dict[str, type[StateRequest]] = {
    "initialize": InitializeState,
    "read": ReadState,
    "write": WriteState,
    "summary": ReadStateSummary,
    "delete": DeleteState,
}

_API_KEYS = {
    InitializeState: 83,
    ReadState: 84,
    WriteState: 85,
    DeleteState: 86,
    ReadStateSummary: 87,
}

Bytes = tuple[bytes, bytes | None]


@attrs.frozen
class StateResult:
    """The answer about one share-partition; which of the fields it has depends on the request."""

    topic_id: UUID
    partition: int
    status: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    state_batches: tuple[StateBatch, ...] = ()


def lines() -> Iterator[dict[str, Any]]:
    """Yield the steps."""
    with gzip.open(RECORDING, "rt") as recording:
        yield from map(json.loads, recording)


def exchange(line: dict[str, Any]) -> tuple[StateRequest, StateResult]:
    """Return the request of a step and its response, both in their newest version."""
    kind, version = KINDS[line["op"]], len(line["request"]) - 1
    request, response = (
        decoded(load(_API_KEYS[kind], version), bytes.fromhex(line[way][version]))
        for way, load in (("request", load_request_schema), ("response", load_response_schema))
    )
    (topic,), (result,) = request.topics, response.results
    (asked,), (answered,) = topic.partitions, result.partitions
    key = SharePartitionKey(request.group_id, topic.topic_id, asked.partition)
    status, message = ErrorCode(answered.error_code), answered.error_message
    return (
        kind(key=key, **_fields(kind, asked)),
        StateResult(
            result.topic_id, answered.partition, status, message, **_fields(StateResult, answered)
        ),
    )


def _fields(kind: type[Any], message: Message) -> dict[str, Any]:
    """Return the epochs, offsets, counts and batches that a message has, by attribute."""
    names = attrs.fields_dict(kind).keys() & vars(message).keys() - {"partition"}
    values = {name: getattr(message, name) for name in names}
    if "state_batches" in values:
        values["state_batches"] = tuple(
            StateBatch(
                batch.first_offset,
                batch.last_offset,
                RecordState(batch.delivery_state),
                batch.delivery_count,
            )
            for batch in values["state_batches"]
        )
    return values


def records() -> Iterator[tuple[bytes, bytes | None, dict[str, Any]]]:
    """Yield each record's key and value, and its JSON."""
    for line in lines():
        for record in line.get("records", ()):
            yield *_bytes(record), record["json"]


def record_of(written: dict[str, Any]) -> StateRecord:
    """Return the record that a step appended."""
    return record_from_bytes(*_bytes(written))


def _bytes(written: dict[str, Any]) -> Bytes:
    value = written["value"]
    return bytes.fromhex(written["key"]), None if value is None else bytes.fromhex(value)
