"""A broker of Apache Kafka whose log start offset moves into a gap that compaction has left."""

from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from conformance.target import TargetError
from conformance.wire.admin import Admin
from conformance.wire.kafka_broker import kafka_broker
from model.share_messages import ShareAcknowledge
from tests.conformance.unbuilt import skip_unbuilt
from tests.recorder.released import eventually
from tests.serve.served import Client, acquired, part

pytestmark = [pytest.mark.slow, pytest.mark.broker]

COMPACTED = {
    "cleanup.policy": "compact,delete",
    "segment.ms": "200",
    "min.cleanable.dirty.ratio": "0.0",
    "max.compaction.lag.ms": "100",
}
GROUP = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": "15000",
    "share.partition.max.record.locks": "100",
}
HOLDER, WORKER = "A" * 22, "B" * 22


@pytest.fixture
def address() -> Iterator[str]:
    try:
        with kafka_broker(("log.cleaner.enable=true", "log.cleaner.backoff.ms=300")) as target:
            yield str(target.address)
    except TargetError as error:
        skip_unbuilt(error)


@pytest.mark.parametrize(("accepts_one", "given"), [(True, 0), (False, 50)])
def test_nothing_is_delivered_where_states_below_the_gap_are_kept_one_by_one(
    address: str, *, accepts_one: bool, given: int
) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("t", 1, 1, config=COMPACTED)])["t"].result(30)
    compact(address)
    client = Client(address)
    with closing(client.wire):
        topic = joined(client)
        epoch, held = fetched(client, topic, 0, HOLDER)
        assert held == [(0, 2, 1)]
        working, taken = fetched(client, topic, 0, WORKER)
        assert taken[0][0] == 10
        if accepts_one:
            client.acknowledge(epoch, part(topic, (1, 1, 1)), member=HOLDER)
        (deleted,) = admin.delete_records([TopicPartition("t", 0, 5)]).values()
        assert deleted.result(60).low_watermark == 5
        client.share(ShareAcknowledge("g", HOLDER, -1, ()))
        produce(address, 300)
        working, before = finished(client, topic, working, taken)
        assert before > 300
        produce(address, 50)
        assert finished(client, topic, working, [])[1] == given


def produce(address: str, records: int, key: str = "") -> None:
    """Append records, each with the key, or with one of its own."""
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": False})
    for number in range(records):
        producer.produce("t", key=key or f"{records}-{number}", value=b"v")
    assert producer.flush(30) == 0


def compact(address: str) -> None:
    """Let the log have the records 0-2 and those from 10 on."""
    for key in ("a", "b", "c", *["k"] * 7):
        produce(address, 1, key)

    def is_compacted() -> bool:
        produce(address, 1, "k" if len(offsets(address)) == 10 else "later")
        return not set(offsets(address)) & set(range(3, 10))

    eventually(is_compacted)


def offsets(address: str) -> list[int]:
    """Return the offsets that the log has."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader"})
    consumer.assign([TopicPartition("t", 0, 0)])
    messages = iter(lambda: consumer.poll(2), None)
    found = [int(message.offset() or 0) for message in messages]
    consumer.close()
    return found


def joined(client: Client) -> UUID:
    """Let both members join the group, and return the topic's id."""
    topic, admin = client.topic("t"), Admin(client.wire)
    admin.configure("g", GROUP)
    for member in HOLDER, WORKER:
        admin.join("g", member, "t", str(topic), 1)
    return topic


def fetched(
    client: Client, topic: UUID, epoch: int, member: str
) -> tuple[int, list[tuple[int, int, int]]]:
    """Fetch three records; return the next session epoch and what was acquired."""
    for number in range(epoch, epoch + 20):
        answer = client.fetch(number, part(topic), member=member, max_records=3, max_wait_ms=500)
        if taken := acquired(answer):
            return number + 1, taken
    raise AssertionError(f"{member} is given nothing")


def finished(
    client: Client, topic: UUID, epoch: int, held: list[tuple[int, int, int]]
) -> tuple[int, int]:
    """Accept all that is given until nothing is for 6 s; return the next epoch and how many."""
    given = idle = 0
    while idle < 12:
        accepted = part(topic, *((first, last, 1) for first, last, _ in held))
        answer = client.fetch(epoch, accepted, member=WORKER, max_records=50, max_wait_ms=500)
        epoch, held = epoch + 1, acquired(answer)
        idle = 0 if held else idle + 1
        given += sum(last - first + 1 for first, last, _ in held)
    return epoch, given
