"""Clients that others wrote, against the broker: librdkafka's and Apache Kafka's own."""

import subprocess
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer, ShareConsumer

from conformance.cores.kafka import kafka_java
from tests.conformance.unbuilt import skipping_unbuilt
from tests.serve.served import clients_of, serving
from tests.serve.test_tracing import judged

RECORDS = 60


def produce(address: str, compression: str) -> None:
    producer = Producer(
        {
            "bootstrap.servers": address,
            "compression.type": compression,
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    refused: list[object] = []

    def note(error: object, _message: object) -> None:
        if error is not None:
            refused.append(error)

    for number in range(RECORDS):
        producer.produce("t", b"%d" % number, on_delivery=note)
    assert producer.flush(120) == 0
    assert refused == []


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("compression", ["none", "gzip", "lz4", "zstd"])
def test_librdkafka_produces_and_consumes(tmp_path: Path, compression: str) -> None:
    trace = tmp_path / "t.jsonl"
    with serving(trace=trace) as address:
        produce(address, compression)
        consumer = ShareConsumer({"bootstrap.servers": address, "group.id": "g", "log_level": 0})
        consumer.subscribe(["t"])
        values: list[bytes | None] = []
        until = time.monotonic() + 120
        while len(values) < RECORDS and time.monotonic() < until:
            values += [message.value() for message in consumer.poll(timeout=0.5)]
        assert list(consumer.poll(timeout=0.5)) == []  # It acknowledges what the last one gave.
        consumer.close()
        assert values == [b"%d" % number for number in range(RECORDS)]
        with clients_of(address) as (client,):
            assert client.admin.describe("g", "t", 0)[1].lag == 0
    assert judged(trace)[0] == 0


@pytest.mark.slow
@pytest.mark.broker
def test_apache_kafkas_share_consumer_consumes(tmp_path: Path) -> None:
    with skipping_unbuilt():
        java, path = kafka_java()
    trace = tmp_path / "t.jsonl"
    with serving(trace=trace) as address:
        command = [java, "-XX:TieredStopAtLevel=1", "-cp", path]
        source = Path(__file__).with_name("Consume.java")
        ran = subprocess.run(
            [*command, str(source), address, "t", str(RECORDS)],
            capture_output=True,
            timeout=600,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        assert ran.stdout.split() == [b"%d:%d" % (n, 1 + n % 2) for n in range(RECORDS)]
    assert judged(trace)[0] == 0
