"""crabka, a broker in Rust, as a target."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from conformance.wire.broker import BrokerTarget, served_target
from conformance.wire.servers import crabka_server
from conformance.wire.target import WireTarget

_LOCK_MS, _DELIVERY_LIMIT, _LOCK_LIMIT = 800, 3, 10
_SWEEP_MS, _LATE_MS = _LOCK_MS // 2, 200
_CONFIGS = {
    "group.share.record.lock.duration.ms": str(_LOCK_MS),
    "group.share.delivery.count.limit": str(_DELIVERY_LIMIT),
    "group.share.partition.max.record.locks": str(_LOCK_LIMIT),
}


_BROKER = partial(
    BrokerTarget,
    # It has the limits that it was started with, and no settings.
    can={
        "alters": False,
        "recreates": False,
        "config": False,
        "committed": False,
        "sweep_ms": _SWEEP_MS + _LATE_MS,
        "lock_ms": _LOCK_MS,
        "delivery_limits": (_DELIVERY_LIMIT,),
        "lock_limits": (_LOCK_LIMIT,),
    },
    # Once a group has a member, it lets nobody else fetch.
    joins=False,
)


@contextmanager
def crabka_target(silence: float) -> Iterator[WireTarget]:
    """Run a crabka broker; ``silence`` is its timeout in seconds. Raises TargetError."""
    with served_target(crabka_server(_CONFIGS), _BROKER, "crabka", silence) as target:
        yield target
