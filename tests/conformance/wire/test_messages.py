"""Messages are those of kio, and bytes of a broker are read with distrust."""

import contextlib
import dataclasses
import enum
import io
import random
import tracemalloc
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import get_args, get_origin
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import Records

from conformance.wire.messages import (
    MalformedError,
    Message,
    UnsupportedError,
    answered,
    decoded,
    encoded,
    received,
    request,
    response,
)

TOPIC = UUID(int=7)
READ = [(3, 12), (0, 11), (18, 0), (19, 7), (76, 1), (78, 1), (78, 2), (79, 1), (79, 2), (90, 1)]
"""Responses that the kit reads; Produce (0) has a tagged field with an array in it."""


def of_kio(kind: Message, values: random.Random) -> Message:
    """Return some value of one of kio's classes."""
    return kind(**{f.name: field_of_kio(f, values) for f in dataclasses.fields(kind)})


def field_of_kio(field: Message, values: random.Random) -> Message:
    kinds = [kind for kind in get_args(field.type) if kind not in (type(None), ...)]
    if type(None) in get_args(field.type) and values.random() < 0.3:
        return None
    kind = kinds[0] if kinds and get_origin(field.type) is not tuple else field.type
    if get_origin(kind) is not tuple:
        return one_of_kio(kind, field, values)
    kind = get_args(kind)[0]
    return tuple(one_of_kio(kind, field, values) for _ in range(values.randrange(3)))


def one_of_kio(kind: Message, field: Message, values: random.Random) -> Message:
    if dataclasses.is_dataclass(kind):
        return of_kio(kind, values)
    number = values.randrange(100)
    made: dict[str, Message] = {
        **dict.fromkeys(("int8", "int16", "int32", "int64"), number),
        "timedelta_i32": timedelta(milliseconds=number),
        "datetime_i64": None,
        "uuid": UUID(int=number + 1),
        "string": ["", "a", "Ω" * 200][number % 3],
        "records": Records(values.randbytes(3 * number)),
        "bytes": values.randbytes(number),
        "bool": number > 50,
        "error_code": values.choice(list(ErrorCode)),
    }
    return made[field.metadata["kafka_type"]]


def plain(value: Message) -> Message:
    """Return what both decoders should say: names, numbers and ms."""
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, SimpleNamespace):
        return {name: plain(one) for name, one in vars(value).items()}
    if isinstance(value, tuple):
        return tuple(plain(one) for one in value)
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime | enum.Enum):
        return int(value) if isinstance(value, enum.IntEnum) else value
    return value


def written(value: Message) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()


@pytest.mark.parametrize(("key", "version"), READ)
@given(seed=st.integers(0, 10**9))
def test_responses_are_read_as_kio_reads_them(key: int, version: int, seed: int) -> None:
    kind = load_response_schema(key, version)
    data = written(of_kio(kind, random.Random(seed)))  # noqa: S311 - no secret
    theirs, size = entity_reader(kind)(data, 0)
    assert size == len(data)
    ours = decoded(kind, data)
    for name, value in plain(theirs).items():
        if name != "responses" or key:  # Times of Produce: kio has None where the wire has -1.
            assert plain(ours)[name] == value


@pytest.mark.parametrize(("key", "version"), READ)
@given(seed=st.integers(0, 10**9), at=st.floats(0, 1, exclude_max=True))
def test_half_a_response_is_refused(key: int, version: int, seed: int, at: float) -> None:
    kind = load_response_schema(key, version)
    data = written(of_kio(kind, random.Random(seed)))  # noqa: S311 - no secret
    with pytest.raises(MalformedError):
        decoded(kind, data[: int(at * len(data))])


@pytest.mark.parametrize(("key", "version"), READ)
@given(data=st.binary(max_size=200))
def test_rubbish_is_read_or_refused_and_nothing_else(key: int, version: int, data: bytes) -> None:
    with contextlib.suppress(MalformedError):
        decoded(load_response_schema(key, version), data)


ACKNOWLEDGED = b"\0\0\0\0" + b"\0\0" + b"\0" + b"\0\0\0\0"
"""A ShareAcknowledge response of version 2 up to its topics, and what comes after them."""


@pytest.mark.parametrize(
    ("tail", "error"),
    [
        (b"\xff\xff\xff\xff\x07", "responses is 2147483646; allowed: an array of at most 0"),
        (b"\xff\xff\xff\xff\xff\x07", "allowed: a number of at most 5 bytes"),
        (b"\0", "responses is None; allowed: a value, not null"),
        (b"\x01\x01\x00\x00", "1 bytes are left over"),
        (b"\x01\x01\x01\x07\x50", "is 80; allowed: at most the 0 bytes that are left"),
    ],
)
def test_counts_of_a_broker_are_not_believed(tail: bytes, error: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MalformedError, match=error):
            decoded(load_response_schema(79, 2), ACKNOWLEDGED + tail)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_what_a_tagged_field_holds_is_counted_too() -> None:
    kind = load_response_schema(0, 11)
    nothing = b"\x01" + b"\0\0\0\0"
    assert decoded(kind, nothing + b"\x00").node_endpoints == ()
    assert decoded(kind, nothing + b"\x01\x00\x01\x01").node_endpoints == ()
    assert decoded(kind, nothing + b"\x01\x09\x01\x01").node_endpoints == ()
    with pytest.raises(MalformedError, match="node_endpoints is 2147483646; allowed: an array"):
        decoded(kind, nothing + b"\x01\x00\x05\xff\xff\xff\xff\x07")


def test_text_that_is_none_is_refused() -> None:
    with pytest.raises(MalformedError, match="allowed: UTF-8"):
        decoded(
            load_response_schema(79, 2), b"\0\0\0\0" + b"\0\0" + b"\x02\xff" + b"\0\0\0\0\1\1\0"
        )


def test_a_null_where_there_may_be_none_is_read() -> None:
    partition = b"\0\0\0\0" + b"\0\0" + b"\0" + b"\0\0" + b"\0" + b"\0" * 8 + b"\0" + b"\0\1\0"
    data = ACKNOWLEDGED + b"\2" + TOPIC.bytes + b"\2" + partition + b"\0" + b"\1\0"
    one = decoded(load_response_schema(78, 2), data).responses[0].partitions[0]
    assert one.records is None


def test_a_request_of_plain_values_is_that_of_kio() -> None:
    batch = {"first_offset": 1, "last_offset": 3, "acknowledge_types": [1]}
    partitions = [{"partition_index": 0, "acknowledgement_batches": [batch]}]
    message = request(
        "share_acknowledge",
        1,
        group_id="g",
        member_id="m",
        share_session_epoch=2,
        topics=[{"topic_id": TOPIC, "partitions": partitions}],
    )
    assert entity_reader(type(message))(written(message), 0)[0] == message
    zero = request("share_fetch", 2, topics=[{"topic_id": TOPIC}])
    assert (zero.group_id, zero.max_records, zero.is_renew_ack) == (None, 0, False)
    assert (zero.topics[0].partitions, zero.max_wait) == ((), timedelta(0))
    with pytest.raises(TypeError, match="is_renew_ack"):
        request("share_acknowledge", 1, is_renew_ack=True)


def test_a_frame_has_a_header_and_so_has_its_response() -> None:
    message = request("api_versions", 0)
    assert encoded(message, 5) == b"\0\x12\0\0\0\0\0\x05\0\x09sharespec"
    correlation, body = response(message, b"\0\0\0\x05" + b"\0\0" + b"\0\0\0\0")
    assert correlation == 5
    assert body.api_keys == ()
    with pytest.raises(MalformedError, match="left over"):
        response(message, b"\0\0\0\x05" + b"\0\0" + b"\0\0\0\0" + b"!")


def test_as_much_surplus_is_passed_over_as_is_allowed() -> None:
    frame = b"\0\0\0\x05" + b"\0\0" + b"\0\0\0\0"
    assert response(request("api_versions", 0), frame + b"!", 1)[0] == 5
    with pytest.raises(MalformedError, match="2 bytes are left over"):
        response(request("api_versions", 0), frame + b"!!", 1)


@pytest.mark.parametrize("version", [3, 9])
def test_a_request_is_read_with_its_header(version: int) -> None:
    data = [{"name": "t", "partition_data": [{"index": 2, "records": b"r"}]}]
    asked = request("produce", version, transactional_id=None, acks=1, timeout=7, topic_data=data)
    header, body = received(encoded(asked, 9))
    assert (header.correlation_id, header.client_id) == (9, "sharespec")
    assert (body.acks, body.timeout) == (1, 7)
    assert body.topic_data[0].partition_data[0].records == b"r"


@pytest.mark.parametrize("cut", range(30))
def test_a_request_that_is_cut_off_is_malformed(cut: int) -> None:
    frame = encoded(request("metadata", 12, topics=None, allow_auto_topic_creation=True), 1)
    if cut < len(frame):
        with pytest.raises(MalformedError):
            received(frame[:cut])


@pytest.mark.parametrize("frame", [b"\x03\xe7\x00\x00", b"\x00\x4e\x00\x63"])
def test_a_request_that_kio_does_not_know_is_unsupported(frame: bytes) -> None:
    with pytest.raises(UnsupportedError):
        received(frame + bytes(10))


def test_an_answer_leaves_out_what_its_version_does_not_have() -> None:
    group = {"group_id": "g", "protocol_type": "p", "group_state": "s", "group_type": "t"}
    values = {"throttle_time": 3, "error_code": ErrorCode.none, "groups": [group], "x": 1}
    for version, kept in ((0, 2), (4, 3), (5, 4)):
        asked = request("list_groups", version)
        correlation, body = response(asked, answered(16, version, 8, values))
        assert correlation == 8
        assert len(vars(body.groups[0])) == kept
