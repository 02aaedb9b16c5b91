from immutables import Map

from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.coordinator import Durable
from spec.share_group import (
    CallDelete,
    CallInitialize,
    Coordinators,
    PartitionMetadata,
    ShareGroup,
    assignable,
    listed,
    perform,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
STAGES = PartitionMetadata(frozenset({A0}), frozenset({A1}), frozenset({B0}))
WANTED = Map({"m": frozenset({"a", "b"})})
THERE = Coordinators(
    Map({"a": 2, "b": 1}), ShareGroup(3, WANTED, STAGES), Map({A1: Durable(7, 0, state_epoch=2)})
)


def test_a_share_coordinator_initializes_once_in_a_state_epoch() -> None:
    for start in (-1, 5, 7):
        assert perform(THERE, CallInitialize(A1, start, 2)) == (ErrorCode.NONE, THERE)
    assert perform(THERE, CallInitialize(A1, 8, 2)) == (ErrorCode.INVALID_REQUEST, THERE)


def test_a_share_coordinator_forgets_what_is_deleted() -> None:
    _, there = perform(THERE, CallDelete(A1))
    assert not there.states
    assert perform(there, CallDelete(A1)) == (ErrorCode.NONE, there)


def test_only_initialized_subscribed_and_existing_partitions_are_assignable() -> None:
    assert assignable(THERE) == {A1}
    for topics in (Map({"a": 1}), Map[str, int]()):
        assert assignable(Coordinators(topics, THERE.group)) == frozenset()
    nobody = ShareGroup(3, Map({"m": frozenset({"b"})}), STAGES)
    assert assignable(Coordinators(THERE.topics, nobody)) == frozenset()


def test_partitions_of_a_missing_topic_are_not_assignable() -> None:
    held = PartitionMetadata(initialized=frozenset({B0}))
    assert assignable(Coordinators(Map({"b": 1}), ShareGroup(1, WANTED, held))) == {B0}
    assert assignable(Coordinators(Map(), ShareGroup(1, WANTED, held))) == frozenset()


def test_listed_partitions_are_those_at_any_stage() -> None:
    assert listed(STAGES) == {A0, A1, B0}
    assert listed(STAGES, ("b", "c")) == {B0}
