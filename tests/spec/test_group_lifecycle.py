"""Operations on a group: what each does and refuses; crashes are those of ``lifecycle_world``."""

from collections.abc import Callable

import attrs
import pytest
from immutables import Map

from judge.invariants import broken_names
from judge.share_group_invariants import GROUP_INVARIANTS
from model.errors import ErrorCode, InvalidValueError
from model.share_messages import TopicPartition
from spec.coordinator import Durable
from spec.group_lifecycle import (
    GroupPlan,
    alter_offsets,
    carry_out,
    change_racks,
    delete_group,
    delete_offsets,
    describe_offsets,
    leave,
    reconcile,
    subscribe,
)
from spec.share_group import (
    CallDelete,
    CallInitialize,
    Coordinators,
    Effect,
    EraseGroup,
    WriteGroup,
    WriteMetadata,
    group_of,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
Operation = Callable[[Coordinators], GroupPlan]
CLUSTER = Coordinators(Map({"a": 1, "b": 1}))
A, BOTH_TOPICS = frozenset({"a"}), frozenset({"a", "b"})


def done(there: Coordinators, *plans: GroupPlan) -> Coordinators:
    for plan in plans:
        assert plan.error.name == "NONE"
        there = carry_out(there, plan.effects)
        assert broken_names(GROUP_INVARIANTS, there) == []
    return there


def joined(topics: frozenset[str] = A) -> Coordinators:
    return done(CLUSTER, subscribe(CLUSTER, "m", topics))


def emptied(topics: frozenset[str] = A) -> Coordinators:
    there = joined(topics)
    return done(there, leave(there, "m"))


def kinds(plan: GroupPlan) -> list[type[Effect]]:
    return [type(effect) for effect in plan.effects]


def grown(there: Coordinators) -> Coordinators:
    return attrs.evolve(there, topics=there.topics.set("a", 2))


def test_the_first_member_creates_the_group_in_two_stages() -> None:
    plan = subscribe(CLUSTER, "m", A)
    assert kinds(plan) == [
        WriteGroup,
        WriteGroup,
        WriteMetadata,
        CallInitialize,
        WriteMetadata,
    ]
    there = done(CLUSTER, plan)
    assert describe_offsets(there) == {A0: None}
    assert there.states[A0] == Durable(-1, -1, state_epoch=2, snapshot_epoch=1)
    assert group_of(there).epoch == 2


def test_a_subscription_that_is_as_it_was_only_reconciles() -> None:
    there = joined()
    assert subscribe(there, "m", A) == GroupPlan()
    assert subscribe(grown(there), "m", A) == reconcile(grown(there))


def test_a_topic_is_initialized_when_it_is_subscribed_to_and_exists() -> None:
    there = joined(frozenset({"a", "later"}))
    assert set(describe_offsets(there)) == {A0}
    there = attrs.evolve(there, topics=there.topics.set("later", 1))
    there = done(there, reconcile(there))
    assert set(describe_offsets(there)) == {A0, TopicPartition("later", 0)}


def test_new_partitions_of_a_known_topic_start_at_0() -> None:
    there = grown(joined())
    there = done(there, reconcile(there))
    assert describe_offsets(there) == {A0: None, A1: 0}
    assert reconcile(there) == GroupPlan()


def test_partitions_added_after_a_crash_start_at_0_too() -> None:
    effects = subscribe(CLUSTER, "m", A).effects
    there = grown(carry_out(CLUSTER, effects[:3]))
    assert group_of(there).metadata.initializing == {A0}
    there = done(there, reconcile(there))
    assert describe_offsets(there) == {A0: None, A1: 0}


def test_a_topic_that_is_gone_is_deleted_in_two_stages() -> None:
    there = joined(BOTH_TOPICS)
    there = attrs.evolve(there, topics=Map({"b": 1}))
    plan = reconcile(there)
    assert kinds(plan) == [WriteGroup, WriteMetadata, CallDelete, WriteMetadata]
    assert set(done(there, plan).states) == {B0}


def test_without_a_group_there_is_nothing_to_reconcile() -> None:
    assert reconcile(CLUSTER) == GroupPlan()
    assert describe_offsets(CLUSTER) == {}


def test_what_raises_the_group_epoch() -> None:
    there = joined()
    epochs = [group_of(there).epoch]
    operations: list[Operation] = [
        lambda c: subscribe(c, "n", frozenset()),
        lambda c: subscribe(c, "n", A),
        lambda c: leave(c, "n"),
        lambda c: reconcile(grown(c)),
        change_racks,
        lambda c: leave(c, "m"),
        lambda c: alter_offsets(c, {A0: 3}),
    ]
    for operation in operations:
        there = done(there, operation(there))
        epochs.append(group_of(there).epoch)
    assert epochs == [2, 3, 4, 5, 6, 7, 8, 9]
    assert group_of(done(there, delete_offsets(there, ("a",)))).epoch == 9
    assert change_racks(CLUSTER) == GroupPlan()


def test_altered_offsets_have_the_new_group_epoch_as_state_epoch() -> None:
    there = emptied()
    plan = alter_offsets(there, {A0: 3})
    assert kinds(plan) == [WriteGroup, CallInitialize]
    there = done(there, plan)
    assert describe_offsets(there) == {A0: 3}
    assert there.states[A0].state_epoch == group_of(there).epoch == 4


def test_altering_the_offsets_of_a_missing_group_creates_it() -> None:
    plan = alter_offsets(CLUSTER, {A0: 3})
    assert kinds(plan) == [WriteGroup, WriteMetadata, CallInitialize, WriteMetadata]
    there = done(CLUSTER, plan)
    assert (group_of(there).epoch, describe_offsets(there)) == (1, {A0: 3})
    assert done(there, subscribe(there, "m", A)).states == there.states
    absent = alter_offsets(CLUSTER, {TopicPartition("z", 0): 3})
    assert (absent.error, absent.effects) == (ErrorCode.NONE, ())


def test_partitions_beside_the_first_that_are_altered_start_as_configured() -> None:
    """They are not added to a topic with a subscription: those start at 0."""
    there = done(grown(CLUSTER), alter_offsets(grown(CLUSTER), {A1: 3}))
    assert describe_offsets(there) == {A0: None, A1: 3}
    there = attrs.evolve(there, topics=there.topics.set("a", 3))
    there = done(there, subscribe(there, "m", A))
    assert describe_offsets(there) == {A0: None, A1: 3, TopicPartition("a", 2): 0}


def test_partitions_that_do_not_exist_are_left_out() -> None:
    there = emptied()
    plan = alter_offsets(there, {A0: 3, A1: 3, TopicPartition("c", 0): 3})
    assert {at: error.name for at, error in plan.refused.items()} == {
        A1: "UNKNOWN_TOPIC_OR_PARTITION",
        TopicPartition("c", 0): "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert describe_offsets(done(there, plan)) == {A0: 3}
    assert alter_offsets(there, {A1: 3}).effects == ()


def test_an_error_names_a_negative_offset() -> None:
    with pytest.raises(InvalidValueError, match="the start offset of a:0 is -1; allowed"):
        alter_offsets(emptied(), {A0: -1})


def test_deleting_offsets_takes_two_stages_and_leaves_other_topics() -> None:
    there = emptied(BOTH_TOPICS)
    plan = delete_offsets(there, ("a", "c"))
    assert kinds(plan) == [WriteMetadata, CallDelete, WriteMetadata]
    assert {topic: error.name for topic, error in plan.refused.items()} == {
        "c": "UNKNOWN_TOPIC_OR_PARTITION"
    }
    there = done(there, plan)
    assert describe_offsets(there) == {B0: None}
    assert delete_offsets(there, ("a",)).effects == ()


def test_deleting_a_group_ends_with_its_tombstones() -> None:
    there = emptied(BOTH_TOPICS)
    plan = delete_group(there)
    assert kinds(plan) == [WriteMetadata, CallDelete, CallDelete, WriteMetadata, EraseGroup]
    assert done(there, plan) == CLUSTER
    bare = done(CLUSTER, subscribe(CLUSTER, "m", frozenset()))
    bare = done(bare, leave(bare, "m"))
    assert kinds(delete_group(bare)) == [WriteMetadata, EraseGroup]


def test_a_group_with_members_is_left_alone() -> None:
    there = joined()
    for plan in (alter_offsets(there, {A0: 1}), delete_offsets(there, ("a",)), delete_group(there)):
        assert (plan.error.name, plan.effects) == ("NON_EMPTY_GROUP", ())


def test_a_missing_group_is_group_id_not_found() -> None:
    for plan in (
        leave(CLUSTER, "m"),
        delete_offsets(CLUSTER, ("a",)),
        delete_group(CLUSTER),
    ):
        assert (plan.error.name, plan.effects) == ("GROUP_ID_NOT_FOUND", ())


def test_a_missing_member_is_unknown_member_id() -> None:
    assert leave(joined(), "n").error.name == "UNKNOWN_MEMBER_ID"


def test_a_deletion_that_was_begun_is_finished_before_anything_is_initialized() -> None:
    there = grown(joined())
    there = done(there, reconcile(there))
    there = done(there, leave(there, "m"))
    begun = carry_out(there, delete_offsets(there, ("a",)).effects[:2])
    assert set(begun.states) == {A1}
    for plan in (alter_offsets(begun, {A0: 5}), subscribe(begun, "m", A), reconcile(begun)):
        after = done(begun, plan)
        assert group_of(after).metadata.deleting == frozenset()
        assert set(after.states) == group_of(after).metadata.initialized


def test_an_effect_that_is_refused_ends_the_operation() -> None:
    fenced = attrs.evolve(CLUSTER, states=Map({A0: Durable(state_epoch=9)}))
    there = carry_out(fenced, subscribe(fenced, "m", A).effects)
    assert group_of(there).metadata.initializing == {A0}
    assert there.states == fenced.states
