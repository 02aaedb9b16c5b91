"""librdkafka's mock cluster as a broker under test."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import attrs

from conformance.wire.admin import Admin
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from conformance.wire.hooks import AdminHooks
from conformance.wire.librdkafka import LIBRDKAFKA, MockCluster
from conformance.wire.target import WireCapabilities
from model.config import SharePartitionConfig
from model.ranges import OffsetRange

__all__ = ["MockHooks", "librdkafka_mock"]

_LOCK_MS, _SWEEP_MS = 1000, 1100
_DELIVERY_LIMITS, _LOCK_LIMITS = (2, 3, 5), (3, 10, 200)


class MockHooks:
    """What the mock cluster has functions for in place of requests: topics, settings, deletion.

    Its groups need no member that joins, and cannot be removed: each is used once.
    """

    def __init__(self, admin: Admin, cluster: MockCluster) -> None:
        """Produce over ``admin``, and do all else by ``cluster``."""
        self._admin, self._cluster, self._wire = admin, cluster, AdminHooks(admin)

    def capabilities(self) -> WireCapabilities:
        """Return what it can do. Locks that are over are swept once a second.

        Its transactions are of no use here: without records they leave no marker, and markers have
        a wrong checksum.
        """
        return attrs.evolve(
            self._wire.capabilities(),
            config=True,
            delete_records=True,
            gaps=False,
            aborted=False,
            lock_ms=_LOCK_MS,
            sweep_ms=_SWEEP_MS,
            delivery_limits=_DELIVERY_LIMITS,
            lock_limits=_LOCK_LIMITS,
        )

    def create_topic(self, name: str, partitions: int) -> str:
        """Create a topic; return its id."""
        self._cluster.create_topic(name, partitions)
        return self._admin.topic_id(name, partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._cluster.delete_topic(name)

    def produce(
        self, topic: str, partition: int, batches: Sequence[tuple[int, int]], *, aborted: bool
    ) -> tuple[OffsetRange, ...]:
        """Append log batches."""
        return self._wire.produce(topic, partition, batches, aborted=aborted)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Move the log start offset up."""
        self._cluster.delete_records(topic, partition, before)

    def configure(self, group: str, config: SharePartitionConfig) -> None:  # noqa: ARG002 - one place at a time
        """Set the configuration, of every group at once: only one is used at a time."""
        self._cluster.configure(config)

    def join(self, group: str, topic: str, topic_id: str, partitions: int) -> None:
        """Do nothing: a group comes about with its first fetch."""

    def leave(self, group: str) -> None:
        """Do nothing: a group stays."""


@contextmanager
def librdkafka_mock(seconds: float = 10.0) -> Iterator[BrokerTarget]:
    """Run a mock cluster, which may take so long for an answer. Raises TargetError.

    It is judged as the KIP says, since its source cites that.
    """
    with closing(MockCluster()) as cluster:
        target = BrokerTarget(
            cluster.bootstrap,
            lambda admin: MockHooks(admin, cluster),
            name="librdkafka mock cluster",
            version=LIBRDKAFKA,
            profile="kip",
            # Metadata ends with two empty lists of tags.
            bounds=Bounds(seconds=seconds, surplus_bytes=1),
        )
        with closing(target):
            yield target
