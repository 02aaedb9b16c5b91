import time
from random import Random
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode as KafkaError

from conformance.wire.codec import message
from conformance.wire.target import UnansweredError
from model.errors import ErrorCode
from model.ranges import AcquiredRange
from model.share_messages import PartitionResponse, ShareFetch, ShareResponse, TopicPartition
from serve.rare import (
    LATE_SECONDS,
    MOST_ARMED,
    SLOW_SECONDS,
    START_SECONDS,
    THROTTLE_MS,
    UNHEARD_WITH,
    Habit,
    Rare,
)
from tests.clients.test_broker import holding
from tests.serve.served import acquired, clients_of, offsets_of, part

PLACE = TopicPartition(str(UUID(int=1)), 0)


def usual(*ranges: tuple[int, int, int]) -> ShareResponse:
    taken = tuple(AcquiredRange(*one) for one in ranges)
    return ShareResponse(partitions=(PartitionResponse(PLACE, acquired=taken),))


@pytest.mark.parametrize("seed", range(30))
def test_fewer_are_a_first_part_and_holes_keep_both_ends(seed: int) -> None:
    rare = Rare(Random(seed))  # noqa: S311 - chance, no secret
    answer = usual((3, 6, 1), (9, 12, 2))
    offsets = [3, 4, 5, 6, 9, 10, 11, 12]
    (fewer,) = rare.acquired(Habit.FEWER, answer).values()
    taken = [o for one in fewer for o in range(one.first, one.last + 1)]
    assert taken == offsets[: len(taken)]
    assert 1 <= len(taken) < len(offsets)
    (holes,) = rare.acquired(Habit.HOLES, answer).values()
    taken = [o for one in holes for o in range(one.first, one.last + 1)]
    assert (taken[0], taken[-1]) == (3, 12)
    assert set(taken) <= set(offsets) - {4}


def test_what_is_too_little_stays_as_it_is() -> None:
    rare = Rare()
    assert rare.acquired(Habit.FEWER, usual((0, 0, 1))) == {}
    assert rare.acquired(Habit.HOLES, usual((0, 1, 1))) == {}
    assert rare.acquired(Habit.NOTHING, usual()) == {}
    assert rare.acquired(Habit.NOTHING, usual((0, 0, 1))) == {PLACE: ()}


def test_each_happens_once_in_the_order_in_which_it_was_armed() -> None:
    rare = Rare()
    for habit in (Habit.CUT_ACKNOWLEDGED, Habit.CUT_FETCH, Habit.CUT_FETCH):
        rare.arm(habit)
    assert rare.cut(fetches=False, acknowledges=False) is None
    assert rare.cut(fetches=True, acknowledges=False) is Habit.CUT_FETCH
    assert rare.cut(fetches=True, acknowledges=True) is Habit.CUT_ACKNOWLEDGED
    assert rare.cut(fetches=True, acknowledges=True) is Habit.CUT_FETCH
    assert rare.cut(fetches=True, acknowledges=True) is None


def test_each_broker_that_is_to_answer_last_is_later_than_the_one_before_once() -> None:
    rare = Rare()
    for broker in (2, 3, 2):
        rare.answer_last(broker)
    late = [rare.lateness(broker) for broker in (1, 2, 3)]
    assert late == [0, 3 * LATE_SECONDS, 2 * LATE_SECONDS]
    assert rare.lateness(2) == 0


def test_a_broker_that_is_to_answer_last_looks_at_acknowledgements_late() -> None:
    with holding() as (broker, client, topic):
        broker.do(lambda cluster: cluster.rare.answer_last(1))
        began = time.monotonic()
        answer = client.acknowledge(1, part(topic, (0, 2, 1)))
        assert answer.response.partitions[0].acknowledge_error is ErrorCode.NONE
        assert time.monotonic() - began >= LATE_SECONDS


def test_only_so_many_are_armed() -> None:
    rare = Rare()
    for _ in range(MOST_ARMED + 5):
        rare.arm(Habit.CUT_FETCH)
    happened = 0
    while rare.cut(fetches=True, acknowledges=False):
        happened += 1
    assert happened == MOST_ARMED


@pytest.mark.parametrize("habit", [Habit.FEWER, Habit.HOLES])
def test_what_was_not_acquired_comes_with_a_later_fetch(habit: Habit) -> None:
    with holding() as (broker, client, _topic):
        broker.produce(("t", 0), 6)
        broker.do(lambda cluster: cluster.rare.arm(habit))
        first = offsets_of(client.fetch(1))
        assert 0 < len(first) < 6
        assert sorted([*first, *offsets_of(client.fetch(2))]) == [3, 4, 5, 6, 7, 8]


def test_an_answer_without_records_is_followed_by_one_with_them() -> None:
    with holding() as (broker, client, _topic):
        broker.produce(("t", 0), 2)
        broker.do(lambda cluster: cluster.rare.arm(Habit.NOTHING))
        assert acquired(client.fetch(1)) == []
        assert acquired(client.fetch(2)) == [(3, 4, 1)]


@pytest.mark.parametrize(
    ("habit", "errors"),
    [
        (Habit.STORAGE, ("KAFKA_STORAGE_ERROR",)),
        (Habit.UNAUTHORIZED, ("TOPIC_AUTHORIZATION_FAILED",)),
        (Habit.UNKNOWN, ()),
    ],
)
def test_a_partition_that_has_records_is_refused_once(
    habit: Habit, errors: tuple[str, ...]
) -> None:
    with holding() as (broker, client, _topic):
        broker.do(lambda cluster: cluster.rare.arm(habit))
        assert client.fetch(1).response.partitions == ()  # It has none yet.
        broker.produce(("t", 0), 2)
        answer = client.fetch(2)
        (refused,) = answer.response.partitions
        error = ErrorCode.UNKNOWN_SERVER_ERROR if errors else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (refused.error, refused.acquired) == (error, ())
        assert [name.upper() for name in answer.unknown_errors] == [*errors]
        assert acquired(client.fetch(3)) == [(3, 4, 1)]


def test_who_opens_a_session_is_told_for_a_while_that_there_is_no_room() -> None:
    with holding() as (broker, client, topic):
        broker.crowd()
        assert client.fetch(1).response.error is ErrorCode.SHARE_SESSION_NOT_FOUND
        told = client.fetch(0, part(topic)).response.error
        assert told is ErrorCode.SHARE_SESSION_LIMIT_REACHED
        time.sleep(START_SECONDS)
        assert acquired(client.fetch(0, part(topic))) == [(0, 2, 2)]


@pytest.mark.parametrize(
    ("habit", "count"), [(Habit.CUT_ACKNOWLEDGEMENT, 1), (Habit.CUT_ACKNOWLEDGED, 0)]
)
def test_a_cut_comes_before_or_after_the_acknowledgement_took_effect(
    habit: Habit, count: int
) -> None:
    with holding() as (broker, client, topic):
        broker.do(lambda cluster: cluster.rare.arm(habit))
        with pytest.raises(UnansweredError):
            client.acknowledge(1, part(topic, (0, 2, 1)))
        assert len(acquired(client.fetch(0, part(topic)))) == count


@pytest.mark.parametrize(
    ("habit", "expected"),
    [(Habit.CUT_FETCH, [(0, 2, 2), (3, 3, 1)]), (Habit.CUT_FETCHED, [(0, 3, 2)])],
    ids=["before", "after"],
)
def test_a_cut_comes_before_or_after_the_fetch_took_effect(
    habit: Habit, expected: list[tuple[int, int, int]]
) -> None:
    with holding() as (broker, client, topic):
        broker.produce(("t", 0), 1)
        broker.do(lambda cluster: cluster.rare.arm(habit))
        with pytest.raises(UnansweredError):
            client.fetch(1)
        with clients_of(broker.served.address) as (other,):
            assert acquired(other.fetch(0, part(topic), member="n")) == expected


def test_a_request_that_acknowledges_nothing_is_not_cut_for_it() -> None:
    with holding() as (broker, client, _topic):
        broker.do(lambda cluster: cluster.rare.arm(Habit.CUT_ACKNOWLEDGED))
        assert client.fetch(1).response.error is ErrorCode.NONE


def test_a_coordinator_is_not_available_once() -> None:
    with holding() as (broker, client, _topic):
        broker.do(lambda cluster: cluster.rare.arm(Habit.NO_COORDINATOR))
        asked = {"key_type": 0, "coordinator_keys": ["g"]}
        codes = [client.admin.one("find_coordinator", **asked) for _ in range(2)]
        assert [(each.error_code, each.node_id) for each in codes] == [(15, -1), (0, 1)]


@pytest.mark.parametrize(("habit", "error"), UNHEARD_WITH.items())
def test_a_heartbeat_is_not_looked_at_once_and_the_last_of_a_member_is(
    habit: Habit, error: KafkaError
) -> None:
    with holding() as (broker, client, _topic):
        broker.do(lambda cluster: cluster.rare.arm(habit))
        assert client.beat(0, ["t"], member="n").error_code == error.value
        assert broker.do(lambda cluster: "n" in cluster.groups["g"].members) is False
        broker.do(lambda cluster: cluster.rare.arm(habit))
        assert client.beat(-1).error_code == 0
        assert client.beat(0, ["t"]).error_code == error.value
        assert client.beat(0, ["t"]).error_code == 0


def test_what_comes_in_pairs_stays_within_the_bound() -> None:
    rare = Rare()
    rare.arm(Habit.PIECES)
    for _ in range(MOST_ARMED):
        rare.arm(Habit.THROTTLE)
    taken = [rare.takes(Habit.THROTTLE) + rare.takes(Habit.THROTTLE_MEMBER) for _ in range(600)]
    assert sum(taken) == MOST_ARMED - 1


def test_a_throttle_time_is_told_once_with_a_fetch_and_once_with_a_heartbeat() -> None:
    with holding() as (broker, client, topic):
        broker.do(lambda cluster: cluster.rare.arm(Habit.THROTTLE))
        client.acknowledge(1, part(topic, (0, 0, 1)))
        times = []
        for epoch in (2, 3):
            asked = ShareFetch("g", "m", epoch, (), max_wait_ms=0)
            times.append(client.send(message(asked)).throttle_time)
        assert times == [THROTTLE_MS, 0]
        beats = [client.beat(0, ["t"]).throttle_time for _ in range(2)]
        assert beats == [THROTTLE_MS, 0]


def test_an_answer_in_pieces_is_the_same_answer() -> None:
    with holding() as (broker, client, _topic):
        broker.produce(("t", 0), 500)
        broker.do(lambda cluster: cluster.rare.arm(Habit.PIECES))
        assert acquired(client.fetch(1)) == [(3, 502, 1)]
        broker.do(lambda cluster: cluster.rare.arm(Habit.PIECES))
        assert acquired(client.fetch(2)) == []  # It is shorter than its pieces would be.


def test_a_slow_heartbeat_takes_effect_before_it_is_answered() -> None:
    with holding() as (broker, client, _topic):
        broker.do(lambda cluster: cluster.rare.arm(Habit.SLOW_HEARTBEAT))
        began = time.monotonic()
        assert client.beat(-1).error_code == 0
        assert time.monotonic() - began >= SLOW_SECONDS
        assert broker.do(lambda cluster: cluster.groups["g"].members) == {}
