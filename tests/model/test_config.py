from typing import Any

import pytest

from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.config_table import CONFIGURATIONS, Scope
from model.errors import InvalidValueError


def test_the_defaults_are_those_of_kafka() -> None:
    config = SharePartitionConfig()
    assert (config.delivery_count_limit, config.partition_max_record_locks) == (5, 2000)
    assert config.record_lock_duration_ms == 30_000
    assert config.auto_offset_reset is AutoOffsetReset.LATEST
    assert config.isolation_level is IsolationLevel.READ_UNCOMMITTED
    assert config.renew_acknowledge_enable


@pytest.mark.parametrize(
    ("field", "least"),
    [
        ("delivery_count_limit", 1),
        ("partition_max_record_locks", 1),
        ("record_lock_duration_ms", 0),
    ],
)
def test_small_worlds_are_allowed_and_nothing_below(field: str, least: int) -> None:
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
