"""librdkafka's mock cluster, driven as any broker is."""

from collections.abc import Iterator

import pytest

from conformance.wire.broker import BrokerTarget
from conformance.wire.librdkafka_mock import librdkafka_mock
from conformance.wire.target import Place
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.ranges import AcquiredRange, OffsetRange
from model.share_messages import PartitionRequest, PartitionResponse, ShareFetch, TopicPartition


@pytest.fixture(scope="module")
def mock() -> Iterator[BrokerTarget]:
    with librdkafka_mock() as target:
        target.hello()
        yield target


def configured(**settings: int) -> SharePartitionConfig:
    return SharePartitionConfig(auto_offset_reset=AutoOffsetReset.EARLIEST, **settings)


def first_fetch(mock: BrokerTarget, place: Place, member: str = "m1") -> PartitionResponse:
    at = TopicPartition(place.topic_id, 0)
    request = ShareFetch(place.group, member, 0, (PartitionRequest(at),), max_wait_ms=0, version=1)
    exchange = mock.ask(place, request, member)
    assert exchange.response.error is ErrorCode.NONE
    return exchange.response.partitions[0]


def test_what_was_produced_is_acquired(mock: BrokerTarget) -> None:
    place = mock.open(configured(), 2)
    assert mock.produce(place, 0, [(0, 2), (0, 3)]) == (OffsetRange(0, 1), OffsetRange(2, 4))
    assert first_fetch(mock, place).acquired == (AcquiredRange(0, 4, 1),)
    mock.finish(place)


def test_deleted_records_are_not_delivered(mock: BrokerTarget) -> None:
    place = mock.open(configured(), 1)
    mock.produce(place, 0, [(0, 3)])
    mock.delete_records(place, 0, 2)
    assert first_fetch(mock, place).acquired == (AcquiredRange(2, 2, 1),)
    mock.finish(place)


def test_settings_are_those_of_the_place(mock: BrokerTarget) -> None:
    place = mock.open(configured(partition_max_record_locks=3), 1)
    mock.produce(place, 0, [(0, 5)])
    assert first_fetch(mock, place).acquired == (AcquiredRange(0, 2, 1),)
    mock.finish(place)
    latest = mock.open(SharePartitionConfig(), 1)
    mock.produce(latest, 0, [(0, 5)])
    assert first_fetch(mock, latest).acquired == ()
    mock.finish(latest)


def test_it_says_what_it_can_do(mock: BrokerTarget) -> None:
    hello = mock.hello()
    assert (hello.name, hello.version) == ("librdkafka mock cluster", "2.16.0")
    can = hello.capabilities
    assert (can.fetch_versions, can.acknowledge_versions) == ((1, 1), (1, 1))
    assert (can.config, can.delete_records, can.gaps, can.lag) == (True, True, False, False)
