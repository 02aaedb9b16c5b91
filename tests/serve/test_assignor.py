from itertools import product

import pytest

from model.share_messages import TopicPartition
from serve.assignor import Assignment, assign

MEMBERS = "abcde"


def partitions(count: int, topic: str = "t") -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(count)]


def assigned(members: int, count: int, current: Assignment | None = None) -> Assignment:
    topics = dict.fromkeys(MEMBERS[:members], frozenset({"t"}))
    return assign(topics, partitions(count), current or {})


@pytest.mark.parametrize(("members", "count"), [*product(range(1, 5), range(1, 8))])
def test_members_keep_what_they_have(members: int, count: int) -> None:
    before = assigned(members, count)
    assert assigned(members, count, before) == before
    after = assigned(members + 1, count, before)
    if count > members:
        assert all(after[member] <= before[member] for member in before)
