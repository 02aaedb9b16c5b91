"""Several brokers: each leads some of the partitions, and leaders move."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import attrs
import pytest
from kio.schema.errors import ErrorCode as KafkaError

import serve.topics
from clients.broker import Broker, running
from conformance.wire.messages import Message, request
from conformance.wire.records import record_batch
from model.errors import ErrorCode
from model.share_messages import TopicPartition
from serve.node import Cluster, Elected, Options
from serve.running import EARLIEST
from serve.topics import create_topic, lead, move_leader
from spec.coordinator import Durable
from tests.serve.served import Client, acquired, clients_of, part
from tests.serve.test_tracing import judged

OPTIONS = Options(group={**EARLIEST}, brokers=3)
T0 = ("t", 0)


@contextmanager
def brokers(options: Options = OPTIONS) -> Iterator[tuple[Broker, list[Client]]]:
    """Serve with topic t of three partitions; yield a client of each broker."""
    with running(options) as broker, clients_of(broker.served.address) as clients:
        broker.topic("t", 3)
        yield broker, clients


def moved(broker: Broker, to: int, partition: int = 0) -> None:
    broker.do(lambda cluster: move_leader(cluster, cluster.topics["t"], partition, to))


def leaders(client: Client) -> list[tuple[int, int]]:
    client.admin.check_cluster(3)
    parts = sorted(client.described("t").partitions, key=lambda each: each.partition_index)
    return [(each.leader_id, each.leader_epoch) for each in parts]


def test_partitions_have_leaders_in_turn_and_every_broker_tells_them() -> None:
    with brokers() as (broker, clients):
        assert [leaders(client) for client in clients] == [[(1, 0), (2, 0), (3, 0)]] * 3
        moved(broker, 3)
        assert [leaders(client) for client in clients] == [[(3, 1), (2, 0), (3, 0)]] * 3


def test_a_client_says_where_partitions_are_led() -> None:
    with brokers() as (_broker, clients):
        places = [{"partition_index": nth, "broker_ids": [id_]} for nth, id_ in enumerate((3, 3))]
        wanted = {"num_partitions": -1, "replication_factor": -1}
        topics = [{"name": "u", "assignments": places, **wanted}]
        how: dict[str, Message] = {"timeout": 100, "validate_only": False}
        (created,) = clients[0].ask("create_topics", topics=topics, **how).topics
        assert (created.error_code, created.num_partitions) == (0, 2)
        topics[0] |= {"name": "v", "assignments": [{"partition_index": 0, "broker_ids": [4]}]}
        (refused,) = clients[0].ask("create_topics", topics=topics, **how).topics
        assert refused.error_code == KafkaError.invalid_replica_assignment.value


def produced(client: Client, partition: int = 0) -> SimpleNamespace:
    data = [{"index": partition, "records": record_batch(1)}]
    topics = [{"name": "t", "partition_data": data}]
    return client.send(request("produce", 12, topic_data=topics, acks=-1, timeout=1000))


def fetched(client: Client, epoch: int = -1) -> SimpleNamespace:
    asked = {"current_leader_epoch": epoch, "partition_max_bytes": 1000}
    topics = [{"topic": "t", "partitions": [asked]}]
    return client.ask("fetch", topics=topics, max_bytes=1000)


@pytest.mark.parametrize("named", [True, False])
def test_whoever_produces_to_another_broker_is_told_the_leader_or_not(*, named: bool) -> None:
    with brokers() as (broker, clients):

        def keep(cluster: Cluster) -> None:
            cluster.rare.names_leaders = named

        broker.do(keep)
        moved(broker, 2)
        answer = produced(clients[0])
        (appended,) = answer.responses[0].partition_responses
        assert appended.error_code == KafkaError.not_leader_or_follower.value
        leader = appended.current_leader
        assert (leader.leader_id, leader.leader_epoch) == ((2, 1) if named else (-1, -1))
        assert [each.node_id for each in answer.node_endpoints] == ([2] if named else [])
        (part_,) = fetched(clients[0]).responses[0].partitions
        assert part_.error_code == KafkaError.not_leader_or_follower.value
        assert part_.current_leader.leader_id == (2 if named else -1)
        (appended,) = produced(clients[1]).responses[0].partition_responses
        assert (appended.error_code, appended.base_offset) == (0, 0)


def test_a_fetch_in_another_leader_epoch_is_refused_by_the_leader_too() -> None:
    with brokers() as (broker, clients):
        moved(broker, 2)
        errors = [fetched(clients[1], n).responses[0].partitions[0].error_code for n in (0, 1, 2)]
        assert errors == [74, 0, 75]  # FENCED_LEADER_EPOCH, none, UNKNOWN_LEADER_EPOCH


def test_offsets_are_listed_and_records_deleted_by_the_leader_only() -> None:
    with brokers() as (broker, clients):
        produced(clients[0])
        moved(broker, 2)

        def listed(client: Client) -> tuple[int, int, int]:
            wanted = {"partition_index": 0, "timestamp": -1}
            topics = [{"name": "t", "partitions": [wanted]}]
            offset = client.admin.one("list_offsets", replica_id=-1, topics=topics)
            return offset.error_code, offset.offset, offset.leader_epoch

        def deleted(client: Client) -> int:
            topics = [{"name": "t", "partitions": [{"partition_index": 0, "offset": 1}]}]
            return int(client.admin.one("delete_records", topics=topics, timeout=100).error_code)

        not_leader = KafkaError.not_leader_or_follower.value
        assert [listed(client) for client in clients[:2]] == [(not_leader, -1, -1), (0, 1, 1)]
        assert [deleted(client) for client in clients[:2]] == [not_leader, 0]


def joined(broker: Broker, clients: list[Client]) -> None:
    """Let member m of group g join at the coordinator of its group."""
    nth = broker.do(lambda cluster: cluster.coordinator("g").id) - 1
    assert clients[nth].beat(0, ["t"]).error_code == 0


def lived(broker: Broker, clients: list[Client]) -> None:
    """Let a leader move while records are held, released and accepted, and move on."""
    joined(broker, clients)
    topic = clients[0].topic("t")
    broker.produce(T0, 5)
    assert acquired(clients[0].fetch(0, part(topic))) == [(0, 4, 1)]
    clients[0].acknowledge(1, part(topic, (0, 1, 1), (2, 2, 2)))
    moved(broker, 2)
    refused = clients[0].acknowledge(2, part(topic, (3, 4, 1))).response.partitions
    assert [each.acknowledge_error for each in refused] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    (answer,) = clients[0].fetch(3).response.partitions
    assert answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    # What was accepted is gone, what was released counts, what was held was never durable.
    assert acquired(clients[1].fetch(0, part(topic))) == [(2, 2, 2), (3, 4, 1)]
    clients[1].acknowledge(-1, part(topic, (2, 2, 1)))
    assert acquired(clients[1].fetch(0, part(topic))) == [(3, 4, 2)]
    moved(broker, 1)
    broker.produce(T0, 1)
    assert acquired(clients[0].fetch(0, part(topic), member="n")) == [(3, 4, 2), (5, 5, 1)]


def test_a_leader_may_move_before_anybody_fetched_or_is_in_a_group() -> None:
    with brokers() as (broker, clients):
        moved(broker, 2)
        joined(broker, clients)
        moved(broker, 3)
        broker.produce(T0, 1)
        topic = clients[0].topic("t")
        assert acquired(clients[2].fetch(0, part(topic))) == [(0, 0, 1)]
        (refused,) = clients[0].fetch(0, part(topic)).response.partitions
        assert refused.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_that_waits_is_answered_as_its_leader_moves() -> None:
    with brokers() as (broker, clients):
        joined(broker, clients)
        topic = clients[0].topic("t")
        clients[0].fetch(0, part(topic))
        broker.do(moves_soon)
        (answer,) = clients[0].fetch(1, max_wait_ms=300_000).response.partitions
        assert answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def moves_soon(cluster: Cluster) -> None:
    """Move the leader once somebody waits at its broker for a change."""
    loop = asyncio.get_running_loop()
    node = cluster.node(1)

    def look() -> None:
        if node.share("g").sessions and "g" in node._changed:  # noqa: SLF001 - who waits
            move_leader(cluster, cluster.topics["t"], 0, 2)
        else:
            loop.call_later(0.01, look)

    look()


def traced(trace: Path, life: Callable[[Broker, list[Client]], None]) -> tuple[int, str]:
    with brokers() as (broker, clients):
        broker.do(lambda cluster: cluster.start_trace(trace))
        life(broker, clients)
    return judged(trace)


def test_the_trace_of_leaders_that_move_conforms(tmp_path: Path) -> None:
    status, output = traced(tmp_path / "t.jsonl", lived)
    assert status == 0, output
    text = (tmp_path / "t.jsonl").read_text()
    assert all(f'"leader_epoch":{n},"instance":0' in text for n in (0, 1, 2))
    assert '"leader_epoch":1,"instance":1' in text


def test_a_leader_that_forgets_what_is_durable_diverges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(cluster: Cluster, group: str, states: Mapping[TopicPartition, Durable]) -> None:
        for place, durable in states.items():
            counts = {offset: (state, 1) for offset, (state, _) in durable.entries.items()}
            entries = durable.entries.update(counts)
            start = max(0, durable.start_offset - 1)
            led = attrs.evolve(durable, entries=entries, start_offset=start)
            lead(cluster, group, {place: led})

    def life(broker: Broker, clients: list[Client]) -> None:
        joined(broker, clients)
        topic = clients[0].topic("t")
        broker.produce(T0, 3)
        clients[0].fetch(0, part(topic))
        clients[0].acknowledge(-1, part(topic, (0, 1, 1)))
        moved(broker, 2)
        clients[1].fetch(0, part(topic))

    assert traced(tmp_path / "right.jsonl", life)[0] == 0
    monkeypatch.setattr(serve.topics, "lead", forgetful)
    status, output = traced(tmp_path / "wrong.jsonl", life)
    assert status == 1, output


def test_a_topic_is_deleted_wherever_it_is_led() -> None:
    with brokers() as (broker, clients):
        joined(broker, clients)
        moved(broker, 2)
        topic = clients[0].topic("t")
        clients[0].admin.delete_topic("t")
        assert broker.do(lambda cluster: list(cluster.led("g"))) == []
        (answer,) = clients[1].fetch(0, part(topic)).response.partitions
        assert answer.error is ErrorCode.UNKNOWN_TOPIC_ID


def test_the_leaders_of_a_topic_are_those_it_was_created_with() -> None:
    with running(OPTIONS) as broker:
        broker.do(lambda cluster: create_topic(cluster, "u", 2, (2, 2)))
        place = broker.do(lambda cluster: TopicPartition(str(cluster.topics["u"].id), 1))
        assert broker.do(lambda cluster: cluster.leader(place)) == Elected(2)
        assert broker.do(lambda cluster: cluster.leader(TopicPartition("x", 0))) is None
