"""The configuration in force for one share-partition."""

from enum import StrEnum
from itertools import pairwise

import attrs

from model.checks import non_negative, whole
from model.errors import InvalidValueError

_IN_PROGRESS_ORDER = (
    "record_lock_duration_ms",
    "in_progress_staleness_threshold_ms",
    "in_progress_max_lock_extension_ms",
)


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

    ``dead_letter_queue``: a record that fails for good goes to a dead-letter queue (KIP-1191).
    The last three matter only where records may be IN_PROGRESS (KAFKA-20458): how long a record
    stays so without a sign of progress, how long at most, and how long after its owner has left.
    """

    delivery_count_limit: int = attrs.field(default=5, validator=_at_least_one)
    partition_max_record_locks: int = attrs.field(default=2000, validator=_at_least_one)
    record_lock_duration_ms: int = attrs.field(default=30_000, validator=non_negative)
    auto_offset_reset: AutoOffsetReset = AutoOffsetReset.LATEST
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    renew_acknowledge_enable: bool = True
    dead_letter_queue: bool = False
    in_progress_staleness_threshold_ms: int = attrs.field(default=90_000, validator=non_negative)
    in_progress_max_lock_extension_ms: int = attrs.field(default=1_800_000, validator=non_negative)
    in_progress_rebalance_grace_ms: int = attrs.field(default=5000, validator=non_negative)


def check_in_progress(config: SharePartitionConfig) -> None:
    """Raise InvalidValueError unless a mark can only lengthen a lock, up to the longest.

    The lock duration is at most the staleness threshold, and that at most the maximum extension.
    """
    for low, high in pairwise(_IN_PROGRESS_ORDER):
        smaller, larger = getattr(config, low), getattr(config, high)
        if smaller > larger:
            raise InvalidValueError(low, smaller, f"at most {high}, which is {larger}")
