"""kfake, a broker in Go for tests of clients, as a target."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from conformance.wire.broker import BrokerTarget, served_target
from conformance.wire.servers import kfake_server
from conformance.wire.target import WireTarget
from model.config import SharePartitionConfig

_SWEEP_MS, _LATE_MS = 20, 180
_LOCK_MS = 500
_CAN = {
    "alters": False,
    "recreates": False,
    "group_limits": True,
    "sweep_ms": _SWEEP_MS + _LATE_MS,
    "lock_ms": _LOCK_MS,
    "delivery_limits": (2, 3, 5),
    "lock_limits": (4, 10, 200),
}
"""It accepts any limits, so that the narrowest are chosen."""
_CONFIGS = {"share.record.lock.sweep.interval.ms": str(_SWEEP_MS)}


_OF_A_GROUP = ("share.auto.offset.reset", "share.isolation.level")


class KfakeBroker(BrokerTarget):
    """Set limits for the whole broker, since kfake ignores those of a group."""

    def configure(self, group: str, config: SharePartitionConfig) -> None:
        """Set the settings of a group that it has, and the broker's limits."""
        values = config.auto_offset_reset.value, config.isolation_level.value
        self._admin.configure(group, dict(zip(_OF_A_GROUP, values, strict=True)))
        self._admin.configure_broker(
            {
                "group.share.record.lock.duration.ms": str(config.record_lock_duration_ms),
                "group.share.delivery.count.limit": str(config.delivery_count_limit),
                "group.share.partition.max.record.locks": str(config.partition_max_record_locks),
            }
        )

    def leave(self, group: str) -> None:
        """Delete the settings of a group."""
        self._admin.configure(group, dict.fromkeys(_OF_A_GROUP))


@contextmanager
def kfake_target(silence: float, version: str = "") -> Iterator[WireTarget]:
    """Run a kfake broker, of a version if given; ``silence``: its timeout in s. TargetError."""
    server = kfake_server(_CONFIGS, version=version)
    # The first fetch creates the group, so that no member has to join.
    broker = partial(KfakeBroker, can=_CAN, joins=False)
    with served_target(server, broker, "kfake", silence) as target:
        yield target
