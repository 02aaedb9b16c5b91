"""A broker in memory that speaks as much of Kafka's protocol as the kit's administration needs."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from typing import Any
from uuid import UUID

from kio.records.readers import read_batch

from conformance.wire.admin import SPOKEN, Admin
from conformance.wire.connection import Address, Wire
from conformance.wire.messages import Message, answered, received
from tests.conformance.wire.serving import framed, serving

TOPIC_ID = UUID(int=99)
LONG_S = 60.0  # A machine that stalls is no reason to fail.
Handler = Callable[[Message], Message]
_NAMES = {17: "sasl_handshake", 36: "sasl_authenticate"}
_NAMES |= {api.key: name for name, api in SPOKEN.items()}
_LEAVES: dict[str, Message] = {
    "create_topics": {},
    "delete_topics": {},
    "delete_records": {},
    "find_coordinator": {"node_id": 1},
    "add_partitions_to_txn": {},
    "incremental_alter_configs": {},
    "describe_configs": {},
    "alter_client_quotas": {},
    "alter_partition_reassignments": {},
    "elect_leaders": {"error_code": 84},
    "delete_groups": {},
    "describe_share_group_offsets": {"start_offset": 3, "lag": 4},
    "alter_share_group_offsets": {},
}
"""What is answered of the one thing that is asked for."""


def whole(name: str, **leaf: object) -> Message:
    """Return an answer about one thing, as ``SPOKEN`` says where it is."""
    answer: Message = {"error_code": 0, **leaf}
    for entries in reversed(SPOKEN[name].answer):
        answer = {entries: [answer], "error_code": 0}
    return answer


def _leaf(name: str, _request: Message) -> Message:
    return whole(name, **_LEAVES[name])


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

        others = (name for name in _LEAVES if name not in self.said)
        self.said |= {name: partial(_leaf, name) for name in others}

    def of(self, name: str) -> list[Message]:
        """Return the requests of an API that came."""
        return [one for one, asked in zip(self.came, self.asked, strict=True) if asked == name]

    def answer(self, frame: bytes) -> bytes:
        header, request = received(frame)
        key, version = header.request_api_key, header.request_api_version
        name = _NAMES[key]
        self.asked.append(name)
        self.came.append(request)
        return framed(answered(key, version, header.correlation_id, self.said[name](request)))

    def api_versions(self, _request: Message) -> Message:
        keys = [
            {"api_key": key, "min_version": low, "max_version": high}
            for key, (low, high) in self.versions.items()
        ]
        return {"error_code": 0, "api_keys": keys}

    def metadata(self, request: Message) -> Message:
        topics = [self.topic() for _topic in request.topics]
        return {"brokers": self.brokers, "controller_id": 1, "topics": topics, "error_code": 0}

    def topic(self, leader: int = 1) -> Message:
        return {"topic_id": TOPIC_ID, "partitions": [{"leader_id": leader, "replica_nodes": [1]}]}

    def list_offsets(self, _request: Message) -> Message:
        return whole("list_offsets", offset=self.end)

    def produce(self, request: Message) -> Message:
        (topic,) = request.topic_data
        batch, _ = read_batch(topic.partition_data[0].records, 0)
        first, self.end = self.end, self.end + len(batch.records)
        return whole("produce", base_offset=first)

    def init_producer_id(self, _request: Message) -> Message:
        return {"producer_id": next(self.producers)}

    def end_txn(self, _request: Message) -> Message:
        self.end += self.markers
        return {}

    def share_group_heartbeat(self, request: Message) -> Message:
        held = [{"topic_id": TOPIC_ID, "partitions": [0]}]
        epoch = request.member_epoch + 1 if request.member_epoch >= 0 else -1
        return {
            "member_epoch": epoch,
            "assignment": {"topic_partitions": held} if epoch > 1 else None,
        }

    def share_acknowledge(self, request: Message) -> Message:
        parts = [
            {"partition_index": partition.partition_index, "error_code": 121}
            for topic in request.topics
            for partition in topic.partitions
        ]
        responses = [{"topic_id": TOPIC_ID, "partitions": parts}] if parts else []
        return {"acquisition_lock_timeout": 1000, "responses": responses}


@contextmanager
def faking(fake: Fake) -> Iterator[str]:
    """Serve a fake broker until the block ends; yield its address, which it names as its own."""
    with serving(fake.answer) as address:
        for broker in fake.brokers:
            broker["port"] = broker["port"] or int(address.rpartition(":")[2])
        yield address


@contextmanager
def administrating(fake: Fake, seconds: float = LONG_S) -> Iterator[Admin]:
    """Serve a fake broker until the block ends; yield who administrates it."""
    with faking(fake) as address, closing(Wire(Address.parse(address))) as wire:
        yield Admin(wire, seconds=seconds)
