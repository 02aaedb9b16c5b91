from typing import Any

import pytest

from model.config import (
    AutoOffsetReset,
    IsolationLevel,
    SharePartitionConfig,
    check_in_progress,
)
from model.config_table import CONFIGURATIONS, Scope
from model.errors import InvalidValueError


def test_the_defaults_are_those_of_kafka() -> None:
    config = SharePartitionConfig()
    assert (config.delivery_count_limit, config.partition_max_record_locks) == (5, 2000)
    assert config.record_lock_duration_ms == 30_000
    assert config.auto_offset_reset is AutoOffsetReset.LATEST
    assert config.isolation_level is IsolationLevel.READ_UNCOMMITTED
    assert config.renew_acknowledge_enable
    assert not config.dead_letter_queue
    assert config.in_progress_staleness_threshold_ms == 3 * config.record_lock_duration_ms
    assert config.in_progress_max_lock_extension_ms == 1_800_000
    assert config.in_progress_rebalance_grace_ms == 5000


@pytest.mark.parametrize(
    ("field", "least"),
    [
        ("delivery_count_limit", 1),
        ("partition_max_record_locks", 1),
        ("record_lock_duration_ms", 0),
        ("in_progress_staleness_threshold_ms", 0),
        ("in_progress_max_lock_extension_ms", 0),
        ("in_progress_rebalance_grace_ms", 0),
    ],
)
def test_values_below_the_minimum_of_kafka_are_allowed(field: str, least: int) -> None:
    smallest: dict[str, Any] = {field: least}
    assert getattr(SharePartitionConfig(**smallest), field) == least
    smallest[field] -= 1
    with pytest.raises(InvalidValueError, match=field):
        SharePartitionConfig(**smallest)


def test_the_names_of_values_are_those_that_the_table_of_configurations_allows() -> None:
    isolation = CONFIGURATIONS[Scope.GROUP, "share.isolation.level"]
    assert {level.value for level in IsolationLevel} == set(isolation.allowed)
    reset = CONFIGURATIONS[Scope.GROUP, "share.auto.offset.reset"]
    assert {way.value for way in AutoOffsetReset} == {name.rstrip(":") for name in reset.allowed}


def in_progress(duration: int, threshold: int, extension: int) -> SharePartitionConfig:
    return SharePartitionConfig(
        record_lock_duration_ms=duration,
        in_progress_staleness_threshold_ms=threshold,
        in_progress_max_lock_extension_ms=extension,
    )


def test_a_mark_never_shortens_a_lock() -> None:
    check_in_progress(SharePartitionConfig())
    check_in_progress(in_progress(7, 7, 7))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (in_progress(8, 7, 7), "record_lock_duration_ms is 8; .*staleness_threshold_ms, .* 7$"),
        (in_progress(8, 7, 6), "record_lock_duration_ms is 8; "),
        (in_progress(7, 8, 7), "in_progress_staleness_threshold_ms is 8; .*extension_ms, .* 7$"),
    ],
)
def test_the_first_duration_that_is_out_of_order_is_named(
    config: SharePartitionConfig, message: str
) -> None:
    with pytest.raises(InvalidValueError, match=f"^{message}"):
        check_in_progress(config)
