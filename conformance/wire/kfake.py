"""kfake, the broker in Go for tests of clients, as an implementation under test."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import attrs

from conformance.wire.admin import Admin
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from conformance.wire.hooks import AdminHooks
from conformance.wire.servers import kfake_server
from conformance.wire.target import WireCapabilities, WireTarget
from model.config import SharePartitionConfig
from model.ranges import OffsetRange

__all__ = ["KfakeHooks", "kfake_target"]

_SWEEP_MS, _LATE_MS = 20, 180
_LOCK_MS = 500


class KfakeHooks:
    """Sets limits for the whole broker, since kfake does not heed those of a group."""

    def __init__(self, admin: Admin) -> None:
        """Work over ``admin``."""
        self._admin, self._others = admin, AdminHooks(admin)

    def capabilities(self) -> WireCapabilities:
        """Return what kfake can do; it can be configured as narrow as one likes."""
        return attrs.evolve(
            self._others.capabilities(),
            sweep_ms=_SWEEP_MS + _LATE_MS,
            lock_ms=_LOCK_MS,
            delivery_limits=(2, 3, 5),
            lock_limits=(4, 10, 200),
        )

    def create_topic(self, name: str, partitions: int) -> str:
        """Create a topic."""
        return self._others.create_topic(name, partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._others.delete_topic(name)

    def produce(
        self, topic: str, partition: int, batches: Sequence[tuple[int, int]], *, aborted: bool
    ) -> tuple[OffsetRange, ...]:
        """Append log batches."""
        return self._others.produce(topic, partition, batches, aborted=aborted)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Move the log start offset up."""
        self._others.delete_records(topic, partition, before)

    def configure(self, group: str, config: SharePartitionConfig) -> None:
        """Set what a group has of its own there, and the rest for the broker."""
        self._admin.configure(
            group,
            {
                "share.auto.offset.reset": config.auto_offset_reset.value,
                "share.isolation.level": config.isolation_level.value,
            },
        )
        self._admin.configure_broker(
            {
                "group.share.record.lock.duration.ms": str(config.record_lock_duration_ms),
                "group.share.delivery.count.limit": str(config.delivery_count_limit),
                "group.share.partition.max.record.locks": str(config.partition_max_record_locks),
            }
        )

    def join(self, group: str, topic: str, topic_id: str, partitions: int) -> None:
        """Do nothing: a fetch makes the group."""

    def leave(self, group: str) -> None:
        """Forget the group."""
        self._admin.configure(
            group, {"share.auto.offset.reset": None, "share.isolation.level": None}
        )


@contextmanager
def kfake_target(silence: float) -> Iterator[WireTarget]:
    """Give a broker of kfake, which may take so many seconds for an answer. Raises TargetError."""
    with (
        closing(kfake_server({"share.record.lock.sweep.interval.ms": str(_SWEEP_MS)})) as server,
        closing(
            BrokerTarget(
                server.address,
                KfakeHooks,
                name="kfake",
                version=server.version,
                profile="kafka",
                bounds=Bounds(seconds=silence),
            )
        ) as target,
    ):
        yield target
