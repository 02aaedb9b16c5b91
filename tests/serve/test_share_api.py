import threading
import time
from uuid import UUID

import pytest

from conformance.wire.messages import Message, request
from conformance.wire.records import record_batch
from model.errors import ErrorCode
from serve.node import Options
from tests.serve.served import Client, acquired, client_of, part


def test_a_lock_that_is_over_lets_another_member_have_the_records() -> None:
    with client_of(speed=1000) as client:
        topic = client.join(3)
        assert acquired(client.fetch(0, part(topic))) == [(0, 2, 1)]
        other = client.fetch(0, part(topic), member="n", max_wait_ms=9000)
        assert acquired(other) == [(0, 2, 2)]


def test_a_connection_that_closes_ends_the_session_and_releases(client: Client) -> None:
    topic = client.join(2)
    client.fetch(0, part(topic), connection="other")
    client.wire.disconnect("other")
    again = client.fetch(0, part(topic), member="n", max_wait_ms=5000)
    assert acquired(again) == [(0, 1, 2)]


@pytest.mark.parametrize("wrong", [{"group_id": ""}, {"member_id": None}, {"max_records": -1}])
def test_a_request_that_no_client_sends_is_invalid(wrong: dict[str, object]) -> None:
    asked = {"group_id": "g", "member_id": "m", "max_bytes": 1, "max_records": 1, "batch_size": 1}
    with client_of() as client:
        body = client.send(request("share_fetch", 1, **{**asked, **wrong}))
        assert body.error_code == ErrorCode.INVALID_REQUEST.value


def test_a_fetch_waits_for_records_and_no_longer(client: Client) -> None:
    topic = client.join()
    began = time.monotonic()
    assert acquired(client.fetch(0, part(topic), max_wait_ms=200)) == []
    assert time.monotonic() - began >= 0.2
    writer = Client(str(client.wire.address))
    timer = threading.Timer(0.1, writer.fill, ("t", 1))
    timer.start()
    assert acquired(client.fetch(1, max_wait_ms=600_000)) == [(0, 0, 1)]
    timer.join()
    writer.wire.close()
    assert time.monotonic() - began < 300


def test_a_fetch_waits_for_its_least_bytes(client: Client) -> None:
    topic = client.join(1)
    one = len(record_batch(1))
    began = time.monotonic()
    answer = client.fetch(0, part(topic), max_wait_ms=200, min_bytes=10 * one)
    assert time.monotonic() - began >= 0.2
    assert acquired(answer) == [(0, 0, 1)]


def test_a_fetch_gives_batches_up_to_its_bytes_and_at_least_one(client: Client) -> None:
    topic = client.join(1, 1, 1)
    one = len(record_batch(1))
    assert acquired(client.fetch(0, part(topic), max_bytes=2 * one)) == [(0, 1, 1)]
    assert acquired(client.fetch(1, max_bytes=1)) == [(2, 2, 1)]


@pytest.mark.parametrize("apart", [False, True], ids=["with-a-fetch", "apart"])
@pytest.mark.parametrize(
    ("named", "accepted"),
    [([(), (1,)], {1}), ([(1,), ()], set()), ([(1,), (2,)], {2}), ([(1, 2)], {1, 2})],
    ids=["after-nothing", "before-nothing", "another", "both"],
)
def test_of_a_share_partition_that_is_named_twice_the_last_counts(
    client: Client, named: list[tuple[int, ...]], accepted: set[int], *, apart: bool
) -> None:
    """As a broker of Apache Kafka 4.4.0 was seen to answer the same requests."""
    topic = client.join(3)  # The first stays unacknowledged, so that the window does.
    assert acquired(client.fetch(0, part(topic))) == [(0, 2, 1)]
    head = {"group_id": "g", "member_id": "m", "share_session_epoch": 1}
    sizes = {"max_wait": 0, "min_bytes": 1, "max_bytes": 99, "max_records": 9, "batch_size": 9}
    topics = [_topic(topic, offsets) for offsets in named]
    if apart:
        asked = request("share_acknowledge", 1, **head, topics=topics)
    else:
        asked = request("share_fetch", 1, **head, **sizes, topics=topics)
    assert client.send(asked).error_code == 0
    for epoch, offset in enumerate((1, 2), 2):
        answer = client.acknowledge(epoch, part(topic, (offset, offset, 1)))
        is_refused = answer.response.partitions[0].acknowledge_error is not ErrorCode.NONE
        assert is_refused == (offset in accepted)


def _topic(topic: UUID, offsets: tuple[int, ...]) -> Message:
    batches = [{"first_offset": n, "last_offset": n, "acknowledge_types": [1]} for n in offsets]
    parts = [{"partition_index": 0, "acknowledgement_batches": batches}]
    return {"topic_id": topic, "partitions": parts}


def test_latest_begins_where_the_log_ended_when_the_first_fetch_came() -> None:
    with client_of(Options()) as client:
        topic = client.join(3)
        assert acquired(client.fetch(0, part(topic))) == []
        client.fill("t", 1)
        assert acquired(client.fetch(1)) == [(3, 3, 1)]


def test_by_duration_begins_with_the_records_of_that_time() -> None:
    with client_of(Options(group={"share.auto.offset.reset": "by_duration:PT1H"})) as client:
        topic = client.join(2)
        assert acquired(client.fetch(0, part(topic))) == [(0, 1, 1)]


def test_nobody_waits_on_after_the_server_is_stopped() -> None:
    before = set(threading.enumerate())
    with client_of() as client:
        client.join()
    assert set(threading.enumerate()) <= before
