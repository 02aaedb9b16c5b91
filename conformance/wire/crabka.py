"""crabka, a broker in Rust, as a target."""

from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from conformance.wire.admin import Admin
from conformance.wire.broker import served_target
from conformance.wire.hooks import Hooks, admin_hooks
from conformance.wire.servers import crabka_server
from conformance.wire.target import WireCapabilities, WireTarget

_LOCK_MS, _DELIVERY_LIMIT, _LOCK_LIMIT = 800, 3, 10
_SWEEP_MS, _LATE_MS = _LOCK_MS // 2, 200
_CONFIGS = {
    "group.share.record.lock.duration.ms": str(_LOCK_MS),
    "group.share.delivery.count.limit": str(_DELIVERY_LIMIT),
    "group.share.partition.max.record.locks": str(_LOCK_LIMIT),
}


def crabka_hooks(admin: Admin) -> Hooks:
    """Create no group: once it has a member, crabka lets nobody else fetch. It has no settings."""
    others = admin_hooks(admin)
    return attrs.evolve(
        others,
        capabilities=lambda: _capabilities(others),
        join=lambda _group, _topic, _topic_id, _partitions: None,
        leave=lambda _group: None,
    )


def _capabilities(others: Hooks) -> WireCapabilities:
    """Crabka has the limits that it was started with."""
    return attrs.evolve(
        others.capabilities(),
        alters=False,
        recreates=False,
        config=False,
        committed=False,
        sweep_ms=_SWEEP_MS + _LATE_MS,
        lock_ms=_LOCK_MS,
        delivery_limits=(_DELIVERY_LIMIT,),
        lock_limits=(_LOCK_LIMIT,),
    )


@contextmanager
def crabka_target(silence: float) -> Iterator[WireTarget]:
    """Run a crabka broker; ``silence`` is its timeout in seconds. Raises TargetError."""
    with served_target(crabka_server(_CONFIGS), crabka_hooks, "crabka", silence) as target:
        yield target
