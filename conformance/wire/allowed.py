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
_INTERVAL, _TIMEOUT = "heartbeat.interval.ms", "session.timeout.ms"
OF_MEMBERS = INTERVAL, TIMEOUT = f"share.{_INTERVAL}", f"share.{_TIMEOUT}"
_OWN, _LEAST, _MOST = "group.share.", "group.share.min.", "group.share.max."
_LONGEST_TIMEOUT_MS = 2000
"""The longest session timeout that a sequence waits for."""
_ASKED = (
    *(f"{end}{name}" for end in (_OWN, _LEAST, _MOST) for name in (_INTERVAL, _TIMEOUT)),
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
        asked = (*OF_A_GROUP, *OF_MEMBERS)
        own = frozenset(admin.settings(Resource.GROUP, "sharespec", asked)) or own
    can = attrs.evolve(
        can,
        config=can.config and own.issuperset(_NEEDED),
        committed=can.config and ISOLATION in own,
        renew_setting=can.config and can.renew and RENEWS in own,
        group_limits=all(f"share.{limit}" in own for limit in _LIMITS),
    )
    settings = admin.settings(Resource.BROKER, str(admin.nodes[0]), _ASKED)
    known = {name: int(value) for name, value in settings.items() if value.isdecimal()}
    return _of_members(_limited(can, known), known, own), own


def _of_members(
    can: WireCapabilities, known: dict[str, int], own: frozenset[str]
) -> WireCapabilities:
    """Add the heartbeat intervals and the session timeout that a group may have of its own.

    Only where the broker tells its own and the bounds of a group's.
    """
    needed = {f"{end}{_INTERVAL}" for end in (_OWN, _LEAST, _MOST)} | {f"{_OWN}{_TIMEOUT}"}
    if not (can.config and INTERVAL in own and needed <= known.keys()):
        return can
    bounds = dict.fromkeys((known[f"{_LEAST}{_INTERVAL}"], known[f"{_MOST}{_INTERVAL}"]))
    others = {known[f"{_OWN}{_INTERVAL}"], 0}
    shorter = [ms for ms in bounds if ms not in others and ms < known[f"{_OWN}{_TIMEOUT}"]]
    least = known.get(f"{_LEAST}{_TIMEOUT}", 0)
    fits = TIMEOUT in own and shorter and shorter[0] < least <= _LONGEST_TIMEOUT_MS
    return attrs.evolve(can, heartbeats_ms=tuple(shorter), timeout_ms=least if fits else 0)


def _spoken(admin: Admin) -> WireCapabilities:
    """Return what the versions of a broker allow."""
    spoken = admin.spoken
    fetch, acknowledge = spoken("share_fetch"), spoken("share_acknowledge")
    if fetch is None or acknowledge is None:
        raise TargetError("the broker has no share groups: no ShareFetch of version 1 or 2")
    described = spoken("describe_share_group_offsets")
    lag = described is not None and described[1] > 0
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
        lag=lag,
        delete_records=spoken("delete_records") is not None,
        gaps=transactions,
        aborted=transactions,
        transactions=transactions,
        # 4.1 answers an alteration without saying of which share-partition.
        alters=lag and spoken("alter_share_group_offsets") is not None,
        recreates=spoken("delete_groups") is not None,
        coordinators=(spoken("find_coordinator") or (0, 0))[1] >= _KNOWS_SHARE,
        config=configures,
        resets=tuple(each.value for each in AutoOffsetReset) if configures else ("earliest",),
        committed=configures,
    )


def _limited(can: WireCapabilities, known: dict[str, int]) -> WireCapabilities:
    """Cut to what the broker's settings allow, as far as it reports them."""

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
