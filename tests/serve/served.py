"""A server for tests on a free port, in a thread, and requests to it by the kit's own client."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

from conformance.wire.admin import Admin
from conformance.wire.codec import exchange, message
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.messages import Message, request
from conformance.wire.records import record_batch
from conformance.wire.target import Exchange
from model.operations import AcknowledgementBatch
from model.share_messages import (
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    TopicPartition,
)
from serve.apis import APIS
from serve.node import Options
from serve.running import EARLIEST, in_thread
from serve.server import Server

NAMED = {"produce": 12, "fetch": 12}
"""The last versions in which topics have their names, not yet their ids."""
VERSIONS = {api.name: api.highest for api in APIS.values()} | NAMED


class Client:
    """Requests to a server."""

    def __init__(self, address: str) -> None:
        self.wire = Wire(Address.parse(address), Bounds(seconds=10))
        self.admin = Admin(self.wire)

    def ask(self, name: str, version: int | None = None, **values: Message) -> SimpleNamespace:
        chosen = VERSIONS[name] if version is None else version
        return self.send(request(name, chosen, **values))

    def send(self, asked: Message, connection: str = "c", wait_ms: int = 0) -> SimpleNamespace:
        return self.wire.ask(connection, asked, wait_ms).body

    def share(self, asked: ShareRequest, connection: str = "c") -> Exchange:
        wait_ms = asked.max_wait_ms if isinstance(asked, ShareFetch) else 0
        return exchange(asked, self.wire.ask(connection, message(asked), wait_ms))

    def topic(self, name: str) -> UUID:
        """Return the id of a topic, which is created if it is missing."""
        topic = self.described(name)
        assert topic.error_code == 0
        return UUID(str(topic.topic_id))

    def described(self, name: str) -> SimpleNamespace:
        """Return what Metadata says of a topic, which is created if it is missing."""
        topics = [{"topic_id": None, "name": name}]
        return self.admin.one("metadata", topics=topics, allow_auto_topic_creation=True)

    def produce(
        self, topic: str, batch: bytes, partition: int = 0, acks: int = -1
    ) -> SimpleNamespace:
        data = [{"index": partition, "records": batch}]
        topics = [{"name": topic, "partition_data": data}]
        return self.admin.one("produce", acks=acks, timeout=1000, topic_data=topics)

    def fill(self, topic: str, *sizes: int, partition: int = 0) -> None:
        for size in sizes:
            assert self.produce(topic, record_batch(size), partition).error_code == 0

    def beat(
        self, epoch: int, topics: list[str] | None = None, member: str = "m", group: str = "g"
    ) -> SimpleNamespace:
        return self.admin.heartbeat(group, member, epoch, topics)

    def join(self, *sizes: int) -> UUID:
        """Create topic t with batches of these sizes, and join its group; return the topic's id."""
        topic = self.topic("t")
        self.fill("t", *sizes)
        assert self.beat(0, ["t"]).error_code == 0
        return topic

    def fetch(
        self, epoch: int, *parts: PartitionRequest, member: str = "m", **how: Message
    ) -> Exchange:
        connection = how.pop("connection", "c")
        how = {"max_wait_ms": 0, **how}
        return self.share(ShareFetch("g", member, epoch, parts, **how), connection)

    def acknowledge(
        self, epoch: int, *parts: PartitionRequest, member: str = "m", **how: Message
    ) -> Exchange:
        return self.share(ShareAcknowledge("g", member, epoch, parts, **how))


def part(topic: UUID, *batches: tuple[int, int, int], partition: int = 0) -> PartitionRequest:
    """Return a share-partition of a request, with acknowledgements (first, last, type)."""
    given = tuple(AcknowledgementBatch(first, last, (type_,)) for first, last, type_ in batches)
    return PartitionRequest(TopicPartition(str(topic), partition), given)


def acquired(answer: Exchange) -> list[tuple[int, int, int]]:
    """Return (first, last, delivery count) of what was acquired."""
    return [
        (one.first, one.last, one.delivery_count)
        for answered in answer.response.partitions
        for one in answered.acquired
    ]


def offsets_of(answer: Exchange) -> list[int]:
    """Return each offset that was acquired."""
    return [offset for first, last, _ in acquired(answer) for offset in range(first, last + 1)]


@contextmanager
def raw(address: str) -> Iterator[socket.socket]:
    """Connect without a client, to send anything."""
    at = Address.parse(address)
    with socket.create_connection((at.host, at.port), timeout=120) as connection:
        yield connection


@contextmanager
def serving(
    options: Options | None = None, speed: float = 1.0, trace: Path | None = None
) -> Iterator[str]:
    """Serve until the block ends; yield the address."""
    server = Server(options or Options(group=EARLIEST), speed)
    if trace is not None:
        server.cluster.start_trace(trace)
    with in_thread(server) as broker:
        yield broker.address


@contextmanager
def clients_of(addresses: str) -> Iterator[list[Client]]:
    """Connect to each of some brokers, whose addresses are separated by commas."""
    with ExitStack() as stack:
        clients = [Client(address) for address in addresses.split(",")]
        for client in clients:
            stack.enter_context(closing(client.wire))
        yield clients


@contextmanager
def client_of(
    options: Options | None = None, speed: float = 1.0, trace: Path | None = None
) -> Iterator[Client]:
    """Serve, and connect."""
    with serving(options, speed, trace) as address, clients_of(address) as (client,):
        yield client
