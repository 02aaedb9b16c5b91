"""What a broker can do by its versions and settings, and which settings its groups have."""

from contextlib import suppress

import attrs

from conformance.target import TargetError
from conformance.wire.admin import Admin, Resource
from conformance.wire.target import WireCapabilities
from model.config import AutoOffsetReset

_LOCKS = "partition.max.record.locks"
_MIN_LOCK = "group.share.min.record.lock.duration.ms"
_LIMITS = ("delivery.count.limit", _LOCKS)
_ASKED = (
    *(_MIN_LOCK, *(f"group.share.{limit}" for limit in _LIMITS)),
    *(f"group.share.{end}.{limit}" for end in ("min", "max") for limit in _LIMITS),
)
_NEEDED = ("share.record.lock.duration.ms", "share.auto.offset.reset")
ISOLATION, RENEWS = "share.isolation.level", "share.renew.acknowledge.enable"
OF_A_GROUP = (*_NEEDED, ISOLATION, RENEWS, *(f"share.{limit}" for limit in _LIMITS))
_KNOWS_SHARE = 6
"""The first version of FindCoordinator with the key type SHARE."""
_DELIVERY_LIMITS, _LOCK_LIMITS = (2, 3, 5), (100, 200)


def allowed(admin: Admin) -> tuple[WireCapabilities, frozenset[str]]:
    """Return what a broker's versions and settings allow, and the settings that a group may have.

    Raises TargetError.
    """
    can, own = _spoken(admin), frozenset(OF_A_GROUP)
    if admin.spoken("describe_configs") is None:
        return can, own
    # A broker that does not describe groups is asked for all.
    with suppress(TargetError):
        own = frozenset(admin.settings(Resource.GROUP, "sharespec", OF_A_GROUP)) or own
    can = attrs.evolve(
        can,
        config=can.config and own.issuperset(_NEEDED),
        committed=can.config and ISOLATION in own,
        renew_setting=can.config and can.renew and RENEWS in own,
        group_limits=all(f"share.{limit}" in own for limit in _LIMITS),
    )
    settings = admin.settings(Resource.BROKER, str(admin.nodes[0]), _ASKED)
    return _limited(can, settings), own


def _spoken(admin: Admin) -> WireCapabilities:
    """Return what the versions of a broker allow."""
    spoken = admin.spoken
    fetch, acknowledge = spoken("share_fetch"), spoken("share_acknowledge")
    if fetch is None or acknowledge is None:
        raise TargetError("the broker has no share groups: no ShareFetch of version 1 or 2")
    described = spoken("describe_share_group_offsets")
    transactions = all(
        spoken(name) for name in ("init_producer_id", "add_partitions_to_txn", "end_txn")
    )
    configures = spoken("incremental_alter_configs") is not None
    return WireCapabilities(
        fetch_versions=fetch,
        acknowledge_versions=acknowledge,
        acquire_modes=("batch_optimized", "record_limit")[: fetch[1]],
        renew=min(fetch[1], acknowledge[1]) > 1,
        offsets=described is not None,
        lag=described is not None and described[1] > 0,
        delete_records=spoken("delete_records") is not None,
        gaps=transactions,
        aborted=transactions,
        transactions=transactions,
        # 4.1 answers an alteration without saying of which share-partition.
        alters=described is not None
        and described[1] > 0
        and spoken("alter_share_group_offsets") is not None,
        recreates=spoken("delete_groups") is not None,
        coordinators=(spoken("find_coordinator") or (0, 0))[1] >= _KNOWS_SHARE,
        config=configures,
        resets=tuple(each.value for each in AutoOffsetReset) if configures else ("earliest",),
        committed=configures,
    )


def _limited(can: WireCapabilities, settings: dict[str, str]) -> WireCapabilities:
    """Cut to what the broker's settings allow, as far as it reports them."""
    known = {name: int(value) for name, value in settings.items() if value.isdecimal()}

    def within(limit: str, wanted: tuple[int, ...]) -> tuple[int, ...]:
        if not can.group_limits and (fixed := known.get(f"group.share.{limit}")):
            return (fixed,)
        low = known.get(f"group.share.min.{limit}", min(wanted))
        high = known.get(f"group.share.max.{limit}", max(wanted))
        return tuple(version for version in wanted if low <= version <= high) or (low,)

    return attrs.evolve(
        can,
        lock_ms=max(can.lock_ms, known.get(_MIN_LOCK, 0)),
        delivery_limits=within("delivery.count.limit", _DELIVERY_LIMITS),
        lock_limits=within(_LOCKS, _LOCK_LIMITS),
    )
