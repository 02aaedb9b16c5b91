"""A cluster of Apache Kafka whose share coordinator cannot write until locks have ended."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from conformance.cluster.fault_plan import NODES
from conformance.cluster.nodes import Nodes, cluster_id
from conformance.wire.codec import exchange, message
from model.errors import ErrorCode
from model.share_messages import ShareAcknowledge
from tests.conformance.unbuilt import skipping_unbuilt
from tests.kafka.test_by_hand import finish
from tests.recorder.released import eventually
from tests.serve.served import Client, acquired, clients_of, part

pytestmark = [pytest.mark.slow, pytest.mark.broker, pytest.mark.long]

WINDOW, LONGEST_WRITE_MS = 100, 120_000
LIMITS = {
    "group.share.partition.max.record.locks": str(WINDOW),
    "group.share.delivery.count.limit": "2",
    "group.share.max.record.lock.duration.ms": "90000",
    "share.coordinator.state.topic.num.partitions": "1",
}


@pytest.mark.parametrize(("lock_ms", "given"), [(4_000, []), (90_000, [(WINDOW, WINDOW, 1)])])
def test_a_full_window_stops_where_a_write_fails_after_locks_at_the_limit_have_ended(
    tmp_path: Path, lock_ms: int, given: list[tuple[int, int, int]]
) -> None:
    """Without its followers a coordinator's writes fail, after a minute of attempts."""
    with cluster(tmp_path, lock_ms) as nodes, clients_of(nodes.bootstrap) as clients:
        error, leading = nodes.ask(lambda admin: admin.share_coordinator(f"g:{cluster_id()}:0"))
        assert error == 0
        leader = clients[NODES.index(str(leading))]
        topic = led_by(leading, nodes.bootstrap, leader)
        assert acquired(leader.fetch(0, part(topic), max_wait_ms=5000)) == [(0, WINDOW - 1, 1)]
        leader.acknowledge(1, part(topic, (0, WINDOW - 1, 2)))
        assert acquired(leader.fetch(2, max_wait_ms=5000)) == [(0, WINDOW - 1, 2)]
        others = [node for node in NODES if node != str(leading)]
        for node in others:
            nodes.pause(node)
        accept = ShareAcknowledge("g", "m", 3, (part(topic, (0, WINDOW - 1, 1)),))
        answer = exchange(accept, leader.wire.ask("c", message(accept), LONGEST_WRITE_MS)).response
        for node in others:
            nodes.resume(node)
        assert answer.partitions[0].acknowledge_error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert given_later(leader) == given


@contextmanager
def cluster(folder: Path, lock_ms: int) -> Iterator[Nodes]:
    with ExitStack() as stack:
        with skipping_unbuilt():
            locks = {"group.share.record.lock.duration.ms": str(lock_ms)}
            nodes = Nodes(folder / "cluster", LIMITS | locks)
            stack.callback(nodes.close)
            for node in NODES:
                nodes.start(node)
            nodes.await_all()
        yield nodes


def led_by(node: int, bootstrap: str, client: Client) -> UUID:
    """Create a topic with one replica, on a node; it has the records of a window and one more."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    config = {"min.insync.replicas": "1"}
    topic = NewTopic("t", 1, replica_assignment=[[node]], config=config)
    admin.create_topics([topic])["t"].result(30)
    eventually(lambda: client.described("t").error_code == 0)
    client.fill("t", WINDOW, 1)
    finish(client, id_ := client.topic("t"), -1, -1)
    return id_


def given_later(client: Client) -> list[tuple[int, int, int]]:
    """Fetch until something is acquired, for a minute at most."""
    until, epoch = time.monotonic() + 60, 4
    while time.monotonic() < until:
        fetched = client.fetch(epoch, max_wait_ms=1000)
        assert fetched.response.error is ErrorCode.NONE
        if given := acquired(fetched):
            return given
        epoch += 1
    return []
