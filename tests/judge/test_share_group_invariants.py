import pytest
from immutables import Map

from judge.invariants import broken_names
from judge.share_group_invariants import GROUP_INVARIANTS
from model.share_messages import TopicPartition
from spec.coordinator import Durable
from spec.share_group import Coordinators, PartitionMetadata, ShareGroup

AT = TopicPartition("a", 0)
ONE, NONE = frozenset({AT}), frozenset[TopicPartition]()
STATE = Map({AT: Durable(state_epoch=1)})


def group(
    metadata: PartitionMetadata, states: Map[TopicPartition, Durable] = STATE, topics: str = "b"
) -> Coordinators:
    wanted = Map({"m": frozenset(topics)})
    return Coordinators(Map({"a": 1}), ShareGroup(1, wanted, metadata), states)


BROKEN = {
    "stages_are_disjoint": group(PartitionMetadata(NONE, ONE, ONE)),
    "initialized_has_state": group(PartitionMetadata(NONE, ONE, NONE), Map()),
    "state_has_an_owner": group(PartitionMetadata()),
    "state_epoch_never_ahead": group(
        PartitionMetadata(NONE, ONE, NONE), Map({AT: Durable(state_epoch=2)})
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_invariant_notices_what_breaks_it(name: str) -> None:
    assert broken_names(GROUP_INVARIANTS, group(PartitionMetadata(NONE, ONE, NONE))) == []
    assert broken_names(GROUP_INVARIANTS, BROKEN[name]) == [name]


@pytest.mark.parametrize("stages", [(ONE, ONE, NONE), (ONE, NONE, ONE), (ONE, ONE, ONE)])
def test_no_two_stages_share_a_partition(stages: tuple[frozenset[TopicPartition], ...]) -> None:
    broken = broken_names(GROUP_INVARIANTS, group(PartitionMetadata(*stages)))
    assert "stages_are_disjoint" in broken


def test_assigned_partitions_without_state_break_an_invariant() -> None:
    wanted = group(PartitionMetadata(NONE, ONE, NONE), Map(), "a")
    assert broken_names(GROUP_INVARIANTS, wanted) == ["initialized_has_state", "assigned_has_state"]


def test_every_invariant_is_tried() -> None:
    assert {*BROKEN, "assigned_has_state"} == {one.name for one in GROUP_INVARIANTS}
