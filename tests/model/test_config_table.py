import pytest

from model.config_table import (
    CONFIGURATIONS,
    LIMITS,
    ORDERED,
    Scope,
    default_of,
    effective_values,
    range_of,
)
from model.errors import InvalidValueError
from model.profile import DRAFT_RESOLVED, KAFKA, KAFKA_4_4, KIP, PROFILES, Profile

BROKER, GROUP, TOPIC, CLIENT = Scope.BROKER, Scope.GROUP, Scope.TOPIC, Scope.CLIENT
LOCKS = "group.share.partition.max.record.locks"
DURATION = "group.share.record.lock.duration.ms"
MOST = "group.share.max.record.lock.duration.ms"

Row = tuple[Scope, str, int | str, int | None, int | None]

PERSISTER = "org.apache.kafka.server.share.persister.DefaultStatePersister"

# Apache Kafka 4.4: scope, name, default, least, most.
KAFKA_HAS: list[Row] = [
    (BROKER, "group.share.delivery.count.limit", 5, 2, 10),
    (BROKER, "group.share.min.delivery.count.limit", 2, 2, 5),
    (BROKER, "group.share.max.delivery.count.limit", 10, 5, 25),
    (BROKER, LOCKS, 2000, 100, 10_000),
    (BROKER, "group.share.min.partition.max.record.locks", 100, 100, 2000),
    (BROKER, "group.share.max.partition.max.record.locks", 4000, 2000, 10_000),
    (BROKER, "group.share.record.lock.duration.ms", 30_000, 1000, 3_600_000),
    (BROKER, "group.share.min.record.lock.duration.ms", 15_000, 1000, 30_000),
    (BROKER, "group.share.max.record.lock.duration.ms", 60_000, 30_000, 3_600_000),
    (BROKER, "group.share.session.timeout.ms", 45_000, 1, None),
    (BROKER, "group.share.min.session.timeout.ms", 45_000, 1, None),
    (BROKER, "group.share.max.session.timeout.ms", 60_000, 1, None),
    (BROKER, "group.share.heartbeat.interval.ms", 5000, 1, None),
    (BROKER, "group.share.min.heartbeat.interval.ms", 5000, 1, None),
    (BROKER, "group.share.max.heartbeat.interval.ms", 15_000, 1, None),
    (BROKER, "group.share.max.size", 200, 1, 1000),
    (BROKER, "group.share.max.share.sessions", 2000, 1, None),
    (BROKER, "group.share.assignment.interval.ms", 1000, 0, None),
    (BROKER, "group.share.min.assignment.interval.ms", 0, 0, None),
    (BROKER, "group.share.max.assignment.interval.ms", 15_000, 0, None),
    (BROKER, "group.share.assignor.offload.enable", True, None, None),
    (BROKER, "group.share.assignors", "simple", None, None),
    (BROKER, "group.share.initialize.retry.interval.ms", 30_000, 1, None),
    (BROKER, "group.share.persister.class.name", PERSISTER, None, None),
    (BROKER, "group.coordinator.rebalance.protocols", "classic,consumer,streams", None, None),
    (BROKER, "share.coordinator.state.topic.num.partitions", 50, 1, None),
    (BROKER, "share.coordinator.state.topic.replication.factor", 3, 1, None),
    (BROKER, "share.coordinator.state.topic.segment.bytes", 104_857_600, 1, None),
    (BROKER, "share.coordinator.state.topic.min.isr", 2, 1, None),
    (BROKER, "share.coordinator.state.topic.compression.codec", 0, 0, 4),
    (BROKER, "share.coordinator.state.topic.prune.interval.ms", 300_000, 1, None),
    (BROKER, "share.coordinator.threads", 1, 1, None),
    (BROKER, "share.coordinator.cold.partition.snapshot.interval.ms", 300_000, 1, None),
    (BROKER, "share.coordinator.load.buffer.size", 5_242_880, 1, None),
    (BROKER, "share.coordinator.cached.buffer.max.bytes", 1_048_588, 524_288, None),
    (BROKER, "share.coordinator.snapshot.update.records.per.snapshot", 500, 0, 500),
    (BROKER, "share.coordinator.write.timeout.ms", 5000, 1, None),
    (BROKER, "share.coordinator.append.linger.ms", -1, -1, None),
    (BROKER, "share.fetch.purgatory.purge.interval.requests", 1000, 1, None),
    (BROKER, "errors.deadletterqueue.auto.create.topics.enable", False, None, None),
    (BROKER, "errors.deadletterqueue.topic.name.prefix", "dlq.", None, None),
    (GROUP, "share.renew.acknowledge.enable", True, None, None),
    (GROUP, "share.isolation.level", "read_uncommitted", None, None),
    (GROUP, "share.auto.offset.reset", "latest", None, None),
    (GROUP, "errors.deadletterqueue.topic.name", "", None, None),
    (GROUP, "errors.deadletterqueue.copy.record.enable", False, None, None),
    (TOPIC, "errors.deadletterqueue.group.enable", False, None, None),
    (CLIENT, "share.acquire.mode", "batch_optimized", None, None),
    (CLIENT, "share.acknowledgement.mode", "implicit", None, None),
    (CLIENT, "max.poll.records", 500, 1, 2**31 - 1),
]
RESETS = "latest, earliest, by_duration:P1DT2H3M4S"
# Overrides of the broker's value, unset unless an administrator sets them: scope, name, limits.
UNSET = [
    (GROUP, "share.record.lock.duration.ms", 1000),
    (GROUP, "share.delivery.count.limit", 2),
    (GROUP, "share.partition.max.record.locks", 100),
    (GROUP, "share.session.timeout.ms", 1),
    (GROUP, "share.heartbeat.interval.ms", 1),
    (GROUP, "share.assignment.interval.ms", 0),
    (GROUP, "share.assignor.offload.enable", None),
]
# What only the KIPs have, and what only the draft of IN_PROGRESS has.
KIP_ONLY: list[Row] = [
    (BROKER, "group.share.max.groups", 10, 1, 100),
    (BROKER, "group.share.enable", False, None, None),
    (GROUP, "group.type", "consumer", None, None),
    (BROKER, "group.share.in.progress.staleness.threshold.ms", 90_000, 0, None),
    (BROKER, "group.share.in.progress.max.lock.extension.ms", 1_800_000, 0, None),
    (BROKER, "group.share.in.progress.rebalance.grace.ms", 5000, 0, None),
    (CLIENT, "max.in-flight.progress.batches", 100, 1, None),
]
KIP_DIFFERS = {
    LOCKS: 200,
    "group.share.assignors": "org.apache.kafka.coordinator.group.share.SimpleAssignor",
    "group.share.min.record.lock.duration.ms": 1000,
}
# KIP-932, Configuration, where its range is not Kafka's.
KIP_BOUNDS = {
    DURATION: (1000, 60_000),
    MOST: (1000, 3_600_000),
    "group.share.max.size": (10, 1000),
}


def test_default_and_range() -> None:
    for scope, name, default, low, high in KAFKA_HAS + KIP_ONLY:
        configuration = CONFIGURATIONS[scope, name]
        assert default_of(configuration, KAFKA) == default
        assert default_of(configuration, KIP) == KIP_DIFFERS.get(name, default)
        for profile in (KAFKA, KAFKA_4_4):
            assert range_of(configuration, profile) == (low, high)
        for profile in (KIP, DRAFT_RESOLVED):
            assert range_of(configuration, profile) == KIP_BOUNDS.get(name, (low, high))


@pytest.mark.parametrize(
    ("given", "allowing", "refusing", "refused"),
    [
        ({DURATION: 1000}, KIP, KAFKA, "group.share.min.record.lock.duration.ms is 15000"),
        ({MOST: 1000, DURATION: 1000}, KIP, KAFKA, f"{MOST} is 1000"),
        ({MOST: 3_600_000, DURATION: 3_600_000}, KAFKA, KIP, f"{DURATION} is 3600000"),
        ({"group.share.max.size": 1}, KAFKA, KIP, "group.share.max.size is 1"),
    ],
)
def test_the_kips_bound_a_lock_and_a_group_otherwise_than_kafka(
    given: dict[str, int | str | bool], allowing: Profile, refusing: Profile, refused: str
) -> None:
    assert given.items() <= effective_values(given, allowing).items()
    with pytest.raises(InvalidValueError, match=f"^{refused}; allowed: "):
        effective_values(given, refusing)


@pytest.mark.parametrize("row", UNSET, ids=lambda row: row[1])
def test_a_group_value_stands_for_the_brokers_and_has_no_default(
    row: tuple[Scope, str, int | None],
) -> None:
    scope, name, low = row
    configuration = CONFIGURATIONS[scope, name]
    assert default_of(configuration, KAFKA) is default_of(configuration, KIP) is None
    assert (configuration.low, configuration.high) == (low, None)
    assert name not in effective_values({}, KAFKA, GROUP)
    assert configuration.broker is not None
    broker = CONFIGURATIONS[BROKER, configuration.broker]
    assert (name in LIMITS) == (broker.low is not None)
    if name in LIMITS:
        least, most = LIMITS[name]
        assert (least, broker.name, most) in ORDERED


def test_there_is_no_other_configuration() -> None:
    expected = {(row[0], row[1]) for row in (*KAFKA_HAS, *KIP_ONLY, *UNSET)}
    assert set(CONFIGURATIONS) == expected


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_the_profile_names_the_default_width_of_the_table(profile: Profile) -> None:
    assert default_of(CONFIGURATIONS[BROKER, LOCKS], profile) == profile.default_max_record_locks


@pytest.mark.parametrize("profile", [KIP, KAFKA], ids=lambda profile: profile.name)
def test_the_edges_of_a_range_are_allowed_and_nothing_beyond(profile: Profile) -> None:
    for known in CONFIGURATIONS.values():
        low, high = range_of(known, profile)
        for edge, beyond in ((low, -1), (high, 1)):
            if edge is not None:
                assert _order_aside({known.name: edge}, known.scope, profile) == edge
                with pytest.raises(InvalidValueError, match=f"^{known.name} is .*an integer from"):
                    effective_values({known.name: edge + beyond}, profile, known.scope)


def _order_aside(given: dict[str, int | str | bool], scope: Scope, profile: Profile) -> object:
    """Return the value that is taken, with a minimum and maximum that let it pass."""
    (name, value), found = next(iter(given.items())), dict(given)
    for minimum, middle, maximum in ORDERED:
        if name in (minimum, middle, maximum):
            for other in {minimum, middle, maximum} - {name}:
                least, most = range_of(CONFIGURATIONS[scope, other], profile)
                low, high = least or 0, most or value
                assert isinstance(value, int)
                assert isinstance(high, int)
                found[other] = min(max(value, low), high)
    return effective_values(found, profile, scope)[name]


def test_every_alias_stands_for_the_name() -> None:
    aliases = [(known, alias) for known in CONFIGURATIONS.values() for alias in known.aliases]
    for known, alias in aliases:
        default = default_of(known, KAFKA)
        value = known.low if default is None else default
        assert value is not None
        assert effective_values({alias: value}, KAFKA, known.scope)[known.name] == value
        with pytest.raises(InvalidValueError, match="one of a configuration's names, not two"):
            effective_values({known.name: value, alias: value}, KAFKA, known.scope)


@pytest.mark.parametrize(
    "name",
    [
        "auto.offset.reset",
        "enable.auto.commit",
        "auto.commit.interval.ms",
        "group.instance.id",
        "isolation.level",
        "partition.assignment.strategy",
        "interceptor.classes",
        "session.timeout.ms",
        "heartbeat.interval.ms",
    ],
)
def test_a_share_consumer_refuses_what_only_a_consumer_has(name: str) -> None:
    with pytest.raises(InvalidValueError, match=f"^{name} is .*a client configuration of share"):
        effective_values({name: "x"}, KIP, CLIENT)


def test_the_aliases_are_the_names_of_earlier_texts() -> None:
    aliases = {c.name: c.aliases for c in CONFIGURATIONS.values() if c.aliases}
    assert set(aliases["group.share.delivery.count.limit"]) == {
        "share.delivery.attempt.limit",
        "share.delivery.count.limit",
    }
    assert aliases["share.coordinator.state.topic.min.isr"] == ("group.share.state.topic.min.isr",)
    assert aliases["group.share.enable"] == ("share.group.enable",)
    assert len(aliases) == 12


@pytest.mark.parametrize("names", ORDERED, ids=lambda names: names[1])
def test_minimum_value_and_maximum_must_be_in_order(names: tuple[str, str, str]) -> None:
    minimum, value, maximum = names
    low, most = CONFIGURATIONS[BROKER, minimum].low, CONFIGURATIONS[BROKER, maximum].low
    assert low is not None
    assert most is not None
    effective_values({minimum: low, value: most, maximum: most}, KAFKA)
    with pytest.raises(InvalidValueError, match=f"^{value} is {most + 1}; .* {maximum}.* {most}$"):
        effective_values({minimum: low, value: most + 1, maximum: most}, KAFKA)
    with pytest.raises(InvalidValueError, match=f"^{minimum} is {low + 1}; .* {value}.* {low}$"):
        effective_values({minimum: low + 1, value: low, maximum: most}, KAFKA)


@pytest.mark.parametrize(
    ("scope", "name", "value", "allowed"),
    [
        (
            BROKER,
            "group.share.sizes",
            1,
            "a broker configuration of share groups, of which group.share.max.size comes nearest",
        ),
        (
            GROUP,
            LOCKS,
            100,
            f"a group configuration of share groups, of which {LOCKS[6:]} comes nearest",
        ),
        (BROKER, LOCKS, "100", "an integer from 100 to 10000"),
        (BROKER, "group.share.session.timeout.ms", 0, "an integer from 1 to 9223372036854775807"),
        (GROUP, "share.renew.acknowledge.enable", 1, "a bool"),
        (GROUP, "share.isolation.level", "committed", "read_uncommitted, read_committed"),
        (GROUP, "share.auto.offset.reset", "none", RESETS),
        (GROUP, "share.auto.offset.reset", "by_duration:", RESETS),
        (GROUP, "share.auto.offset.reset", "by_duration:PT", RESETS),
        (GROUP, "share.auto.offset.reset", "by_duration:-PT1H", RESETS),
        (GROUP, "share.assignor.offload.enable", 1, "a bool"),
        (CLIENT, "share.acquire.mode", 1, "a str"),
    ],
)
def test_an_error_names_the_bad_value(
    scope: Scope, name: str, value: int | str, allowed: str
) -> None:
    with pytest.raises(InvalidValueError) as caught:
        effective_values({name: value}, KAFKA, scope)
    assert str(caught.value) == f"{name} is {value!r}; allowed: {allowed}"


@pytest.mark.parametrize(
    ("scope", "name", "value"),
    [
        (GROUP, "share.auto.offset.reset", "by_duration:PT1H"),
        (GROUP, "share.auto.offset.reset", "by_duration:P2DT1H0.5S"),
        (GROUP, "share.assignor.offload.enable", False),
        (GROUP, "share.auto.offset.reset", "earliest"),
        (GROUP, "share.renew.acknowledge.enable", False),
        (GROUP, "errors.deadletterqueue.topic.name", "dlq.orders"),
        (CLIENT, "share.acquire.mode", "record_limit"),
    ],
)
def test_a_value_may_be_one_of_its_names(scope: Scope, name: str, *, value: str | bool) -> None:
    assert effective_values({name: value}, KAFKA, scope)[name] == value
