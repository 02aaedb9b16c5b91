from itertools import product

import pytest

from model.share_messages import TopicPartition
from serve.assignor import Assignment, assign
from spec.group_membership import uneven

MEMBERS = "abcde"


def partitions(count: int, topic: str = "t") -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(count)]


def assigned(members: int, count: int, current: Assignment | None = None) -> Assignment:
    topics = dict.fromkeys(MEMBERS[:members], frozenset({"t"}))
    return assign(topics, partitions(count), current or {})


@pytest.mark.parametrize(("members", "count"), [*product(range(1, 6), range(1, 8))])
def test_every_partition_has_a_member_and_every_member_a_partition(
    members: int, count: int
) -> None:
    shares = assigned(members, count)
    sizes = [len(share) for share in shares.values()]
    assert set().union(*shares.values()) == set(partitions(count))
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == max(members, count)
    owners = [sum(part in share for share in shares.values()) for part in partitions(count)]
    assert max(owners) - min(owners) <= 1


@pytest.mark.parametrize(("members", "count"), [*product(range(1, 5), range(1, 8))])
def test_members_keep_what_they_have(members: int, count: int) -> None:
    before = assigned(members, count)
    assert assigned(members, count, before) == before
    after = assigned(members + 1, count, before)
    if count > members:
        assert all(after[member] <= before[member] for member in before)


def test_a_member_gets_partitions_of_its_topics_alone() -> None:
    topics = {"a": frozenset({"t"}), "b": frozenset({"t", "u"}), "c": frozenset[str]()}
    every = partitions(2) + partitions(1, "u")
    shares = assign(topics, every, {})
    assert shares["c"] == frozenset()
    assert TopicPartition("u", 0) in shares["b"]
    assert {part.topic_id for part in shares["a"]} == {"t"}


def test_members_that_subscribe_alike_have_equally_many_of_all_topics_together() -> None:
    topics = dict.fromkeys("ab", frozenset({"t", "u"}))
    shares = assign(topics, partitions(3) + partitions(3, "u"), {})
    assert list(uneven(shares, topics)) == []
