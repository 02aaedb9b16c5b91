"""Requests that are sent by hand to a broker of Apache Kafka, of what no search of brokers asks."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from conformance.target import TargetError
from conformance.wire.codec import message
from conformance.wire.kafka_broker import kafka_broker
from model.share_messages import ShareFetch
from tests.conformance.unbuilt import built_or_skipped
from tests.kafka.compacted import CLEANING, compact, created
from tests.serve.served import Client, acquired, clients_of, offsets_of, part

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("by hand")]

_NONE, _FENCED_LEADER_EPOCH = 0, 74
_UNKNOWN_SERVER_ERROR, _UNKNOWN_TOPIC_OR_PARTITION = -1, 3
LONG_FEW_LOCKS = (
    "group.share.record.lock.duration.ms=10000",
    "group.share.partition.max.record.locks=100",
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with built_or_skipped(kafka_broker((*CLEANING, *LONG_FEW_LOCKS))) as broker:
        yield str(broker.address)


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    """Connect to the broker of these tests, and delete the topics of the test at its end."""
    with clients_of(address) as (client,):
        yield client
        for topic in "tu":
            with suppress(TargetError):  # A test may have created none.
                client.admin.delete_topic(topic)


def test_the_last_write_of_a_request_answers_for_all(client: Client) -> None:
    """The leader epochs of the writes in each request, after 5 has read, and the answers."""
    scripts = {
        "g1": ([[4, 5]], [_NONE]),
        "g2": ([[5, 4]], [_FENCED_LEADER_EPOCH]),
        "g3": ([[4], [5]], [_FENCED_LEADER_EPOCH, _NONE]),
    }
    topic = created(client)
    for group, (requests, errors) in scripts.items():
        ask = partial(ask_state, client, group, topic)
        ask("initialize", {"start_offset": 0})
        ask("read", {"leader_epoch": 5})
        answers = [row for epochs in requests for row in ask("write", *map(_write, epochs))]
        (read,) = ask("read", {"leader_epoch": 5})
        assert [row.error_code for row in answers] == errors
        durable = [(batch.first_offset, batch.last_offset) for batch in read.state_batches]
        assert durable == [(10, 19)]


def ask_state(
    client: Client, group: str, topic: UUID, name: str, *rows: dict[str, object]
) -> list[Any]:
    """Ask the share coordinator about partition 0 of a topic, in a row each; return the answers."""
    topics = [{"topic_id": topic, "partitions": [{"partition": 0} | row for row in rows]}]
    body = client.ask(f"{name}_share_group_state", 0, group_id=group, topics=topics)
    return list(body.results[0].partitions)


def _write(leader_epoch: int) -> dict[str, object]:
    first = {4: 0, 5: 10}[leader_epoch]
    return {"leader_epoch": leader_epoch, "state_batches": [_acknowledged(first, first + 9)]}


def _acknowledged(first: int, last: int) -> dict[str, int]:
    return {"first_offset": first, "last_offset": last, "delivery_state": 2, "delivery_count": 1}


COMPACTED = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0"}
ONE_BATCH, ALL = 300, 1_000_000


@pytest.mark.parametrize("gap", [True, False], ids=["a gap", "no gap"])
def test_finished_records_after_a_gap_stop_fetches_that_end_among_them(
    client: Client, *, gap: bool
) -> None:
    """Compaction removed offset 0; 1 and 2 are finished, 0 only where there is to be no gap."""
    topic = created(client, COMPACTED)
    compact(client, "abcda", {0})
    finish(client, topic, 1 if gap else 0, 2)
    opened = client.fetch(0, part(topic), max_bytes=ONE_BATCH, max_wait_ms=500)
    later = [client.fetch(epoch, max_bytes=ONE_BATCH, max_wait_ms=500) for epoch in range(1, 6)]
    given = [offsets[:1] for each in (opened, *later) for offsets in acquired(each)]
    rest = acquired(client.fetch(6, max_bytes=ALL, max_wait_ms=500))
    assert (given == []) == gap
    assert not gap or rest[0][0] == 3


def finish(client: Client, topic: UUID, first: int, last: int) -> None:
    """Make durable, with start offset 0, that these records are acknowledged; up to -1: none."""
    batches = [_acknowledged(first, last)] if last >= 0 else []
    for name, more in ("initialize", {}), ("write", {"leader_epoch": 0, "state_batches": batches}):
        (answer,) = ask_state(client, "g", topic, name, {"start_offset": 0, **more})
        assert answer.error_code == _NONE


@pytest.mark.parametrize("full", [True, False], ids=["a full window", "room for one"])
def test_finished_records_behind_a_gap_that_fill_the_window_stop_it(
    client: Client, *, full: bool
) -> None:
    """Of what was acquired, record 0 alone is not finished when the leader begins."""
    topic = created(client)
    client.fill("t", 1, 100)
    finish(client, topic, 1, 100 if full else 99)
    first = acquired(client.fetch(0, part(topic), max_records=1, max_wait_ms=2000))
    client.acknowledge(1, part(topic, (0, 0, 1)))
    answers = [client.fetch(epoch, max_wait_ms=500) for epoch in range(2, 6)]
    later = [offset for answer in answers for offset in offsets_of(answer)]
    assert first == [(0, 0, 1)]
    assert later == ([] if full else [100])


@pytest.mark.parametrize(("records", "given"), [(101, []), (100, [100])], ids=["full", "room"])
def test_a_full_window_stops_when_its_released_first_record_is_deleted(
    client: Client, records: int, given: list[int]
) -> None:
    """All but record 0 is finished; a limit of 100 has room for one more where 99 are."""
    topic = created(client)
    client.fill("t", records, 1)
    finish(client, topic, -1, -1)
    first = acquired(client.fetch(0, part(topic), max_wait_ms=2000))
    client.acknowledge(1, part(topic, (0, 0, 2), (1, records - 1, 1)))
    client.admin.delete_records("t", 0, 1)
    answers = [client.fetch(epoch, max_wait_ms=500) for epoch in range(2, 22)]
    assert first == [(0, records - 1, 1)]
    assert [offset for answer in answers for offset in offsets_of(answer)] == given


@pytest.mark.parametrize("waits", [True, False], ids=["a fetch waits", "no fetch waits"])
def test_a_fetch_that_waits_takes_what_its_lost_member_held(client: Client, *, waits: bool) -> None:
    """Member m holds record 0 and its connection is lost, perhaps with a fetch under way."""
    topic = created(client)
    client.fill("t", 1)
    finish(client, topic, -1, -1)
    held = client.fetch(0, part(topic), max_wait_ms=2000, connection="lost")
    assert acquired(held) == [(0, 0, 1)]
    if waits:
        asked = ShareFetch("g", "m", 1, (), max_wait_ms=20_000)
        with pytest.raises(TargetError):  # A request that is not answered ends it.
            client.wire.ask("lost", message(asked), -9_000)
    client.wire.disconnect("lost")
    given = acquired(client.fetch(0, part(topic), member="n", max_wait_ms=3000))
    later = acquired(client.fetch(1, member="n", max_wait_ms=9500))
    assert (given, later) == (([], [(0, 0, 3)]) if waits else ([(0, 0, 2)], []))


IN_VAIN = [{"topic_name": "u", "partitions": [{"partition_index": 7, "start_offset": 0}]}]
"""Topic u has no partition 7."""


def left(client: Client, group: str, *, vain: bool) -> UUID:
    """Leave a group of topic t, and perhaps alter nothing of topic u; return the id of that."""
    t, u = str(created(client)), client.admin.create_topic("u", 1)
    client.fill("u", 5)
    client.admin.join(group, "m", "t", t, 1)
    client.admin.leave(group, "m")
    if vain:
        answer = client.ask("alter_share_group_offsets", 0, group_id=group, topics=IN_VAIN)
        assert answer.responses[0].partitions[0].error_code == _UNKNOWN_TOPIC_OR_PARTITION
    return UUID(u)


@pytest.mark.parametrize(("vain", "given"), [(True, [0, 1, 2, 3, 4]), (False, [])])
def test_a_group_at_latest_reads_all_of_a_topic_that_was_altered_in_vain(
    client: Client, *, vain: bool, given: list[int]
) -> None:
    group = f"reads {vain}"
    topic = left(client, group, vain=vain)
    client.admin.join(group, "m", "u", str(topic), 1)
    asked = ShareFetch(group, "m", 0, (part(topic),), max_wait_ms=3000)
    assert offsets_of(client.share(asked)) == given


@pytest.mark.parametrize(
    ("vain", "errors"), [(True, [_UNKNOWN_SERVER_ERROR, _NONE]), (False, [_NONE])]
)
def test_a_group_is_deleted_at_the_second_try_once_it_was_altered_in_vain(
    client: Client, *, vain: bool, errors: list[int]
) -> None:
    group = f"deleted {vain}"
    left(client, group, vain=vain)
    ask = partial(client.admin.one, "delete_groups", groups_names=[group])
    assert [ask().error_code for _ in errors] == errors
