from uuid import UUID

import attrs
import pytest
from immutables import Map

from model.errors import IllegalChoiceError
from model.guards import CoordinatorGuard
from model.profile import KIP
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    StateRequest,
    WriteState,
)
from model.state_topic import (
    SharePartitionKey,
    state_partition,
)
from model.states import RecordState
from spec.coordinator import Durable
from spec.share_coordinator import HeldState, ShareCoordinator, serve, snapshot_again
from spec.state_topic import (
    StateTopicPartition,
    append,
    prune,
    recover,
    redundant_below,
)

TOPIC = UUID(int=1)
ONE, OTHER = (SharePartitionKey("g", TOPIC, partition) for partition in (0, 1))
BATCH = StateBatch(3, 5, RecordState.ACKNOWLEDGED, 1)


def topic_of(*requests: StateRequest) -> tuple[StateTopicPartition, ShareCoordinator]:
    coordinator, topic = ShareCoordinator(KIP, Map({TOPIC: 2})), StateTopicPartition()
    for request in requests:
        reply = serve(coordinator, request, 10)
        coordinator, topic = reply.coordinator, append(topic, reply.record)
    return topic, coordinator


WRITES = [WriteState(ONE, 1, 0, start, 0, (BATCH,)) for start in (1, 2)]
BUSY: tuple[StateRequest, ...] = (InitializeState(OTHER, 1, 0), InitializeState(ONE, 1, 0), *WRITES)


def test_records_before_every_latest_snapshot_are_redundant() -> None:
    topic, coordinator = topic_of(*BUSY)
    assert redundant_below(topic) == 0
    topic = append(topic, snapshot_again(coordinator, OTHER, 20).record)
    assert redundant_below(topic) == 1
    topic = append(topic, snapshot_again(coordinator, ONE, 20).record)
    assert (len(topic.records), redundant_below(topic)) == (6, 4)
    rest = prune(topic, 4)
    assert (rest.first_offset, len(rest.records)) == (4, 2)
    assert recover(rest, coordinator) == recover(topic, coordinator)
    assert prune(rest, 3) == rest
    assert redundant_below(rest) == 4


def test_pruning_one_record_more_loses_state() -> None:
    topic, coordinator = topic_of(*BUSY)
    assert recover(attrs.evolve(topic, records=topic.records[1:]), coordinator) != coordinator
    with pytest.raises(IllegalChoiceError, match="1 is beyond 0") as refused:
        prune(topic, 1)
    assert refused.value.guard is CoordinatorGuard.PRUNED_IS_REDUNDANT


def test_records_before_a_deletion_do_not_count_after_it() -> None:
    topic, coordinator = topic_of(*BUSY, DeleteState(ONE), InitializeState(ONE, 1, 7))
    held = recover(topic, coordinator).held[ONE]
    assert held == HeldState(Durable(7, 0, state_epoch=1), 0, 10, 10)
    assert coordinator.held[ONE] == held


@pytest.mark.parametrize(
    ("group", "topic", "partition", "expected"),
    [
        ("g", "523e709ff16a4d78ab1004af559458d7", 0, 33),
        ("g", "523e709ff16a4d78ab1004af559458d7", 7, 40),
        ("gs1", "82d6f6b2d198464faf599db3028ce6a0", 0, 27),
        ("grü😀ppe", "82d6f6b2d198464faf599db3028ce6a0", 7, 26),
        ("a-longer-group-name", "523e709ff16a4d78ab1004af559458d7", 0, 9),
    ],
)
def test_a_share_partition_is_coordinated_where_apache_kafka_says(
    group: str, topic: str, partition: int, expected: int
) -> None:
    key = SharePartitionKey(group, UUID(topic), partition)
    assert state_partition(key) == expected
    assert state_partition(key, 1) == 0


def test_the_hash_without_an_absolute_value_is_partition_0() -> None:
    """Of "8zhfpaa:AAAAAAAAAAAAAAAAAAAAAA:0" it is -2147483648, whose remainder by 3 would be 2."""
    key = SharePartitionKey("8zhfpaa", UUID(int=0), 0)
    assert state_partition(key, 3) == 0
