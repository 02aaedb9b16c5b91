"""Requests to the share coordinator about one share-partition.

A partition or an epoch may be negative: such a request is answered. Offsets and counts below -1
are refused where they are read.
"""

import attrs

from model.checks import from_minus_one
from model.ranges import StateBatch
from model.state_topic import SharePartitionKey


@attrs.frozen
class InitializeState:
    """InitializeShareGroupState: the group coordinator adds a share-partition, or resets one.

    A start offset of -1 leaves it to the first leader.
    """

    key: SharePartitionKey
    state_epoch: int
    start_offset: int = attrs.field(validator=from_minus_one)


@attrs.frozen
class ReadState:
    """ReadShareGroupState: a leader takes over."""

    key: SharePartitionKey
    leader_epoch: int


@attrs.frozen
class WriteState:
    """WriteShareGroupState: a leader reports states of records.

    A start offset of -1 keeps the one that is durable. Version 0 has no delivery complete count:
    it is -1 (KIP-1226).
    """

    key: SharePartitionKey
    state_epoch: int
    leader_epoch: int
    start_offset: int = attrs.field(validator=from_minus_one)
    delivery_complete_count: int = attrs.field(default=-1, validator=from_minus_one)
    state_batches: tuple[StateBatch, ...] = ()


@attrs.frozen
class ReadStateSummary:
    """ReadShareGroupStateSummary: the group coordinator asks for offsets and epochs alone."""

    key: SharePartitionKey
    leader_epoch: int = -1


@attrs.frozen
class DeleteState:
    """DeleteShareGroupState: the share-partition leaves the group. It carries no epoch."""

    key: SharePartitionKey


StateRequest = InitializeState | ReadState | WriteState | ReadStateSummary | DeleteState
