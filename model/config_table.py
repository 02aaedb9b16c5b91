"""Every configuration that concerns share groups: name, defaults, range, aliases, cross-checks."""

from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise

import attrs

from model.checks import MAX_INT64, whole
from model.errors import InvalidValueError
from model.profile import KAFKA, Profile

__all__ = ["CONFIGURATIONS", "ORDERED", "Configuration", "Scope", "default_of", "effective_values"]

Value = int | str | bool


class Scope(StrEnum):
    """Where a configuration is set."""

    BROKER = "broker"
    GROUP = "group"
    TOPIC = "topic"
    CLIENT = "client"


@attrs.frozen
class Configuration:
    """One configuration. ``low`` and ``high`` are inclusive; ``allowed`` lists names instead.

    ``kip`` and ``kafka`` are the defaults; None: unset, or unknown to that source.
    """

    name: str
    scope: Scope
    kip: Value | None
    kafka: Value | None
    low: int | None = None
    high: int | None = None
    allowed: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


def _broker(name: str, kip: Value | None, kafka: Value | None, *limits: int) -> Configuration:
    low, high = (*limits, None, None)[:2]
    return Configuration(name, Scope.BROKER, kip, kafka, low, high)


_LOCKS = "group.share.partition.max.record.locks"
_COUNT = "group.share.delivery.count.limit"
_DURATION = "group.share.record.lock.duration.ms"

_ALL = (
    Configuration(
        _COUNT, Scope.BROKER, 5, 5, 2, 10,
        aliases=("share.delivery.attempt.limit", "share.delivery.count.limit"),
    ),
    _broker("group.share.min.delivery.count.limit", None, 2, 2, 5),
    _broker("group.share.max.delivery.count.limit", None, 10, 5, 25),
    Configuration(
        _LOCKS, Scope.BROKER, 200, 2000, 100, 10_000,
        aliases=("share.record.lock.partition.limit", "group.share.record.lock.partition.limit"),
    ),
    _broker("group.share.min.partition.max.record.locks", None, 100, 100, 2000),
    _broker("group.share.max.partition.max.record.locks", None, 4000, 2000, 10_000),
    Configuration(
        _DURATION, Scope.BROKER, 30_000, 30_000, 1000, 3_600_000,
        aliases=("share.record.lock.duration.ms",),
    ),
    _broker("group.share.min.record.lock.duration.ms", None, 15_000, 1000, 30_000),
    Configuration(
        "group.share.max.record.lock.duration.ms", Scope.BROKER, 60_000, 60_000, 30_000, 3_600_000,
        aliases=("group.share.record.lock.duration.max.ms", "share.record.lock.duration.max.ms"),
    ),
    _broker("group.share.session.timeout.ms", 45_000, 45_000, 1),
    _broker("group.share.min.session.timeout.ms", 45_000, 45_000, 1),
    _broker("group.share.max.session.timeout.ms", 60_000, 60_000, 1),
    _broker("group.share.heartbeat.interval.ms", 5000, 5000, 1),
    _broker("group.share.min.heartbeat.interval.ms", 5000, 5000, 1),
    _broker("group.share.max.heartbeat.interval.ms", 15_000, 15_000, 1),
    _broker("group.share.max.groups", 10, None, 1, 100),
    _broker("group.share.max.size", 200, 200, 1, 1000),
    _broker("group.share.max.share.sessions", None, 2000, 1),
    _broker("group.share.assignment.interval.ms", None, 1000, 0),
    _broker("group.share.assignors", "SimpleAssignor", "simple"),
    _broker("group.share.enable", kip=False, kafka=None),
    _broker("share.coordinator.state.topic.num.partitions", 50, 50, 1),
    _broker("share.coordinator.state.topic.replication.factor", 3, 3, 1),
    _broker("share.coordinator.state.topic.segment.bytes", 104_857_600, 104_857_600, 1),
    _broker("share.coordinator.state.topic.min.isr", 2, 2, 1),
    _broker("share.coordinator.threads", 1, 1, 1),
    _broker("share.coordinator.snapshot.update.records.per.snapshot", None, 500, 0, 500),
    _broker("share.coordinator.write.timeout.ms", None, 5000, 1),
    _broker("share.coordinator.append.linger.ms", None, -1, -1),
    _broker("share.fetch.purgatory.purge.interval.requests", None, 1000, 1),
    _broker("errors.deadletterqueue.auto.create.topics.enable", kip=None, kafka=False),
    _broker("errors.deadletterqueue.topic.name.prefix", None, "dlq."),
    Configuration(
        "share.record.lock.duration.ms", Scope.GROUP, None, None, 1000, 3_600_000,
        aliases=("record.lock.duration.ms",),
    ),
    Configuration("share.delivery.count.limit", Scope.GROUP, None, None, 2, 25),
    Configuration("share.partition.max.record.locks", Scope.GROUP, None, None, 100, 10_000),
    Configuration("share.session.timeout.ms", Scope.GROUP, 45_000, 45_000, 1),
    Configuration("share.heartbeat.interval.ms", Scope.GROUP, 5000, 5000, 1),
    Configuration("share.renew.acknowledge.enable", Scope.GROUP, kip=None, kafka=True),
    Configuration(
        "share.isolation.level", Scope.GROUP, "read_uncommitted", "read_uncommitted",
        allowed=("read_uncommitted", "read_committed"), aliases=("group.share.isolation.level",),
    ),
    Configuration(
        "share.auto.offset.reset", Scope.GROUP, "latest", "latest",
        allowed=("latest", "earliest", "by_duration:"),
        aliases=("group.share.auto.offset.reset",),
    ),
    Configuration("errors.deadletterqueue.topic.name", Scope.GROUP, None, ""),
    Configuration("errors.deadletterqueue.copy.record.enable", Scope.GROUP, kip=None, kafka=False),
    Configuration("errors.deadletterqueue.group.enable", Scope.TOPIC, kip=None, kafka=False),
    Configuration(
        "share.acquire.mode", Scope.CLIENT, None, "batch_optimized",
        allowed=("batch_optimized", "record_limit"),
    ),
    Configuration(
        "share.acknowledgement.mode", Scope.CLIENT, "implicit", "implicit",
        allowed=("implicit", "explicit"),
    ),
    Configuration("max.poll.records", Scope.CLIENT, 500, 500, 1, 2**31 - 1),
)  # fmt: skip

CONFIGURATIONS: Mapping[tuple[Scope, str], Configuration] = {(c.scope, c.name): c for c in _ALL}

ORDERED = (
    ("group.share.min.delivery.count.limit", _COUNT, "group.share.max.delivery.count.limit"),
    (
        "group.share.min.partition.max.record.locks",
        _LOCKS,
        "group.share.max.partition.max.record.locks",
    ),
    (
        "group.share.min.record.lock.duration.ms",
        _DURATION,
        "group.share.max.record.lock.duration.ms",
    ),
    (
        "group.share.min.session.timeout.ms",
        "group.share.session.timeout.ms",
        "group.share.max.session.timeout.ms",
    ),
    (
        "group.share.min.heartbeat.interval.ms",
        "group.share.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
)
"""Minimum, value and maximum that Kafka checks against each other when a broker starts."""


def default_of(configuration: Configuration, profile: Profile) -> Value | None:
    """Return the default under ``profile``: the KIPs', or Kafka's where it has its own."""
    if profile != KAFKA and configuration.kip is not None:
        return configuration.kip
    return configuration.kafka if configuration.kafka is not None else configuration.kip


def effective_values(
    given: Mapping[str, Value], profile: Profile, scope: Scope = Scope.BROKER
) -> dict[str, Value]:
    """Return every configuration of ``scope`` with its value: given, else the default.

    Raises InvalidValueError for a name that does not exist, a value out of range, a name given
    twice through an alias, and a minimum, value and maximum that are not in order.
    """
    names = {
        name: c
        for c in CONFIGURATIONS.values()
        if c.scope is scope
        for name in (c.name, *c.aliases)
    }
    values: dict[str, Value] = {}
    for name, value in given.items():
        if name not in names:
            raise InvalidValueError(name, value, f"a {scope} configuration of share groups")
        configuration = names[name]
        if configuration.name in values:
            raise InvalidValueError(name, value, "one of a configuration's names, not two")
        values[configuration.name] = _checked(configuration, value)
    for configuration in names.values():
        default = default_of(configuration, profile)
        if default is not None:
            values.setdefault(configuration.name, default)
    _check_order(values)
    return values


def _checked(configuration: Configuration, value: Value) -> Value:
    default = configuration.kafka if configuration.kafka is not None else configuration.kip
    if configuration.low is not None:
        high = MAX_INT64 if configuration.high is None else configuration.high
        return whole(configuration.name, value, configuration.low, high)
    if default is not None and type(value) is not type(default):
        raise InvalidValueError(configuration.name, value, f"a {type(default).__name__}")
    if configuration.allowed and not any(
        value == name or (name.endswith(":") and str(value).startswith(name))
        for name in configuration.allowed
    ):
        raise InvalidValueError(configuration.name, value, ", ".join(configuration.allowed))
    return value


def _check_order(values: Mapping[str, Value]) -> None:
    for names in ORDERED:
        for low, high in pairwise(names):
            smaller, larger = values.get(low), values.get(high)
            if isinstance(smaller, int) and isinstance(larger, int) and smaller > larger:
                raise InvalidValueError(low, smaller, f"at most {high}, which is {larger}")
