import pytest

from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.config_table import Value
from model.configuration import check_group_values, effective_config
from model.errors import InvalidValueError
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile

BROKER: dict[str, Value] = {
    "group.share.max.record.lock.duration.ms": 40_000,
    "group.share.min.delivery.count.limit": 3,
    "group.share.max.partition.max.record.locks": 2500,
}


def test_a_group_that_sets_nothing_has_the_brokers_values() -> None:
    assert effective_config({}, {}, KAFKA) == SharePartitionConfig()
    assert effective_config({}, {}, KIP).partition_max_record_locks == 200
    broker: dict[str, Value] = {"group.share.delivery.count.limit": 7}
    assert effective_config(broker, {}, KAFKA).delivery_count_limit == 7


def test_a_group_value_overrides_the_brokers() -> None:
    group: dict[str, Value] = {
        "share.delivery.count.limit": 4,
        "share.partition.max.record.locks": 500,
        "record.lock.duration.ms": 20_000,
        "share.auto.offset.reset": "by_duration:PT1H",
        "share.isolation.level": "read_committed",
        "share.renew.acknowledge.enable": False,
        "errors.deadletterqueue.topic.name": "dlq.orders",
    }
    assert effective_config({}, group, KAFKA) == SharePartitionConfig(
        4,
        500,
        20_000,
        AutoOffsetReset.BY_DURATION,
        IsolationLevel.READ_COMMITTED,
        renew_acknowledge_enable=False,
        dead_letter_queue=True,
    )
    check_group_values({}, group, KAFKA)


@pytest.mark.parametrize(
    ("name", "value", "effective"),
    [
        ("share.record.lock.duration.ms", 40_001, 40_000),
        ("share.record.lock.duration.ms", 40_000, 40_000),
        ("share.record.lock.duration.ms", 14_999, 15_000),
        ("share.delivery.count.limit", 2, 3),
        ("share.delivery.count.limit", 11, 10),
        ("share.partition.max.record.locks", 2501, 2500),
        ("share.partition.max.record.locks", 1, 100),
    ],
)
def test_a_group_value_beyond_the_brokers_limits_is_refused_and_clamped_where_it_stands_already(
    name: str, value: int, effective: int
) -> None:
    group: dict[str, Value] = {name: value}
    config = effective_config(BROKER, group, KAFKA)
    field = name.removeprefix("share.").replace(".", "_")
    assert getattr(config, field) == effective
    if value == effective:
        check_group_values(BROKER, group, KAFKA)
    else:
        with pytest.raises(InvalidValueError, match=f"^{name} is {value}; allowed: an integer fr"):
            check_group_values(BROKER, group, KAFKA)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"share.delivery.limit": 3}, "of which share.delivery.count.limit comes nearest"),
        ({"share.isolation.level": "none"}, "allowed: read_uncommitted, read_committed"),
        ({"share.delivery.count.limit": "3"}, "share.delivery.count.limit is '3'; allowed: an int"),
        ({"share.delivery.count.limit": True}, "share.delivery.count.limit is True; allowed: an i"),
    ],
)
def test_contradictory_values_are_refused_for_group_and_broker(
    group: dict[str, Value], message: str
) -> None:
    for refuse in (effective_config, check_group_values):
        with pytest.raises(InvalidValueError, match=message):
            refuse({}, group, KAFKA)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (
            {"share.session.timeout.ms": 45_000, "share.heartbeat.interval.ms": 15_000},
            None,
        ),
        ({"errors.deadletterqueue.topic.name": "dlq"}, None),
        (
            {"errors.deadletterqueue.topic.name": "__dlq"},
            "^errors.deadletterqueue.topic.name is '__dlq'; allowed: a name that does not begin",
        ),
    ],
)
def test_what_an_administrator_may_set(group: dict[str, Value], message: str | None) -> None:
    if message is None:
        check_group_values({}, group, KAFKA)
        return
    with pytest.raises(InvalidValueError, match=message):
        check_group_values({}, group, KAFKA)


@pytest.mark.parametrize(("profile", "effective"), [(KIP, 1000), (KAFKA, 15_000)])
def test_a_group_may_lock_records_for_a_second_under_kip_only(
    profile: Profile, effective: int
) -> None:
    group: dict[str, Value] = {"share.record.lock.duration.ms": 1000}
    assert effective_config({}, group, profile).record_lock_duration_ms == effective
    if effective == 1000:
        check_group_values({}, group, profile)
    else:
        with pytest.raises(InvalidValueError, match="an integer from 15000 to 60000"):
            check_group_values({}, group, profile)


def test_a_session_must_outlast_a_heartbeat() -> None:
    broker: dict[str, Value] = {
        "group.share.min.session.timeout.ms": 1000,
        "group.share.max.heartbeat.interval.ms": 15_000,
    }
    group: dict[str, Value] = {"share.session.timeout.ms": 5000}
    with pytest.raises(
        InvalidValueError, match=r"^share.session.timeout.ms is 5000; .*, which is 5000"
    ):
        check_group_values(broker, group, KAFKA)
    check_group_values(broker, {"share.session.timeout.ms": 5001}, KAFKA)


def test_the_durations_of_records_in_progress_are_in_order_where_there_are_any() -> None:
    broker: dict[str, Value] = {
        "group.share.in.progress.staleness.threshold.ms": 29_999,
        "group.share.in.progress.max.lock.extension.ms": 1_700_000,
        "group.share.in.progress.rebalance.grace.ms": 7000,
    }
    config = effective_config(broker, {}, KAFKA)
    assert config.in_progress_staleness_threshold_ms == 29_999
    assert config.in_progress_max_lock_extension_ms == 1_700_000
    assert config.in_progress_rebalance_grace_ms == 7000
    with pytest.raises(InvalidValueError, match=r"record_lock_duration_ms is 30000; .* 29999$"):
        effective_config(broker, {}, DRAFT_RESOLVED)
    group: dict[str, Value] = {"share.record.lock.duration.ms": 20_000}
    assert effective_config(broker, group, DRAFT_RESOLVED).record_lock_duration_ms == 20_000
