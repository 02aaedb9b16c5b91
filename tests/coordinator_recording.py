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

from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.state_topic import StateRecord
from model.state_topic_codec import record_from_bytes

__all__ = ["KINDS", "Bytes", "lines", "messages", "record_of", "records"]

RECORDING = Path(__file__).parent / "data" / "golden" / "kafka-4.4.0-share-coordinator.jsonl.gz"

KINDS: dict[str, type[StateRequest]] = {
    "initialize": InitializeState,
    "read": ReadState,
    "write": WriteState,
    "summary": ReadStateSummary,
    "delete": DeleteState,
}

Bytes = tuple[bytes, bytes | None]


def lines() -> Iterator[dict[str, Any]]:
    """Yield the steps."""
    with gzip.open(RECORDING, "rt") as recording:
        yield from map(json.loads, recording)


def messages() -> Iterator[tuple[type[StateRequest], int, bytes, bytes]]:
    """Yield each request's kind, its version, its bytes, and those of the response."""
    for line in lines():
        pairs = zip(line.get("request", ()), line.get("response", ()), strict=True)
        for version, (request, response) in enumerate(pairs):
            kind = KINDS[line["op"]]
            yield kind, version, bytes.fromhex(request), bytes.fromhex(response)


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
