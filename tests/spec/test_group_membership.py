"""Members of a share group: when a heartbeat is refused, when sessions end, what is even."""

import pytest

from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.group_membership import (
    GroupMembership,
    Members,
    beat,
    ended,
    heartbeat_answers,
    restarted,
    unassigned,
    uneven,
)

M1 = Members(m1=GroupMembership(5, 4, 45_000))


@pytest.mark.parametrize(
    ("member", "epoch", "answers"),
    [
        ("m1", 5, {"NONE"}),
        ("m1", 0, {"NONE"}),
        ("m1", 4, {"NONE", "FENCED_MEMBER_EPOCH"}),
        ("m1", 3, {"FENCED_MEMBER_EPOCH"}),
        ("m1", 6, {"FENCED_MEMBER_EPOCH"}),
        ("m2", 0, {"NONE"}),
        ("m2", 5, {"UNKNOWN_MEMBER_ID"}),
    ],
)
def test_a_heartbeat_is_answered_by_the_epoch_of_its_member(
    member: str, epoch: int, answers: set[str]
) -> None:
    assert {error.name for error in heartbeat_answers(M1, member, epoch)} == answers


def test_a_group_is_created_by_joining_alone() -> None:
    assert heartbeat_answers(None, "m1", 1) == {ErrorCode.GROUP_ID_NOT_FOUND}
    assert heartbeat_answers(None, "m1", 0) == {ErrorCode.NONE}


def test_a_full_group_refuses_who_is_not_in_it() -> None:
    assert heartbeat_answers(M1, "m2", 0, most=1) == {ErrorCode.GROUP_MAX_SIZE_REACHED}
    assert heartbeat_answers(M1, "m1", 0, most=1) == {ErrorCode.NONE}


def test_a_session_ends_its_timeout_after_the_last_heartbeat() -> None:
    members = beat(M1, "m1", 6, 10_000, 45_000)
    assert members["m1"] == GroupMembership(6, 5, 55_000)
    assert beat(members, "m1", 6, 11_000, 45_000)["m1"].previous_epoch == 5
    assert not ended(members, 54_999)
    assert ended(members, 55_000) == {"m1"}
    assert not ended(restarted(members, 60_000, 45_000), 104_999)


def keys(topic: str, *partitions: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, part) for part in partitions)


def test_what_nobody_has_is_unassigned() -> None:
    assert unassigned(keys("a", 0, 1), {"m1": keys("a", 0), "m2": keys("a", 0)}) == keys("a", 1)


def test_members_with_the_same_topics_have_one_share_partition_more_at_most() -> None:
    alike = dict.fromkeys(("m1", "m2"), frozenset({"a", "b"}))
    assert not list(uneven({"m1": keys("a", 0, 1), "m2": keys("b", 0)}, alike))
    assert list(uneven({"m1": keys("a", 0, 1), "m2": frozenset()}, alike)) == [("m1", "m2")]


def test_where_topics_differ_each_topic_is_dealt_out_alone() -> None:
    both = {"m1": frozenset({"a", "b"}), "m2": frozenset({"b"})}
    assert not list(uneven({"m1": keys("a", 0, 1) | keys("b", 0), "m2": keys("b", 1)}, both))
    assert list(uneven({"m1": keys("b", 0, 1), "m2": frozenset()}, both)) == [("m1", "m2")]
