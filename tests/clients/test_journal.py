from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import attrs
import pytest
from kio.schema.errors import ErrorCode as KafkaError

from clients.duties import Duty
from clients.events import (
    ACCEPT,
    GAP,
    RENEW,
    Asked,
    Called,
    Heartbeat,
    Lost,
    Returned,
    Settings,
)
from clients.journal import MOST_ACKNOWLEDGEMENTS, Journal
from clients.judge import judge
from serve.node import Cluster, Options
from serve.rare import Habit
from serve.topics import create_topic

LEFT = (KafkaError.none, -1)


def cluster() -> Cluster:
    return Cluster(Options(), int, int, int)


def acknowledging(
    topic: object, types: int, batches: int = 1, type_: int = ACCEPT, epoch: int = 0
) -> SimpleNamespace:
    batch = SimpleNamespace(first_offset=0, last_offset=0, acknowledge_types=(type_,) * types)
    part = SimpleNamespace(partition_index=0, acknowledgement_batches=(batch,) * batches)
    return SimpleNamespace(
        share_session_epoch=epoch,
        member_id="m",
        topics=(SimpleNamespace(topic_id=topic, partitions=(part,)),),
    )


def test_only_so_many_events_are_kept_and_the_record_says_so() -> None:
    journal = Journal(cluster(), most=3)
    for _ in range(5):
        journal.note(Lost(0, "x"))
    record = journal.record(Settings())
    assert len(record.events) == 3
    assert record.full


def test_a_request_of_very_many_acknowledgements_fills_the_record() -> None:
    journal = Journal(cluster())
    journal.asked(1, 1, "c", "share_acknowledge", acknowledging(uuid4(), MOST_ACKNOWLEDGEMENTS))
    record = journal.record(Settings())
    assert record.full
    assert record.events == ()


def test_a_full_record_is_not_judged_by_what_is_missing_at_its_end() -> None:
    journal = Journal(cluster(), most=3)
    journal.note(Heartbeat(0, "m", 0, given=1))
    journal.note(Called(0, "close"))
    journal.note(Returned(0, "close"))
    assert [v.name for v in judge(journal.record(Settings()))] == [Duty.LEAVES.value]
    journal.note(Heartbeat(0, "m", -1, given=-1))
    assert judge(journal.record(Settings())) == ()


def test_heartbeats_are_kept_with_their_answers_and_ids_are_cut_short() -> None:
    journal = Journal(cluster(), most=3)
    answers = [(0, KafkaError.none, 5), (5, KafkaError.unknown_member_id, 5), (-1, *LEFT)]
    for number, (epoch, error, given) in enumerate([*answers, answers[0]]):
        body = SimpleNamespace(member_id="m" * 9999, member_epoch=epoch)
        journal.asked(number, 1, "c", "share_group_heartbeat", body)
        if number == 1:
            journal.cluster.rare.arm(Habit.SLOW_HEARTBEAT)
        answer = {"error_code": error, "member_epoch": given, "assignment": None}
        journal.answered(number, "share_group_heartbeat", answer)
        journal.cluster.rare.takes(Habit.SLOW_HEARTBEAT)
    record, member = journal.record(Settings()), "m" * 1000
    assert [attrs.evolve(event, at_ms=0) for event in record.events] == [
        Heartbeat(0, member, 0, 0, 5),
        Heartbeat(0, member, 5, 25, 0, late_ms=500),
        Heartbeat(0, member, -1, 0, -1),
    ]
    assert (record.full, journal.heartbeats) == (True, 4)


def test_topics_have_their_names_and_unknown_ones_a_sign() -> None:
    brokers = cluster()
    topic = create_topic(brokers, "t", 1)
    journal = Journal(brokers)
    journal.asked(1, 1, "c", "share_acknowledge", acknowledging(topic.id, 1))
    journal.asked(2, 1, "c", "share_acknowledge", acknowledging(uuid4(), 1))
    places = [
        event.acknowledgements[0].place
        for event in journal.record(Settings()).events
        if isinstance(event, Asked)
    ]
    assert places == [("t", 0), ("?", 0)]


def acknowledge_answer(topic: object, whole: KafkaError, error: KafkaError) -> dict[str, Any]:
    elsewhere = {"leader_id": -1}
    part = {"partition_index": 0, "error_code": error, "current_leader": elsewhere}
    responses = ({"topic_id": topic, "partitions": (part,)},)
    return {"responses": responses, "error_code": whole, "throttle_time": 0}


NONE, REFUSED = KafkaError.none, KafkaError.invalid_record_state


@pytest.mark.parametrize(
    ("type_", "whole", "error", "counted"),
    [
        (ACCEPT, NONE, NONE, 2),
        (GAP, NONE, NONE, 2),
        (RENEW, NONE, NONE, 0),
        (ACCEPT, KafkaError.invalid_request, NONE, 0),
        (GAP, NONE, REFUSED, 0),
    ],
)
def test_batches_are_counted_that_are_not_refused_and_do_more_than_renew(
    type_: int, whole: KafkaError, error: KafkaError, counted: int
) -> None:
    brokers = cluster()
    topic = create_topic(brokers, "t", 1).id
    journal = Journal(brokers)
    journal.asked(1, 1, "c", "share_acknowledge", acknowledging(topic, 1, batches=2, type_=type_))
    answer = acknowledge_answer(topic, whole, error)
    journal.answered(1, "share_acknowledge", answer)
    journal.answered(2, "share_acknowledge", answer)  # One that acknowledged nothing.
    assert journal.acknowledged == counted


def test_of_a_share_partition_that_is_named_twice_the_last_counts() -> None:
    journal = Journal(cluster())
    topic, other = uuid4(), uuid4()
    body = acknowledging(topic, 1)
    body.topics += acknowledging(other, 1).topics + acknowledging(topic, 1, batches=0).topics
    journal.asked(1, 1, "c", "share_acknowledge", body)
    (asked,) = journal.record(Settings()).events
    assert isinstance(asked, Asked)
    assert len(asked.acknowledgements) == 1


def test_only_the_end_of_the_connection_with_the_session_loses_records() -> None:
    journal = Journal(cluster())
    journal.asked(1, 1, "c", "share_acknowledge", acknowledging(uuid4(), 1))
    journal.ended("other")
    journal.asked(2, 1, "other", "metadata", SimpleNamespace())
    assert len(journal.record(Settings()).events) == 1
    journal.ended("c")
    assert isinstance(journal.record(Settings()).events[-1], Lost)


def test_the_session_of_each_broker_has_a_connection_of_its_own() -> None:
    journal = Journal(cluster())
    journal.asked(1, 1, "c", "share_acknowledge", acknowledging(uuid4(), 1))
    journal.asked(2, 2, "d", "share_acknowledge", acknowledging(uuid4(), 1))
    journal.asked(3, 2, "e", "share_acknowledge", acknowledging(uuid4(), 1))
    for connection in ("d", "e", "c", "c"):
        journal.ended(connection)
    events = journal.record(Settings()).events
    assert [event.broker for event in events if isinstance(event, Lost)] == [2, 1]


def test_a_session_ends_with_the_connection_over_which_it_was_opened() -> None:
    journal = Journal(cluster())
    journal.asked(1, 1, "c", "share_acknowledge", acknowledging(uuid4(), 1))
    journal.asked(2, 1, "other", "share_acknowledge", acknowledging(uuid4(), 1, epoch=1))
    journal.ended("other")
    assert not any(isinstance(event, Lost) for event in journal.record(Settings()).events)
    journal.ended("c")
    assert isinstance(journal.record(Settings()).events[-1], Lost)


def test_a_fetch_of_very_many_partitions_fills_the_record() -> None:
    journal = Journal(cluster())
    part = SimpleNamespace(partition_index=0, acknowledgement_batches=())
    many = SimpleNamespace(topic_id=uuid4(), partitions=(part,) * (MOST_ACKNOWLEDGEMENTS + 1))
    body = SimpleNamespace(
        share_session_epoch=0,
        member_id="m",
        max_records=1,
        topics=(many,),
        forgotten_topics_data=(),
    )
    journal.asked(1, 1, "c", "share_fetch", body)
    assert journal.record(Settings()).full


@pytest.mark.parametrize("size", [None, "max_wait", "min_bytes", "max_bytes", "max_records"])
def test_a_renewing_fetch_that_asks_for_anything_does_not_say_that_it_renews(
    size: str | None,
) -> None:
    journal = Journal(cluster())
    body = acknowledging(uuid4(), 1, type_=RENEW)
    asks = dict.fromkeys(("max_wait", "min_bytes", "max_bytes", "max_records"), 0)
    vars(body).update(asks | ({size: 1} if size else {}), is_renew_ack=True)
    journal.asked(1, 1, "c", "share_fetch", body)
    (asked,) = (each for each in journal.record(Settings()).events if isinstance(each, Asked))
    assert asked.renews
    assert asked.says_renewal is (size is None)
