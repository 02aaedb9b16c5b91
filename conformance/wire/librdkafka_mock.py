"""librdkafka's mock cluster as a target."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from conformance.wire.librdkafka import MockCluster
from conformance.wire.target import GroupTopic
from model.config import SharePartitionConfig

_CAN = {
    "alters": False,
    "recreates": False,
    "config": True,
    "group_limits": True,
    "delete_records": True,
    "gaps": False,
    "aborted": False,
    "transactions": False,
    "resets": ("earliest", "latest"),
    "lock_ms": 1000,
    "sweep_ms": 1100,
    "delivery_limits": (2, 3, 5),
    "lock_limits": (3, 10, 200),
}
"""With what it has by functions; it sweeps locks that have ended once a second. Its transactions
are of no use here: without records they leave no marker, and markers have a wrong checksum."""


class _MockBroker(BrokerTarget):
    """Call functions of the mock cluster for topics, settings and deletion.

    Its groups need no member that joins, and cannot be removed: each is used once. Settings apply
    to every group at once, which is enough since the kit uses one group at a time.
    """

    def __init__(self, cluster: MockCluster, bounds: Bounds) -> None:
        """Do the rest over Kafka's protocol. Its profile is the KIP's, which its source cites."""
        super().__init__(
            cluster.bootstrap,
            name="librdkafka mock cluster",
            version=cluster.version,
            profile="kip",
            bounds=bounds,
            can=_CAN,
            joins=False,
        )
        self._cluster = cluster

    def create_topic(self, name: str, partitions: int) -> str:
        """Create a topic."""
        self._cluster.do("topic_create", name, partitions, 1)
        return self._admin.topic_id(name, partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._cluster.do("topic_delete", name)

    def delete_records(self, place: GroupTopic, partition: int, before: int) -> None:
        """Move the log start offset up to ``before``."""
        topic = self._topics[place]
        self._cluster.do("partition_delete_records", topic, partition, before)

    def configure(self, group: str, config: SharePartitionConfig) -> None:  # noqa: ARG002 - of all
        """Set the settings of all groups."""
        self._cluster.configure(config)


@contextmanager
def librdkafka_mock(seconds: float = 10.0, version: str = "") -> Iterator[BrokerTarget]:
    """Run a mock cluster; ``seconds`` is the timeout of an answer, ``version`` that of the wheel.

    Raises TargetError.
    """
    # Metadata ends with two empty lists of tags.
    bounds = Bounds(seconds=seconds, surplus_bytes=1)
    with closing(MockCluster(version)) as cluster, closing(_MockBroker(cluster, bounds)) as target:
        yield target
