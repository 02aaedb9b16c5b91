"""A broker in memory that speaks as much of Kafka's protocol as the kit's administration needs."""

import dataclasses
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, get_args
from uuid import UUID

from kio.index import load_payload_module, load_response_schema
from kio.records.readers import read_batch
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from conformance.wire.admin import SPOKEN
from conformance.wire.messages import Message, built
from tests.conformance.wire.serving import framed, serving

TOPIC_ID = UUID(int=99)
Handler = Callable[[Message], Message]
_OTHERS = {16: "list_groups", 17: "sasl_handshake", 36: "sasl_authenticate", 60: "describe_cluster"}
_NAMES = _OTHERS | {api.key: name for name, api in SPOKEN.items()}


def fitting(kind: Message, values: Message) -> Message:
    """Return values with the fields that this version has; None where none is given."""
    found = {}
    for field in dataclasses.fields(kind):
        if field.name in values:
            value = values[field.name]
            inner = [part for part in _parts(field.type) if dataclasses.is_dataclass(part)]
            if inner and value is not None:
                many = isinstance(value, list)
                fitted = [fitting(inner[0], one) for one in (value if many else [value])]
                value = fitted if many else fitted[0]
            found[field.name] = value
        elif type(None) in get_args(field.type):
            found[field.name] = None
    return found


def _parts(kind: Message) -> list[Message]:
    return [kind, *(part for arg in get_args(kind) for part in _parts(arg))]


class Fake:
    """``said`` are the answers, by API: a test replaces what should be otherwise.

    ``asked`` are the names of the requests that came, ``came`` the requests. A log grows as
    records and markers come.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.came: list[Message] = []
        self.brokers: list[dict[str, Any]] = [{"node_id": 1, "host": "127.0.0.1", "port": 0}]
        self.versions = {api.key: (api.lowest, api.highest) for api in SPOKEN.values()}
        self.end, self.markers = 0, 1
        self.producers = count(7)
        self.said: dict[str, Handler] = {
            name: getattr(self, name) for name in _NAMES.values() if hasattr(self, name)
        }

    def of(self, name: str) -> list[Message]:
        """Return the requests of an API that came."""
        return [one for one, asked in zip(self.came, self.asked, strict=True) if asked == name]

    def answer(self, frame: bytes) -> bytes:
        key, version = (int.from_bytes(frame[at : at + 2], "big") for at in (0, 2))
        name = _NAMES[key]
        self.asked.append(name)
        module = load_payload_module(key, version, EntityType.request)
        kind = getattr(module, "".join(map(str.capitalize, name.split("_"))) + "Request")
        _, size = entity_reader(kind.__header_schema__)(frame, 0)
        request, _ = entity_reader(kind)(frame, size)
        self.came.append(request)
        response: Message = load_response_schema(key, version)
        buffer = io.BytesIO(frame[4:8])
        buffer.seek(4)
        if response.__header_schema__.__flexible__:
            buffer.write(b"\0")
        values = {"throttle_time": 0} if name != "api_versions" else {}
        said = fitting(response, values | self.said[name](request))
        entity_writer(response)(buffer, built(response, said))
        return framed(buffer.getvalue())

    def api_versions(self, _request: Message) -> Message:
        keys = [
            {"api_key": key, "min_version": low, "max_version": high}
            for key, (low, high) in self.versions.items()
        ]
        return {"error_code": 0, "api_keys": keys}

    def metadata(self, request: Message) -> Message:
        topics = [self.topic(topic.name) for topic in request.topics]
        return {"brokers": self.brokers, "controller_id": 1, "topics": topics, "error_code": 0}

    def topic(self, name: str, error: int = 0, leader: int = 1) -> Message:
        partition = {
            "error_code": 0,
            "partition_index": 0,
            "leader_id": leader,
            "replica_nodes": [1],
            "isr_nodes": [1],
            "offline_replicas": [],
        }
        return {
            "error_code": error,
            "name": name,
            "topic_id": TOPIC_ID,
            "is_internal": False,
            "partitions": [partition],
        }

    def create_topics(self, request: Message) -> Message:
        return {"topics": [{"name": t.name, "topic_id": TOPIC_ID, "error_code": 0,
                            "configs": []} for t in request.topics]}  # fmt: skip

    def delete_topics(self, request: Message) -> Message:
        gone = [{"name": t.name, "topic_id": None, "error_code": 0} for t in request.topics]
        return {"responses": gone}

    def list_offsets(self, request: Message) -> Message:
        (topic,) = request.topics
        one = {"partition_index": 0, "error_code": 0, "timestamp": -1, "offset": self.end}
        return {"topics": [{"name": topic.name, "partitions": [one]}]}

    def produce(self, request: Message) -> Message:
        (topic,) = request.topic_data
        batch, _ = read_batch(topic.partition_data[0].records, 0)
        first, self.end = self.end, self.end + len(batch.records)
        one: dict[str, Any] = {"index": 0, "error_code": 0, "base_offset": first}
        one |= {"record_errors": []}
        return {"responses": [{"name": topic.name, "partition_responses": [one]}]}

    def delete_records(self, request: Message) -> Message:
        (topic,) = request.topics
        one = {"partition_index": 0, "low_watermark": 0, "error_code": 0}
        return {"topics": [{"name": topic.name, "partitions": [one]}]}

    def find_coordinator(self, request: Message) -> Message:
        (key,) = request.coordinator_keys
        one = {"key": key, "node_id": 1, "host": "127.0.0.1", "port": 1, "error_code": 0}
        return {"coordinators": [one]}

    def init_producer_id(self, _request: Message) -> Message:
        return {"error_code": 0, "producer_id": next(self.producers), "producer_epoch": 0}

    def add_partitions_to_txn(self, request: Message) -> Message:
        (topic,) = request.v3_and_below_topics
        one = {"partition_index": topic.partitions[0], "partition_error_code": 0}
        results = [{"name": topic.name, "results_by_partition": [one]}]
        return {"results_by_topic_v3_and_below": results}

    def end_txn(self, _request: Message) -> Message:
        self.end += self.markers
        return {"error_code": 0}

    def incremental_alter_configs(self, request: Message) -> Message:
        (resource,) = request.resources
        one = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
        return {"responses": [{"error_code": 0, **one}]}

    def describe_configs(self, request: Message) -> Message:
        (resource,) = request.resources
        one: dict[str, Any] = {
            "error_code": 0,
            "resource_type": resource.resource_type,
            "resource_name": resource.resource_name,
            "configs": [],
        }
        return {"results": [one]}

    def share_group_heartbeat(self, request: Message) -> Message:
        held = [{"topic_id": TOPIC_ID, "partitions": [0]}]
        epoch = request.member_epoch + 1 if request.member_epoch >= 0 else -1
        return {
            "error_code": 0,
            "member_id": request.member_id,
            "member_epoch": epoch,
            "heartbeat_interval": 5000,
            "assignment": {"topic_partitions": held} if epoch > 1 else None,
        }

    def alter_partition_reassignments(self, request: Message) -> Message:
        (topic,) = request.topics
        one = {"partition_index": topic.partitions[0].partition_index, "error_code": 0}
        return {"error_code": 0, "responses": [{"name": topic.name, "partitions": [one]}]}

    def elect_leaders(self, request: Message) -> Message:
        (topic,) = request.topic_partitions
        one = {"partition_id": topic.partitions[0], "error_code": 84}
        results = [{"topic": topic.topic, "partition_result": [one]}]
        return {"error_code": 0, "replica_election_results": results}

    def delete_groups(self, request: Message) -> Message:
        return {"results": [{"group_id": g, "error_code": 0} for g in request.groups_names]}

    def describe_share_group_offsets(self, request: Message) -> Message:
        (group,) = request.groups
        (topic,) = group.topics
        one = {
            "partition_index": topic.partitions[0],
            "start_offset": 3,
            "leader_epoch": 0,
            "lag": 4,
            "error_code": 0,
        }
        found = {"topic_name": topic.topic_name, "topic_id": TOPIC_ID, "partitions": [one]}
        return {"groups": [{"group_id": group.group_id, "topics": [found], "error_code": 0}]}

    def alter_share_group_offsets(self, request: Message) -> Message:
        (topic,) = request.topics
        one = {"partition_index": topic.partitions[0].partition_index, "error_code": 0}
        altered = {"topic_name": topic.topic_name, "topic_id": TOPIC_ID, "partitions": [one]}
        return {"error_code": 0, "responses": [altered]}

    def share_acknowledge(self, request: Message) -> Message:
        parts = [
            {
                "partition_index": partition.partition_index,
                "error_code": 121,
                "current_leader": {"leader_id": 1, "leader_epoch": 0},
            }
            for topic in request.topics
            for partition in topic.partitions
        ]
        responses = [{"topic_id": TOPIC_ID, "partitions": parts}] if parts else []
        return {
            "error_code": 0,
            "acquisition_lock_timeout": 1000,
            "responses": responses,
            "node_endpoints": [],
        }


@contextmanager
def faking(fake: Fake) -> Iterator[str]:
    """Serve a fake broker until the block ends; yield its address, which it names as its own."""
    with serving(fake.answer) as address:
        for broker in fake.brokers:
            broker["port"] = broker["port"] or int(address.rpartition(":")[2])
        yield address
