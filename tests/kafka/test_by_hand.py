"""One request with writes of two leader epochs, sent by hand to a broker of Apache Kafka."""

from contextlib import closing
from typing import Any
from uuid import UUID

import pytest

from conformance.target import TargetError
from conformance.wire.broker import BrokerTarget
from conformance.wire.kafka_broker import kafka_broker
from model.config import SharePartitionConfig
from tests.conformance.unbuilt import skip_unbuilt
from tests.serve.served import Client

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
