"""The configuration of a group changes while its share-partitions are in use (KIP-1240)."""

import attrs

from model.config import check_in_progress
from model.operations import AlterConfig
from spec.partition import SharePartition, Step


def alter_config(partition: SharePartition, operation: AlterConfig) -> Step:
    """Replace the configuration; each rule reads it when it is applied (KIP-1240).

    Guard: the durations are in order where records may be marked (KAFKA-20458, New configs).
    Effect: what happens from now on follows the new values; locks keep their deadlines.
    Delivery count: unchanged; a limit that was lowered archives nothing by itself.
    Persistence: none.
    """
    config = operation.config
    if partition.profile.in_progress:
        check_in_progress(config)
    highest = max(partition.highest_limit, config.delivery_count_limit)
    return Step(attrs.evolve(partition, config=config, highest_limit=highest))
