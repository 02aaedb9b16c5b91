"""Every configuration that concerns share groups: name, defaults, range, aliases, cross-checks."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from itertools import pairwise

import attrs

from model.checks import MAX_INT64, whole
from model.errors import InvalidValueError
from model.profile import Profile

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

    ``kip`` and ``kafka`` are the defaults; None: unset, or unknown to that source. ``low`` and
    ``high`` are Kafka's, and the KIPs' too unless ``kip_range`` says otherwise. ``broker`` names
    the configuration whose value a group has that does not set its own, and whose limits bound it.
    """

    name: str
    scope: Scope
    kip: Value | None
    kafka: Value | None
    low: int | None = None
    high: int | None = None
    allowed: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    broker: str | None = None
    kip_range: tuple[int, int] | None = None


def _broker(
    name: str,
    kip: Value | None,
    kafka: Value | None,
    *limits: int,
    kip_range: tuple[int, int] | None = None,
) -> Configuration:
    low, high = (*limits, None, None)[:2]
    return Configuration(name, Scope.BROKER, kip, kafka, low, high, kip_range=kip_range)


def _state_topic(name: str, default: int) -> Configuration:
    """Return a configuration of the topic that holds the state of share groups."""
    names = f"share.coordinator.state.topic.{name}", (f"group.share.state.topic.{name}",)
    return Configuration(names[0], Scope.BROKER, default, default, 1, aliases=names[1])


def _group(name: str, low: int, *aliases: str) -> Configuration:
    """Return a group's own value of a configuration that the broker has too."""
    broker = f"group.share.{name}"
    return Configuration(
        f"share.{name}", Scope.GROUP, None, None, low, aliases=aliases, broker=broker
    )


_ALL = (
    Configuration(
        "group.share.delivery.count.limit", Scope.BROKER, 5, 5, 2, 10,
        aliases=("share.delivery.attempt.limit", "share.delivery.count.limit"),
    ),
    _broker("group.share.min.delivery.count.limit", None, 2, 2, 5),
    _broker("group.share.max.delivery.count.limit", None, 10, 5, 25),
    Configuration(
        "group.share.partition.max.record.locks", Scope.BROKER, 200, 2000, 100, 10_000,
        aliases=("share.record.lock.partition.limit", "group.share.record.lock.partition.limit"),
    ),
    _broker("group.share.min.partition.max.record.locks", None, 100, 100, 2000),
    _broker("group.share.max.partition.max.record.locks", None, 4000, 2000, 10_000),
    Configuration(
        "group.share.record.lock.duration.ms", Scope.BROKER, 30_000, 30_000, 1000, 3_600_000,
        aliases=("share.record.lock.duration.ms",), kip_range=(1000, 60_000),
    ),
    _broker("group.share.min.record.lock.duration.ms", 1000, 15_000, 1000, 30_000),
    Configuration(
        "group.share.max.record.lock.duration.ms", Scope.BROKER, 60_000, 60_000, 30_000, 3_600_000,
        aliases=("group.share.record.lock.duration.max.ms", "share.record.lock.duration.max.ms"),
        kip_range=(1000, 3_600_000),
    ),
    _broker("group.share.session.timeout.ms", 45_000, 45_000, 1),
    _broker("group.share.min.session.timeout.ms", 45_000, 45_000, 1),
    _broker("group.share.max.session.timeout.ms", 60_000, 60_000, 1),
    _broker("group.share.heartbeat.interval.ms", 5000, 5000, 1),
    _broker("group.share.min.heartbeat.interval.ms", 5000, 5000, 1),
    _broker("group.share.max.heartbeat.interval.ms", 15_000, 15_000, 1),
    _broker("group.share.assignment.interval.ms", None, 1000, 0),
    _broker("group.share.min.assignment.interval.ms", None, 0, 0),
    _broker("group.share.max.assignment.interval.ms", None, 15_000, 0),
    _broker("group.share.assignor.offload.enable", kip=None, kafka=True),
    _broker("group.share.max.groups", 10, None, 1, 100),
    _broker("group.share.max.size", 200, 200, 1, 1000, kip_range=(10, 1000)),
    _broker("group.share.max.share.sessions", None, 2000, 1),
    _broker(
        "group.share.assignors", "org.apache.kafka.coordinator.group.share.SimpleAssignor",
        "simple",
    ),
    _broker("group.share.initialize.retry.interval.ms", None, 30_000, 1),
    _broker(
        "group.share.persister.class.name", None,
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
    ),
    Configuration(
        "group.share.enable", Scope.BROKER, kip=False, kafka=None, aliases=("share.group.enable",)
    ),
    _broker("group.coordinator.rebalance.protocols", None, "classic,consumer,streams"),
    _state_topic("num.partitions", 50),
    _state_topic("replication.factor", 3),
    _state_topic("segment.bytes", 104_857_600),
    _state_topic("min.isr", 2),
    _broker("share.coordinator.state.topic.compression.codec", None, 0, 0, 4),
    _broker("share.coordinator.state.topic.prune.interval.ms", None, 300_000, 1),
    _broker("share.coordinator.threads", 1, 1, 1),
    _broker("share.coordinator.snapshot.update.records.per.snapshot", None, 500, 0, 500),
    _broker("share.coordinator.cold.partition.snapshot.interval.ms", None, 300_000, 1),
    _broker("share.coordinator.write.timeout.ms", None, 5000, 1),
    _broker("share.coordinator.load.buffer.size", None, 5_242_880, 1),
    _broker("share.coordinator.append.linger.ms", None, -1, -1),
    _broker("share.coordinator.cached.buffer.max.bytes", None, 1_048_588, 524_288),
    _broker("share.fetch.purgatory.purge.interval.requests", None, 1000, 1),
    _broker("errors.deadletterqueue.auto.create.topics.enable", kip=None, kafka=False),
    _broker("errors.deadletterqueue.topic.name.prefix", None, "dlq."),
    _broker("group.share.in.progress.staleness.threshold.ms", 90_000, None, 0),
    _broker("group.share.in.progress.max.lock.extension.ms", 1_800_000, None, 0),
    _broker("group.share.in.progress.rebalance.grace.ms", 5000, None, 0),
    Configuration("group.type", Scope.GROUP, "consumer", None, allowed=("consumer", "share")),
    _group("record.lock.duration.ms", 1000, "record.lock.duration.ms"),
    _group("delivery.count.limit", 2),
    _group("partition.max.record.locks", 100),
    _group("session.timeout.ms", 1),
    _group("heartbeat.interval.ms", 1),
    _group("assignment.interval.ms", 0),
    Configuration(
        "share.assignor.offload.enable", Scope.GROUP, None, None,
        broker="group.share.assignor.offload.enable",
    ),
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
    Configuration("max.in-flight.progress.batches", Scope.CLIENT, 100, None, 1),
)  # fmt: skip

CONFIGURATIONS: Mapping[tuple[Scope, str], Configuration] = {(c.scope, c.name): c for c in _ALL}

_BOUNDED = (
    "delivery.count.limit",
    "partition.max.record.locks",
    "record.lock.duration.ms",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "assignment.interval.ms",
)
ORDERED = tuple(
    (f"group.share.min.{name}", f"group.share.{name}", f"group.share.max.{name}")
    for name in _BOUNDED
)
"""Minimum, value and maximum that Kafka checks against each other when a broker starts."""

LIMITS: Mapping[str, tuple[str, str]] = {
    c.name: (low, high) for c in _ALL for low, value, high in ORDERED if value == c.broker
}
"""The broker's configurations, least and most, that bound a group's own value."""

_ISO_DURATION = re.compile(r"P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?")


def default_of(configuration: Configuration, profile: Profile) -> Value | None:
    """Return the default under ``profile``: the KIPs', or Kafka's where it has its own."""
    if not profile.configured_as_kafka and configuration.kip is not None:
        return configuration.kip
    return configuration.kafka if configuration.kafka is not None else configuration.kip


def range_of(configuration: Configuration, profile: Profile) -> tuple[int | None, int | None]:
    """Return the least and the greatest value under ``profile``: the KIPs', or Kafka's."""
    if not profile.configured_as_kafka and configuration.kip_range is not None:
        return configuration.kip_range
    return configuration.low, configuration.high


def named(given: Mapping[str, Value], scope: Scope) -> dict[str, Value]:
    """Return the values by the current names of Kafka; ``given`` may use aliases.

    Raises InvalidValueError for an unknown name, with the nearest known one, and for a name that is
    given twice through an alias.
    """
    names = {
        name: c.name
        for c in CONFIGURATIONS.values()
        if c.scope is scope
        for name in (c.name, *c.aliases)
    }
    values: dict[str, Value] = {}
    for name, value in given.items():
        if name not in names:
            nearest = names[get_close_matches(name, names, 1, 0)[0]]
            allowed = f"a {scope} configuration of share groups, of which {nearest} comes nearest"
            raise InvalidValueError(name, value, allowed)
        if names[name] in values:
            raise InvalidValueError(name, value, "one of a configuration's names, not two")
        values[names[name]] = value
    return values


def effective_values(
    given: Mapping[str, Value], profile: Profile, scope: Scope = Scope.BROKER
) -> dict[str, Value]:
    """Return every configuration of ``scope`` with its value: given, else the default.

    Raises InvalidValueError as ``named`` does, for a value out of range, and for a minimum, value
    and maximum that are not in order.
    """
    values = {
        name: _checked(CONFIGURATIONS[scope, name], value, profile)
        for name, value in named(given, scope).items()
    }
    for configuration in CONFIGURATIONS.values():
        default = default_of(configuration, profile)
        if configuration.scope is scope and default is not None:
            values.setdefault(configuration.name, default)
    _check_order(values)
    return values


def _checked(configuration: Configuration, value: Value, profile: Profile) -> Value:
    low, high = range_of(configuration, profile)
    if low is not None:
        return whole(configuration.name, value, low, MAX_INT64 if high is None else high)
    default = _example(configuration)
    if type(value) is not type(default):
        raise InvalidValueError(configuration.name, value, f"a {type(default).__name__}")
    if configuration.allowed and not any(_is(str(value), name) for name in configuration.allowed):
        allowed = ", ".join(
            f"{n}P1DT2H3M4S" if n.endswith(":") else n for n in configuration.allowed
        )
        raise InvalidValueError(configuration.name, value, allowed)
    return value


def _example(configuration: Configuration) -> Value | None:
    """Return a value of the type that the configuration has."""
    if configuration.broker is not None:
        configuration = CONFIGURATIONS[Scope.BROKER, configuration.broker]
    return configuration.kip if configuration.kafka is None else configuration.kafka


def _is(value: str, allowed: str) -> bool:
    """Whether a value is the one allowed; a colon at its end stands for any duration."""
    if not allowed.endswith(":"):
        return value == allowed
    return value.startswith(allowed) and bool(_ISO_DURATION.fullmatch(value[len(allowed) :]))


def _check_order(values: Mapping[str, Value]) -> None:
    for names in ORDERED:
        for low, high in pairwise(names):
            smaller, larger = values.get(low), values.get(high)
            if isinstance(smaller, int) and isinstance(larger, int) and smaller > larger:
                raise InvalidValueError(low, smaller, f"at most {high}, which is {larger}")
