import importlib
import io
from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from model.errors import ErrorCode, InvalidValueError
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    StateResult,
    WriteState,
)
from model.share_state_rpc import (
    newest_version,
    request_bytes,
    requests_from_bytes,
    response_bytes,
    results_from_bytes,
)
from model.state_topic import SharePartitionKey
from model.states import RecordState
from tests.coordinator_recording import messages
from tests.strategies import STATE_BATCHES, TOPIC_IDS

NUMBERS = st.integers(-1, 2**31 - 1)
OFFSETS = st.integers(-1, 2**63 - 2)
CODES = st.sampled_from([code for code in ErrorCode if type(code.value) is int])
TOPIC = UUID(bytes=bytes(range(1, 17)))
WRITE = WriteState(SharePartitionKey("g", TOPIC, 1), 2, 3, 100, 7)

MODULES = {
    InitializeState: "initialize_share_group_state",
    ReadState: "read_share_group_state",
    WriteState: "write_share_group_state",
    ReadStateSummary: "read_share_group_state_summary",
    DeleteState: "delete_share_group_state",
}
VERSIONS = [(kind, version) for kind in MODULES for version in range(newest_version(kind) + 1)]
EACH = pytest.mark.parametrize(("kind", "version"), VERSIONS)


def kio_entity(kind: type, version: int, what: str) -> type:
    module = MODULES[kind]
    name = "".join(part.capitalize() for part in (*module.split("_"), what))
    found = importlib.import_module(f"kio.schema.{module}.v{version}.{what}")
    entity: type = getattr(found, name)
    return entity


def through_kio(kind: type, version: int, what: str, data: bytes) -> tuple[Any, bytes]:
    """Return what kio reads, and the bytes that it writes of that."""
    entity = kio_entity(kind, version, what)
    value: Any
    value, size = entity_reader(entity)(data, 0)
    assert size == len(data)
    written = io.BytesIO()
    entity_writer(entity)(written, value)
    return value, written.getvalue()


@st.composite
def requests(draw: st.DrawFn, kind: type[StateRequest]) -> list[StateRequest]:
    group = draw(st.sampled_from(["g", "gä"]))
    partitions = draw(st.lists(st.tuples(TOPIC_IDS, st.integers(-1, 5)), min_size=1, max_size=4))
    fields: dict[str, st.SearchStrategy[Any]] = {
        "state_epoch": NUMBERS,
        "leader_epoch": NUMBERS,
        "start_offset": OFFSETS,
        "delivery_complete_count": NUMBERS,
        "state_batches": STATE_BATCHES,
    }
    names = [field.name for field in attrs.fields(kind) if field.name != "key"]
    found: list[Any] = []
    for topic, partition in sorted(partitions):
        key = SharePartitionKey(group, topic, partition)
        found.append(kind(key=key, **{name: draw(fields[name]) for name in names}))
    return found


@EACH
@settings(max_examples=15)
@given(data=st.data())
def test_requests_survive_encoding_and_are_those_of_kio(
    kind: type[StateRequest], version: int, data: st.DataObject
) -> None:
    given_requests = data.draw(requests(kind))
    written = request_bytes(given_requests, version)
    value, again = through_kio(kind, version, "request", written)
    assert again == written
    assert value.group_id == given_requests[0].key.group_id
    kept = [without_count(each) if version == 0 else each for each in given_requests]
    assert list(requests_from_bytes(kind, again, version)) == kept
    first = value.topics[0].partitions[0]
    for name in ("state_epoch", "leader_epoch", "start_offset"):
        assert getattr(first, name, None) == getattr(given_requests[0], name, None)


def without_count(request: StateRequest) -> StateRequest:
    if isinstance(request, WriteState):
        return attrs.evolve(request, delivery_complete_count=-1)
    return request


@EACH
@settings(max_examples=15)
@given(data=st.data())
def test_responses_survive_encoding_and_are_those_of_kio(
    kind: type[StateRequest], version: int, data: st.DataObject
) -> None:
    result = StateResult(
        data.draw(TOPIC_IDS),
        4,
        data.draw(CODES),
        data.draw(st.none() | st.just("why")),
        data.draw(NUMBERS),
        data.draw(NUMBERS),
        data.draw(OFFSETS),
        data.draw(NUMBERS),
        data.draw(STATE_BATCHES),
    )
    written = response_bytes(kind, [result], version)
    value, again = through_kio(kind, version, "response", written)
    assert again == written
    assert value.results[0].partitions[0].error_code.value == result.status.value
    (found,) = results_from_bytes(kind, written, version)
    assert response_bytes(kind, [found], version) == written
    for field in attrs.fields(StateResult):
        assert getattr(found, field.name) in (getattr(result, field.name), field.default)
    assert (found.status, found.message) == (result.status, result.message)


def test_messages_are_the_bytes_that_kafka_writes() -> None:
    seen = set()
    for kind, version, request, response in messages():
        assert request_bytes(requests_from_bytes(kind, request, version), version) == request
        results = results_from_bytes(kind, response, version)
        assert response_bytes(kind, results, version) == response
        seen.add((kind, version))
    assert seen == set(VERSIONS)


def test_a_write_is_the_bytes_that_the_protocol_guide_gives() -> None:
    # "g"; one topic: its id; one partition: index, state epoch, leader epoch, start offset, in
    # version 1 the delivery complete count; no batches; no tagged fields at three levels.
    head = (
        "02 67 02 0102030405060708090a0b0c0d0e0f10 02 00000001 00000002 00000003 0000000000000064"
    )
    assert request_bytes([WRITE], 1) == bytes.fromhex(head + "00000007 01 000000")
    assert request_bytes([WRITE], 0) == bytes.fromhex(head + "01 000000")


def test_the_count_of_a_newer_writer_is_lost_on_an_older_reader_and_the_other_way_round() -> None:
    old = attrs.evolve(WRITE, delivery_complete_count=-1)
    assert requests_from_bytes(WriteState, request_bytes([WRITE], 0), 0) == (old,)
    assert requests_from_bytes(WriteState, request_bytes([old], 1), 1) == (old,)
    assert requests_from_bytes(WriteState, request_bytes([WRITE], 1), 1) == (WRITE,)


def test_tagged_fields_of_a_later_version_are_passed_over() -> None:
    later = request_bytes([WRITE], 1)[:-3] + bytes.fromhex("01 09 02 aabb 00 01 00 00")
    assert requests_from_bytes(WriteState, later, 1) == (WRITE,)


@pytest.mark.parametrize(
    "mixed",
    [
        [],
        [WRITE, DeleteState(WRITE.key)],
        [DeleteState(WRITE.key), DeleteState(SharePartitionKey("h", TOPIC, 1))],
    ],
)
def test_one_message_has_requests_of_one_kind_and_one_group(mixed: list[StateRequest]) -> None:
    with pytest.raises(InvalidValueError, match="allowed: requests of one kind and one group"):
        request_bytes(mixed, 0)


def test_an_error_code_that_is_not_known_is_refused() -> None:
    written = response_bytes(DeleteState, [StateResult(TOPIC, 0, ErrorCode.INVALID_REQUEST)], 0)
    wrong = written.replace(bytes.fromhex("002a"), bytes.fromhex("7fff"))
    with pytest.raises(InvalidValueError, match="errorCode is 32767; allowed: -1, 0, 3"):
        results_from_bytes(DeleteState, wrong, 0)


def test_state_batches_that_cannot_be_are_refused_by_name() -> None:
    batch = StateBatch(5, 5, RecordState.ACKNOWLEDGED, 1)
    written = request_bytes([attrs.evolve(WRITE, state_batches=(batch,))], 1)
    wrong = written[:-7] + b"\x01" + written[-6:]
    with pytest.raises(InvalidValueError, match=r"stateBatches\[0\] is .*: state is"):
        requests_from_bytes(WriteState, wrong, 1)
