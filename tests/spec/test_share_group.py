import pytest
from immutables import Map

from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.coordinator import Durable
from spec.share_group import (
    BeginDeleting,
    BeginInitializing,
    CallDelete,
    CallInitialize,
    Coordinators,
    Effect,
    EndDeleting,
    EndInitializing,
    EraseGroup,
    EraseMetadata,
    PartitionMetadata,
    ShareGroup,
    WriteGroup,
    assignable,
    group_of,
    listed,
    perform,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
STAGES = PartitionMetadata(frozenset({A0}), frozenset({A1}), frozenset({B0}))
WANTED = Map({"m": frozenset({"a", "b"})})
THERE = Coordinators(
    Map({"a": 2, "b": 1}), ShareGroup(3, WANTED, STAGES), Map({A1: Durable(7, 0, state_epoch=2)})
)

EFFECTS: list[tuple[Effect, PartitionMetadata]] = [
    (
        BeginInitializing(frozenset({B0})),
        PartitionMetadata(frozenset({A0, B0}), STAGES.initialized),
    ),
    (BeginInitializing(frozenset({A1})), STAGES),
    (
        EndInitializing(frozenset({A0})),
        PartitionMetadata(frozenset(), frozenset({A0, A1}), STAGES.deleting),
    ),
    (
        BeginDeleting(frozenset({A0, A1})),
        PartitionMetadata(frozenset(), frozenset(), frozenset({A0, A1, B0})),
    ),
    (
        BeginDeleting(frozenset({A0})),
        PartitionMetadata(frozenset(), STAGES.initialized, frozenset({A0, B0})),
    ),
    (EndDeleting(frozenset({A0})), STAGES),
    (EndDeleting(frozenset({B0})), PartitionMetadata(STAGES.initializing, STAGES.initialized)),
    (EraseMetadata(), PartitionMetadata()),
    (WriteGroup(4, WANTED), STAGES),
]


@pytest.mark.parametrize(("effect", "after"), EFFECTS)
def test_each_record_moves_share_partitions_between_stages(
    effect: Effect, after: PartitionMetadata
) -> None:
    error, there = perform(THERE, effect)
    assert (error, group_of(there).metadata, there.states) == (ErrorCode.NONE, after, THERE.states)
    assert perform(there, effect) == (ErrorCode.NONE, there)


def test_a_group_is_written_and_erased() -> None:
    _, there = perform(Coordinators(), WriteGroup(1, WANTED))
    assert there.group == ShareGroup(1, WANTED)
    _, there = perform(there, EraseGroup())
    assert there == Coordinators()
    assert group_of(there) == ShareGroup()


def test_a_share_coordinator_initializes_anew() -> None:
    error, there = perform(THERE, CallInitialize(A1, 5, 3))
    assert error is ErrorCode.NONE
    assert there.states[A1] == Durable(5, 0, state_epoch=3, snapshot_epoch=1)
    _, there = perform(THERE, CallInitialize(B0, -1, 3))
    assert there.states[B0].start_offset == -1


def test_a_share_coordinator_initializes_once_in_a_state_epoch() -> None:
    for start in (-1, 5, 7):
        assert perform(THERE, CallInitialize(A1, start, 2)) == (ErrorCode.NONE, THERE)
    assert perform(THERE, CallInitialize(A1, 8, 2)) == (ErrorCode.INVALID_REQUEST, THERE)


def test_a_share_coordinator_refuses_an_older_state_epoch() -> None:
    error, there = perform(THERE, CallInitialize(A1, 5, 1))
    assert (error, there) == (ErrorCode.FENCED_STATE_EPOCH, THERE)


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


def test_an_unknown_group_is_empty() -> None:
    nothing: frozenset[TopicPartition] = frozenset()
    none = PartitionMetadata(nothing, nothing, nothing)
    assert ShareGroup() == ShareGroup(0, Map(), none)
    assert Coordinators() == Coordinators(Map(), None, Map())


def test_listed_partitions_are_those_at_any_stage() -> None:
    assert listed(STAGES) == {A0, A1, B0}
    assert listed(STAGES, ("b", "c")) == {B0}
