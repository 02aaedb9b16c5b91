"""Requests and responses of share sessions are what kio reads and writes."""

import io
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_response_schema
from kio.serial import entity_reader, entity_writer

from conformance.target import TargetError
from conformance.wire.codec import error_name, exchange, may_pass, message, topic_uuid
from conformance.wire.connection import Replied
from conformance.wire.messages import Message, built, decoded
from conformance.wire.records import record_batch
from model.errors import ErrorCode, InvalidValueError
from model.operations import AcknowledgementBatch
from model.ranges import AcquiredRange, OffsetRange
from model.share_messages import (
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    TopicPartition,
)
from model.states import AcquireMode

A, B = (str(UUID(int=n)) for n in (1, 2))
VERSIONS = pytest.mark.parametrize("version", [1, 2])


def read_by_kio(asked: ShareRequest) -> Message:
    made = message(asked)
    buffer = io.BytesIO()
    entity_writer(type(made))(buffer, made)
    found, size = entity_reader(type(made))(buffer.getvalue(), 0)
    assert size == len(buffer.getvalue())
    return found


@VERSIONS
@given(data=st.data())
def test_a_fetch_says_on_the_wire_what_it_says(version: int, data: st.DataObject) -> None:
    int32, int64 = st.integers(0, 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
    types = st.lists(st.integers(-128, 127), max_size=3).map(tuple)
    batches = st.lists(st.builds(AcknowledgementBatch, int64, int64, types), max_size=3).map(tuple)
    places = st.builds(TopicPartition, st.sampled_from([A, B]), st.integers(0, 5))
    ats = data.draw(st.lists(places, unique=True))
    forgotten = tuple(data.draw(st.lists(places, unique=True)))
    asked = ShareFetch(
        group_id=data.draw(st.text("gΩ", min_size=1)),
        member_id="m",
        session_epoch=data.draw(st.integers(-(2**31), 2**31 - 1)),
        partitions=tuple(PartitionRequest(at, data.draw(batches)) for at in ats),
        forgotten=forgotten,
        max_records=data.draw(int32),
        batch_size=data.draw(int32),
        max_bytes=data.draw(int32),
        min_bytes=data.draw(int32),
        max_wait_ms=data.draw(st.integers(0, 10**6)),
        acquire_mode=data.draw(st.sampled_from(AcquireMode)),
        is_renew_ack=data.draw(st.booleans()),
        version=version,
    )
    theirs = read_by_kio(asked)
    assert (theirs.group_id, theirs.member_id) == (asked.group_id, asked.member_id)
    assert theirs.share_session_epoch == asked.session_epoch
    assert (theirs.max_records, theirs.batch_size) == (asked.max_records, asked.batch_size)
    assert (theirs.max_bytes, theirs.min_bytes) == (asked.max_bytes, asked.min_bytes)
    assert theirs.max_wait == timedelta(milliseconds=asked.max_wait_ms)
    assert asked.partitions == tuple(
        PartitionRequest(
            TopicPartition(str(topic.topic_id), one.partition_index),
            tuple(
                AcknowledgementBatch(b.first_offset, b.last_offset, b.acknowledge_types)
                for b in one.acknowledgement_batches
            ),
        )
        for topic in theirs.topics
        for one in topic.partitions
    )
    assert forgotten == tuple(
        TopicPartition(str(topic.topic_id), partition)
        for topic in theirs.forgotten_topics_data
        for partition in topic.partitions
    )
    if version > 1:
        assert theirs.is_renew_ack == asked.is_renew_ack
        assert theirs.share_acquire_mode == (asked.acquire_mode is AcquireMode.RECORD_LIMIT)


def answered(asked: ShareRequest, partitions: list[Message], error: int = 0) -> Replied:
    """Return what kio writes as a response, read by us."""
    fetch = isinstance(asked, ShareFetch)
    usual = {"current_leader": {"leader_id": 1, "leader_epoch": 1}}
    parts = [{**usual, **one} for one in partitions]
    topics = [{"topic_id": UUID(A), "partitions": parts}]
    values: dict[str, Message] = {"error_code": error, "responses": topics}
    if fetch or asked.version > 1:
        values["acquisition_lock_timeout"] = 1500
    kind = load_response_schema(78 if fetch else 79, asked.version)
    buffer = io.BytesIO()
    entity_writer(kind)(buffer, built(kind, values))
    return Replied(decoded(kind, buffer.getvalue()), 1.0, 2.0)


def acquired(first: int, last: int, count: int) -> dict[str, int]:
    return {"first_offset": first, "last_offset": last, "delivery_count": count}


@VERSIONS
def test_a_fetch_is_answered_with_records_and_the_offsets_that_were_read(version: int) -> None:
    asked = ShareFetch("g", "m", 1, version=version)
    ranges = (acquired(0, 2, 1), acquired(3, 3, 2))
    one = {
        "partition_index": 3,
        "acknowledge_error_code": 121,
        "acquired_records": ranges,
        "records": record_batch(3) + record_batch(1),
    }
    found = exchange(asked, answered(asked, [one, {"partition_index": 4, "error_code": 6}]))
    first, second = found.response.partitions
    assert first.topic_partition == TopicPartition(A, 3)
    assert first.acquired == (AcquiredRange(0, 2, 1), AcquiredRange(3, 3, 2))
    assert first.acknowledge_error is ErrorCode.INVALID_RECORD_STATE
    assert second.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert found.read == ((first.topic_partition, (OffsetRange(0, 2), OffsetRange(0, 0))),)
    assert (found.lock_timeout_ms, found.sent_ms, found.received_ms) == (1500, 1.0, 2.0)


@VERSIONS
def test_the_error_of_an_acknowledgement_is_that_of_its_partition(version: int) -> None:
    asked = ShareAcknowledge("g", "m", 1, version=version)
    found = exchange(asked, answered(asked, [{"partition_index": 0, "error_code": 42}]))
    assert found.response.partitions[0].acknowledge_error is ErrorCode.INVALID_REQUEST
    assert found.response.partitions[0].error is ErrorCode.NONE
    assert found.lock_timeout_ms == (None if version == 1 else 1500)


def test_an_error_that_the_model_does_not_have_is_named() -> None:
    asked = ShareAcknowledge("g", "m", 1)
    found = exchange(asked, answered(asked, [{"partition_index": 0, "error_code": 1}], error=122))
    assert found.response.error is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert found.response.partitions[0].acknowledge_error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert found.unknown_errors == ("OFFSET_OUT_OF_RANGE",)
    assert error_name(30_000) == "error 30000"
    assert [may_pass(code) for code in (14, 121, 30_000)] == [True, False, False]


@pytest.mark.parametrize(
    ("one", "error"),
    [
        ({"partition_index": -1}, "partition is -1"),
        ({"partition_index": 0, "acquired_records": (acquired(5, 4, 1),)}, "last is 4"),
        ({"partition_index": 0, "acquired_records": (acquired(0, 4, -1),)}, "delivery_count is -1"),
        ({"partition_index": 0, "acquired_records": (acquired(0, 2**40, 1),)}, "at most 1048576"),
        ({"partition_index": 0, "records": record_batch(1)[:-1] + b"!"}, "wrong checksum"),
    ],
)
def test_an_impossible_response_is_reported_in_one_line(one: Message, error: str) -> None:
    asked = ShareFetch("g", "m", 1)
    with pytest.raises(TargetError, match=f"its answer to ShareFetch is impossible: .*{error}"):
        exchange(asked, answered(asked, [one]))


def test_the_records_of_another_partition_are_others() -> None:
    asked = ShareFetch("g", "m", 1)
    for partition, altered in ((3, ()), (0, ((TopicPartition(A, 3), (0, 1, 2)),))):
        one = {"partition_index": 3, "records": record_batch(3, partition=partition)}
        assert exchange(asked, answered(asked, [one])).altered == altered


def test_a_topic_id_is_a_uuid() -> None:
    assert str(topic_uuid(A)) == A
    with pytest.raises(InvalidValueError, match="topic_id is 'orders'"):
        topic_uuid("orders")


def test_a_leader_is_told_with_an_error_unless_it_is_not_known() -> None:
    asked = ShareAcknowledge("g", "m", 1)
    told: list[Message] = [
        {"partition_index": n, "error_code": error, "current_leader": {"leader_id": node,
         "leader_epoch": 0}}
        for n, (error, node) in enumerate([(0, 1), (3, 0), (6, 2), (6, -1)])
    ]  # fmt: skip
    found = exchange(asked, answered(asked, told)).leaders
    assert [(place.partition, node) for place, node in found] == [(1, 0), (2, 2)]
