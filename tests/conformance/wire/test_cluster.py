"""What a cluster reports of itself, and what it withholds."""

import attrs
import pytest

from conformance.target import TargetError
from conformance.wire.cluster import SeenCluster, SeenNode, StateTopic, examine
from conformance.wire.connection import Address, Bounds, Wire
from tests.conformance.wire.fake import faking
from tests.conformance.wire.fake_cluster import FakeCluster


def opened(address: Address) -> Wire:
    return Wire(address, Bounds(seconds=2))


def examined(fake: FakeCluster) -> SeenCluster:
    with faking(fake) as address:
        return examine(Address.parse(address), opened)


def test_a_cluster_tells_what_it_permits() -> None:
    cluster = examined(FakeCluster())
    (node,) = cluster.nodes
    assert (cluster.id, node.id, node.level, node.problem) == ("c", 1, "WARN", "")
    assert cluster.may == {"READ", "ALTER_CONFIGS"}
    assert cluster.share_fetch == (1, 2)
    assert cluster.features == {"share.version": 1}
    assert cluster.state_topic == StateTopic(1, frozenset({"READ", "ALTER_CONFIGS"}))
    assert cluster.settings == {"group.share.delivery.count.limit": "5"}
    assert cluster.groups == ("g",)


def test_nothing_is_asked_that_changes_anything() -> None:
    fake = FakeCluster()
    examined(fake)
    reading = {"api_versions", "metadata", "describe_cluster", "describe_configs", "list_groups"}
    assert set(fake.asked) == reading
    assert not any(one.allow_auto_topic_creation for one in fake.of("metadata"))


def test_what_is_withheld_is_named() -> None:
    fake = FakeCluster()
    fake.may, fake.topic_error, fake.logger = -(1 << 31), 29, {}
    cluster = examined(fake)
    assert cluster.may == frozenset()
    assert cluster.state_topic == "TOPIC_AUTHORIZATION_FAILED"
    assert cluster.nodes[0].problem == "it has no logger kafka.request.logger"
    fake = FakeCluster()
    fake.topic_error = 3
    assert examined(fake).state_topic is None


def test_a_silent_broker_is_a_problem_of_its_own() -> None:
    fake = FakeCluster()
    fake.brokers += [{"node_id": 2, "host": "127.0.0.1", "port": 1}]
    cluster = examined(fake)
    silent = cluster.nodes[1]
    assert attrs.evolve(silent, problem="") == SeenNode(2, Address("127.0.0.1", 1))
    assert "cannot be reached" in silent.problem
    assert cluster.groups == ("g",)


def test_an_old_broker_is_refused() -> None:
    fake = FakeCluster()
    fake.versions |= {60: (0, -1)}
    with pytest.raises(TargetError, match=r"does not speak describe_cluster \(60\)"):
        examined(fake)
