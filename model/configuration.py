"""The configuration in force for a group: the broker's values, the group's own and their limits."""

from collections.abc import Mapping

from model.checks import whole
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig, check_in_progress
from model.config_table import LIMITS, Scope, Value, effective_values, named
from model.errors import InvalidValueError
from model.profile import Profile


def effective_config(
    broker: Mapping[str, Value], group: Mapping[str, Value], profile: Profile
) -> SharePartitionConfig:
    """Return the values that a leader applies (KIP-932, Configuration; KIP-1240).

    The broker's value applies where the group sets none. A value of the group beyond the broker's
    limits, which must have changed after it was set, counts as the nearest limit (Kafka:
    ``GroupConfig.evaluate``). A leader reads the result at every use, so a change while records
    are held is an ``AlterConfig`` with the new result.

    Raises InvalidValueError for a name that does not exist, a value of another type or out of the
    configuration's own range, and limits that are not in order; among these, where records may be
    marked, the lock duration, the staleness threshold and the longest extension (KAFKA-20458).
    """
    values = effective_values(broker, profile)
    own = _within_limits(values, named(group, Scope.GROUP))
    own = effective_values(own, profile, Scope.GROUP)
    reset, _, _duration = str(own["share.auto.offset.reset"]).partition(":")

    def number(name: str) -> int:
        return int(own.get(f"share.{name}", values[f"group.share.{name}"]))

    config = SharePartitionConfig(
        number("delivery.count.limit"),
        number("partition.max.record.locks"),
        number("record.lock.duration.ms"),
        AutoOffsetReset(reset),
        IsolationLevel(str(own["share.isolation.level"])),
        renew_acknowledge_enable=own["share.renew.acknowledge.enable"] is True,
        dead_letter_queue=bool(own["errors.deadletterqueue.topic.name"]),
        in_progress_staleness_threshold_ms=number("in.progress.staleness.threshold.ms"),
        in_progress_max_lock_extension_ms=number("in.progress.max.lock.extension.ms"),
        in_progress_rebalance_grace_ms=number("in.progress.rebalance.grace.ms"),
    )
    if profile.in_progress:
        check_in_progress(config)
    return config


def check_group_values(
    broker: Mapping[str, Value], group: Mapping[str, Value], profile: Profile
) -> None:
    """Refuse what an administrator may not set for a group (Kafka: ``GroupConfig.validate``).

    Raises InvalidValueError as ``effective_config`` does, and for a value beyond the broker's
    limits, a session timeout that is not longer than the heartbeat interval, and the name of an
    internal topic for the dead-letter queue.
    """
    values = effective_values(broker, profile)
    settings = named(group, Scope.GROUP)
    own = effective_values(settings, profile, Scope.GROUP)
    for name in settings:
        if name in LIMITS:
            least, most = LIMITS[name]
            whole(name, own[name], int(values[least]), int(values[most]))
    session, heartbeat = (
        int(own.get(f"share.{name}", values[f"group.share.{name}"]))
        for name in ("session.timeout.ms", "heartbeat.interval.ms")
    )
    if session <= heartbeat:
        allowed = f"more than share.heartbeat.interval.ms, which is {heartbeat}"
        raise InvalidValueError("share.session.timeout.ms", session, allowed)
    topic = str(own["errors.deadletterqueue.topic.name"])
    if topic.startswith("__"):
        allowed = "a name that does not begin with __"
        raise InvalidValueError("errors.deadletterqueue.topic.name", topic, allowed)


def _within_limits(broker: Mapping[str, Value], group: Mapping[str, Value]) -> dict[str, Value]:
    within = dict(group)
    for name in group.keys() & LIMITS.keys():
        value = group[name]
        least, most = (int(broker[limit]) for limit in LIMITS[name])
        if type(value) is int:
            within[name] = min(max(value, least), most)
    return within
