"""What is looked at: of a request its group alone, of time what is due."""

import attrs
import pytest

from conformance.wire.records import record_batch
from model.share_messages import PartitionRequest, ShareFetch, TopicPartition
from serve.batches import produced_batch
from serve.coordination import Beat, expel, heartbeat, remove, update_all
from serve.deadlines import Deadlines
from serve.node import Cluster, Options
from serve.running import EARLIEST
from serve.topics import create_topic, delete_topic, produce, reconfigure
from spec.share_broker import ShareBroker
from spec.share_request import handle

GROUPS = ("g", "h", "i")
LOCK_MS, SESSION_MS = 30_000, 45_000
BROKER = {"group.share.min.session.timeout.ms": 10_000}


@attrs.define
class Clocked:
    """A cluster whose three groups have topics t and u; time stands still."""

    now: int = 0
    cluster: Cluster = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        def time() -> int:
            return self.now

        self.cluster = Cluster(Options(group=EARLIEST, broker=BROKER), time, time, time)
        for name in ("t", "u"):
            create_topic(self.cluster, name, 2)
        for group in GROUPS:
            heartbeat(self.cluster, Beat(group, "m", 0, frozenset({"t" if group == "g" else "u"})))

    def shares(self) -> dict[str, ShareBroker]:
        return dict(self.cluster.nodes[0].shares)

    def produce(self, topic: str) -> None:
        batch = produced_batch(record_batch(3), self.cluster.options.limits)
        produce(self.cluster, self.cluster.topics[topic], 0, batch)

    def fetch(self, group: str, topic: str) -> None:
        place = TopicPartition(str(self.cluster.topics[topic].id), 0)
        asked, node = ShareFetch(group, "m", 0, (PartitionRequest(place),)), self.cluster.nodes[0]
        node.put(group, handle(node.share(group), asked, self.now).broker)

    def changed(self, before: dict[str, ShareBroker]) -> set[str]:
        after = self.shares()
        return {group for group in GROUPS if after.get(group) is not before.get(group)}


@pytest.mark.parametrize(
    ("what", "looked_at"),
    [
        (lambda c: c.produce("t"), {"g"}),
        (lambda c: c.produce("u"), {"h", "i"}),
        (lambda c: c.fetch("h", "u"), {"h"}),
        (lambda c: heartbeat(c.cluster, Beat("i", "m", 2, frozenset({"t"}))), {"i"}),
        (lambda c: update_all(c.cluster, ("v",)), set()),
        (lambda c: reconfigure(c.cluster, "g"), {"g"}),
        (lambda c: delete_topic(c.cluster, c.cluster.topics["t"]), {"g", "h", "i"}),
    ],
)
def test_what_concerns_a_group_leaves_the_others_as_they_are(
    what: object, looked_at: set[str]
) -> None:
    clocked = Clocked()
    before = clocked.shares()
    assert callable(what)
    what(clocked)
    assert clocked.changed(before) == looked_at


def test_locks_end_by_a_look_at_the_groups_that_have_some() -> None:
    clocked = Clocked()
    cluster = clocked.cluster
    clocked.produce("t")
    clocked.produce("u")
    assert cluster.locks.next() is None
    clocked.fetch("g", "t")
    clocked.now = 10
    clocked.fetch("h", "u")
    assert cluster.locks.next() == LOCK_MS
    for now, ended in ((LOCK_MS - 1, set()), (LOCK_MS, {"g"}), (LOCK_MS + 10, {"h"})):
        clocked.now, before = now, clocked.shares()
        assert len(list(cluster.end_locks())) == len(ended)
        assert clocked.changed(before) == ended
    assert cluster.locks.next() is None


def test_members_are_removed_by_a_look_at_the_groups_that_are_silent() -> None:
    clocked = Clocked()
    cluster = clocked.cluster
    clocked.now = 1000
    heartbeat(cluster, Beat("h", "m", cluster.groups["h"].members["m"].epoch, None))
    for now, left in ((SESSION_MS, 3), (SESSION_MS + 1, 1), (SESSION_MS + 1001, 0)):
        clocked.now = now
        list(expel(cluster))
        assert sum(len(group.members) for group in cluster.groups.values()) == left
    assert cluster.silence.next() is None


def test_who_leaves_while_others_are_removed_is_gone_already() -> None:
    clocked = Clocked()
    cluster = clocked.cluster
    heartbeat(cluster, Beat("g", "n", 0, frozenset({"t"})))
    clocked.now = SESSION_MS + 1
    removals = expel(cluster)
    next(removals)
    (left,) = cluster.groups["g"].members.values()
    remove(cluster, cluster.groups["g"], left)
    list(removals)
    assert not any(group.members for group in cluster.groups.values())


def test_a_session_that_becomes_shorter_ends_earlier() -> None:
    clocked = Clocked()
    clocked.now = SESSION_MS - 1
    clocked.cluster.settings["g"] = {"share.session.timeout.ms": "10000"}
    list(expel(clocked.cluster))
    assert clocked.cluster.groups["g"].members
    reconfigure(clocked.cluster, "g")
    list(expel(clocked.cluster))
    assert not clocked.cluster.groups["g"].members


def test_what_is_scheduled_twice_is_due_once_at_the_earlier_time() -> None:
    clocked = Clocked()
    deadlines = Deadlines[str](clocked.cluster.earlier)
    for what, when in (("a", 5), ("b", 3), ("a", 2), ("a", 7)):
        deadlines.schedule(what, when)
    assert [deadlines.next(), list(deadlines.due(1)), list(deadlines.due(3))] == [2, [], ["a", "b"]]
    assert list(deadlines.due(9)) == []
    deadlines.schedule("a", 9)
    assert list(deadlines.due(9)) == ["a"]
