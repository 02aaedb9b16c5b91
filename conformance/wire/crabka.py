"""crabka, a broker in Rust, as an implementation under test."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import attrs

from conformance.wire.admin import Admin
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from conformance.wire.hooks import AdminHooks
from conformance.wire.servers import crabka_server
from conformance.wire.target import WireCapabilities, WireTarget
from model.config import SharePartitionConfig
from model.ranges import OffsetRange

__all__ = ["CrabkaHooks", "crabka_target"]

_LOCK_MS, _DELIVERY_LIMIT, _LOCK_LIMIT = 800, 3, 10
_SWEEP_MS, _LATE_MS = _LOCK_MS // 2, 200
_CONFIGS = {
    "group.share.record.lock.duration.ms": str(_LOCK_MS),
    "group.share.delivery.count.limit": str(_DELIVERY_LIMIT),
    "group.share.partition.max.record.locks": str(_LOCK_LIMIT),
}


class CrabkaHooks:
    """Makes no group: once it has a member, crabka lets nobody else fetch. It has no settings."""

    def __init__(self, admin: Admin) -> None:
        """Work over ``admin``."""
        self._others = AdminHooks(admin)

    def capabilities(self) -> WireCapabilities:
        """Return what crabka can do, with the limits that it was started with."""
        return attrs.evolve(
            self._others.capabilities(),
            config=False,
            sweep_ms=_SWEEP_MS + _LATE_MS,
            lock_ms=_LOCK_MS,
            delivery_limits=(_DELIVERY_LIMIT,),
            lock_limits=(_LOCK_LIMIT,),
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
        """Do nothing: it is not asked for."""

    def join(self, group: str, topic: str, topic_id: str, partitions: int) -> None:
        """Do nothing: whoever fetches is let in."""

    def leave(self, group: str) -> None:
        """Do nothing: there is no group."""


@contextmanager
def crabka_target(silence: float) -> Iterator[WireTarget]:
    """Give a broker of crabka, which may take so many seconds for an answer. Raises TargetError."""
    with (
        closing(crabka_server(_CONFIGS)) as server,
        closing(
            BrokerTarget(
                server.address,
                CrabkaHooks,
                name="crabka",
                version=server.version,
                profile="kafka",
                bounds=Bounds(seconds=silence),
            )
        ) as target,
    ):
        yield target
