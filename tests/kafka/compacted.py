"""A topic of one partition at a broker of Apache Kafka, whose log compaction has holes in."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID

from confluent_kafka import Consumer, Producer, TopicPartition

from conformance.wire.admin import Resource
from conformance.wire.kafka_broker import kafka_broker
from tests.conformance.unbuilt import built_or_skipped
from tests.recorder.released import eventually
from tests.serve.served import Client, clients_of

CLEANING = ("log.cleaner.enable=true", "log.cleaner.backoff.ms=200")
"""Settings of a broker that compacts soon."""


@contextmanager
def kafka_client(settings: Sequence[str] = ()) -> Iterator[Client]:
    """Run a broker of Apache Kafka with more settings, and connect to it; or skip."""
    with (
        built_or_skipped(kafka_broker(settings)) as target,
        clients_of(str(target.address)) as (client,),
    ):
        yield client


def created(client: Client, config: Mapping[str, str] | None = None) -> UUID:
    """Create topic t, and wait for its leader, which a broker may learn after it has answered."""
    client.admin.check_alone()
    topic = client.admin.create_topic("t", 1)
    if config:
        client.admin.configure(Resource.TOPIC, "t", config)
    return UUID(topic)


def produce(client: Client, records: int, key: str = "") -> None:
    """Append records, each with the key, or with one of its own."""
    producer = Producer({"bootstrap.servers": str(client.wire.address)})
    for number in range(records):
        producer.produce("t", b"x" * 200, key or f"{records}-{number}")
    assert producer.flush(30) == 0


def compact(client: Client, keys: Iterable[str], gone: set[int]) -> None:
    """Append a record of each key, in a batch of its own, and wait until these offsets are gone."""
    for key in keys:
        produce(client, 1, key)

    def is_compacted() -> bool:
        produce(client, 1, "later")  # Begins a segment: the one before it may be cleaned.
        return gone.isdisjoint(offsets(client))

    eventually(is_compacted)


def offsets(client: Client) -> list[int]:
    """Return the offsets that the log has."""
    settings = {"bootstrap.servers": str(client.wire.address), "group.id": "reader"}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition("t", 0, 0)])
    messages = iter(lambda: consumer.poll(2), None)
    found = [int(message.offset() or 0) for message in messages]
    consumer.close()
    return found
