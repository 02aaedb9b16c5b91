"""The configuration in force for one share-partition."""

from enum import StrEnum

import attrs

from model.checks import non_negative, whole

__all__ = ["AutoOffsetReset", "IsolationLevel", "SharePartitionConfig"]


class AutoOffsetReset(StrEnum):
    """Where a share-partition starts that has no start offset (``share.auto.offset.reset``)."""

    EARLIEST = "earliest"
    LATEST = "latest"
    BY_DURATION = "by_duration"


class IsolationLevel(StrEnum):
    """Whether records of aborted transactions are delivered (``share.isolation.level``)."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


def _at_least_one(_instance: object, attribute: "attrs.Attribute[int]", value: int) -> None:
    whole(attribute.name, value, 1)


@attrs.frozen
class SharePartitionConfig:
    """Effective values. ``model.config_table`` has names, defaults and ranges of the settings.

    Anything that the rules can work with is allowed here, also values below Kafka's minimum, so
    that small worlds can be explored. Durations in ms; the window limit in offsets.
    """

    delivery_count_limit: int = attrs.field(default=5, validator=_at_least_one)
    partition_max_record_locks: int = attrs.field(default=2000, validator=_at_least_one)
    record_lock_duration_ms: int = attrs.field(default=30_000, validator=non_negative)
    auto_offset_reset: AutoOffsetReset = AutoOffsetReset.LATEST
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    renew_acknowledge_enable: bool = True
