"""librdkafka's mock cluster as a target."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

from conformance.wire.admin import Admin
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from conformance.wire.hooks import Hooks
from conformance.wire.librdkafka import MockCluster
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
    "lock_ms": 1000,
    "sweep_ms": 1100,
    "delivery_limits": (2, 3, 5),
    "lock_limits": (3, 10, 200),
}
"""With what it has by functions; it sweeps locks that have ended once a second. Its transactions
are of no use here: without records they leave no marker, and markers have a wrong checksum."""


class _MockHooks(Hooks):
    """Call functions of the mock cluster for topics, settings and deletion; produce over ``admin``.

    Its groups need no member that joins, and cannot be removed: each is used once. Settings apply
    to every group at once, which is enough since the kit uses one group at a time.
    """

    def __init__(self, admin: Admin, cluster: MockCluster) -> None:
        """Do the rest over ``admin``."""
        super().__init__(admin, _CAN, joins=False)

        def create_topic(name: str, partitions: int) -> str:
            cluster.create_topic(name, partitions)
            return admin.topic_id(name, partitions)

        self.create_topic = create_topic
        self.delete_topic, self.delete_records = cluster.delete_topic, cluster.delete_records
        self._cluster = cluster

    def configure(self, group: str, config: SharePartitionConfig) -> None:  # noqa: ARG002 - of all
        """Set the settings of all groups."""
        self._cluster.configure(config)


@contextmanager
def librdkafka_mock(seconds: float = 10.0, version: str = "") -> Iterator[BrokerTarget]:
    """Run a mock cluster; ``seconds`` is the timeout of an answer, ``version`` that of the wheel.

    Raises TargetError.

    Its profile is the KIP's, since its source cites the KIP.
    """
    with closing(MockCluster(version)) as cluster:
        target = BrokerTarget(
            cluster.bootstrap,
            partial(_MockHooks, cluster=cluster),
            name="librdkafka mock cluster",
            version=cluster.version,
            profile="kip",
            # Metadata ends with two empty lists of tags.
            bounds=Bounds(seconds=seconds, surplus_bytes=1),
        )
        with closing(target):
            yield target
