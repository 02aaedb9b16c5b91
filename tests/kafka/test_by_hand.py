"""Requests that are sent by hand to a broker of Apache Kafka, of what no search of brokers asks."""

from contextlib import closing
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from conformance.target import TargetError
from conformance.wire.broker import BrokerTarget
from conformance.wire.codec import message
from conformance.wire.kafka_broker import kafka_broker
from model.config import SharePartitionConfig
from model.share_messages import ShareFetch
from tests.conformance.unbuilt import skip_unbuilt
from tests.recorder.released import eventually
from tests.serve.served import Client, acquired, offsets_of, part

pytestmark = pytest.mark.broker

_NONE, _FENCED_LEADER_EPOCH = 0, 74


def test_the_last_write_of_a_request_answers_for_all() -> None:
    try:
        with kafka_broker() as target:
            assert answers(target, [[4, 5]]) == ([_NONE], [(10, 19)])
            assert answers(target, [[5, 4]]) == ([_FENCED_LEADER_EPOCH], [(10, 19)])
            assert answers(target, [[4], [5]]) == ([_FENCED_LEADER_EPOCH, _NONE], [(10, 19)])
    except TargetError as error:
        skip_unbuilt(error)


def answers(target: BrokerTarget, requests: list[list[int]]) -> tuple[list[int], object]:
    """Write as these leader epochs after 5 has read; return the answers and what is durable."""
    client = Client(str(target.address))
    topic = UUID(str(target.open(SharePartitionConfig(), 1).topic_id))

    def ask(name: str, *partitions: dict[str, object]) -> list[Any]:
        topics = [{"topic_id": topic, "partitions": [{"partition": 0} | row for row in partitions]}]
        body = client.ask(f"{name}_share_group_state", 0, group_id="by-hand", topics=topics)
        return list(body.results[0].partitions)

    with closing(client.wire):
        ask("initialize", {"state_epoch": 0, "start_offset": 0})
        ask("read", {"leader_epoch": 5})
        results = [row for epochs in requests for row in ask("write", *map(_write, epochs))]
        (read,) = ask("read", {"leader_epoch": 5})
    durable = [(batch.first_offset, batch.last_offset) for batch in read.state_batches]
    return [row.error_code for row in results], durable


def _write(leader_epoch: int) -> dict[str, object]:
    first = {4: 0, 5: 10}[leader_epoch]
    batch = {"first_offset": first, "last_offset": first + 9}
    batches = [{**batch, "delivery_state": 2, "delivery_count": 1}]
    epochs = {"state_epoch": 0, "leader_epoch": leader_epoch}
    return {**epochs, "start_offset": 0, "state_batches": batches}


CLEANING = ("log.cleaner.enable=true", "log.cleaner.backoff.ms=200")
COMPACTED = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0"}
LONG_LOCKS = ("group.share.record.lock.duration.ms=10000",)
FEW_LOCKS = (*LONG_LOCKS, "group.share.partition.max.record.locks=100")
ONE_BATCH, ALL = 300, 1_000_000


@pytest.mark.parametrize("gap", [True, False], ids=["a gap", "no gap"])
def test_finished_records_after_a_gap_stop_fetches_that_end_among_them(*, gap: bool) -> None:
    """Compaction removed offset 0; 1 and 2 are finished, 0 only where there is to be no gap."""
    try:
        with kafka_broker(CLEANING) as target:
            address = str(target.address)
            client = Client(address)
            with closing(client.wire):
                topic = compacted(client, address)
                finish(client, topic, 1 if gap else 0, 2)
                opened = client.fetch(0, part(topic), max_bytes=ONE_BATCH, max_wait_ms=500)
                later = [
                    client.fetch(epoch, max_bytes=ONE_BATCH, max_wait_ms=500)
                    for epoch in range(1, 6)
                ]
                given = [offsets[:1] for each in (opened, *later) for offsets in acquired(each)]
                rest = acquired(client.fetch(6, max_bytes=ALL, max_wait_ms=500))
    except TargetError as error:
        skip_unbuilt(error)
    assert (given == []) == gap
    assert not gap or rest[0][0] == 3


def compacted(client: Client, address: str) -> UUID:
    """Create a topic whose offset 0, in a batch of its own, compaction has removed."""
    topic = created(client, address, COMPACTED)
    producer = Producer({"bootstrap.servers": address})

    def put(key: str) -> None:
        producer.produce("t", b"x" * 200, key)
        assert producer.flush(30) == 0

    for key in "abcda":
        put(key)
    consumer = Consumer({"bootstrap.servers": address, "group.id": "by-hand"})

    def is_compacted() -> bool:
        put("z")  # Begins a segment: the one before it may be cleaned.
        consumer.assign([TopicPartition("t", 0, 0)])
        polled = consumer.poll(10)
        return polled is not None and polled.offset() == 1

    eventually(is_compacted)
    consumer.close()
    return topic


def created(client: Client, address: str, config: dict[str, str] | None = None) -> UUID:
    """Create topic t, and wait for its leader, which a broker may learn after it has answered."""
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("t", 1, config=config or {})])["t"].result(30)
    eventually(lambda: client.described("t").error_code == _NONE)
    return client.topic("t")


def finish(client: Client, topic: UUID, first: int, last: int) -> None:
    """Make durable, with start offset 0, that these records are acknowledged; up to -1: none."""
    batch = {"first_offset": first, "last_offset": last, "delivery_state": 2, "delivery_count": 1}
    begin = {"partition": 0, "state_epoch": 0, "start_offset": 0}
    batches = [batch] if last >= 0 else []
    for name, more in ("initialize", {}), ("write", {"leader_epoch": 0, "state_batches": batches}):
        topics = [{"topic_id": topic, "partitions": [begin | more]}]
        body = client.ask(f"{name}_share_group_state", 0, group_id="g", topics=topics)
        assert body.results[0].partitions[0].error_code == _NONE


@pytest.mark.parametrize("full", [True, False], ids=["a full window", "room for one"])
def test_finished_records_behind_a_gap_that_fill_the_window_stop_it(*, full: bool) -> None:
    """Of what was acquired, record 0 alone is not finished when the leader begins."""
    try:
        with kafka_broker(FEW_LOCKS) as target:
            client = Client(str(target.address))
            with closing(client.wire):
                topic = created(client, str(target.address))
                client.fill("t", 1, 100)
                finish(client, topic, 1, 100 if full else 99)
                first = acquired(client.fetch(0, part(topic), max_records=1, max_wait_ms=2000))
                client.acknowledge(1, part(topic, (0, 0, 1)))
                later = [
                    offset
                    for epoch in range(2, 6)
                    for offset in offsets_of(client.fetch(epoch, max_wait_ms=500))
                ]
    except TargetError as error:
        skip_unbuilt(error)
    assert first == [(0, 0, 1)]
    assert later == ([] if full else [100])


@pytest.mark.parametrize("waits", [True, False], ids=["a fetch waits", "no fetch waits"])
def test_a_fetch_that_waits_takes_what_its_lost_member_held(*, waits: bool) -> None:
    """Member m holds record 0 and its connection is lost, perhaps with a fetch under way."""
    try:
        with kafka_broker(LONG_LOCKS) as target:
            client, lost = Client(str(target.address)), Client(str(target.address))
            with closing(client.wire), closing(lost.wire):
                topic = created(client, str(target.address))
                client.fill("t", 1)
                finish(client, topic, -1, -1)
                assert acquired(lost.fetch(0, part(topic), max_wait_ms=2000)) == [(0, 0, 1)]
                if waits:
                    asked = ShareFetch("g", "m", 1, (), max_wait_ms=20_000)
                    with pytest.raises(TargetError):  # A request that is not answered ends it.
                        lost.wire.ask("c", message(asked), -9_000)
                lost.wire.disconnect("c")
                given = acquired(client.fetch(0, part(topic), member="n", max_wait_ms=3000))
                later = acquired(client.fetch(1, member="n", max_wait_ms=9500))
    except TargetError as error:
        skip_unbuilt(error)
    assert (given, later) == (([], [(0, 0, 3)]) if waits else ([(0, 0, 2)], []))
