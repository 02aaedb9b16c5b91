"""librdkafka's mock cluster, driven as any broker is, and what is known of it."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from conformance.campaign import Limits, campaign, replayed, unknown
from conformance.target import TargetError
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from conformance.wire.kit import BROKERS
from conformance.wire.librdkafka import MockCluster
from conformance.wire.librdkafka_mock import librdkafka_mock
from conformance.wire.target import BatchOrigin, GroupTopic
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.ranges import AcquiredRange
from model.share_messages import (
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareResponse,
    TopicPartition,
)
from tests.doubles.spec_broker import SpecBroker
from tools.documents.findings import known_of

if TYPE_CHECKING:
    from conformance.known import KnownDeviation

KNOWN = known_of("librdkafka-mock")
NONE = ErrorCode.NONE


@pytest.fixture(scope="module")
def mock() -> Iterator[BrokerTarget]:
    with librdkafka_mock() as target:
        target.hello()
        yield target


@pytest.fixture
def place(mock: BrokerTarget) -> Iterator[GroupTopic]:
    place = mock.open(SharePartitionConfig(auto_offset_reset=AutoOffsetReset.EARLIEST), 1)
    yield place
    mock.finish(place)


def fetched(
    mock: BrokerTarget, place: GroupTopic, epoch: int = 0, max_bytes: int = 2**31 - 1
) -> ShareResponse:
    asked = PartitionRequest(TopicPartition(place.topic_id, 0))
    request = ShareFetch(
        place.group, "m1", epoch, (asked,), max_wait_ms=0, max_bytes=max_bytes, version=1
    )
    return mock.ask(place, request, "m1").response


def acquired(mock: BrokerTarget, place: GroupTopic) -> tuple[AcquiredRange, ...]:
    (one,) = fetched(mock, place).partitions
    assert one.error is NONE
    return one.acquired


def test_deleted_records_are_not_delivered(mock: BrokerTarget, place: GroupTopic) -> None:
    mock.produce(place, 0, [(0, 3)])
    mock.delete_records(place, 0, 2)
    assert acquired(mock, place) == (AcquiredRange(2, 2, 1),)


def test_it_reports_its_capabilities(mock: BrokerTarget) -> None:
    hello = mock.hello()
    assert (hello.name, hello.version) == ("librdkafka mock cluster", "2.16.0")
    can = hello.capabilities
    assert (can.fetch_versions, can.acknowledge_versions) == ((1, 1), (1, 1))
    assert (can.config, can.delete_records, can.gaps, can.aborted) == (True, True, False, False)


def test_each_known_deviation_shows_and_has_what_it_needs(mock: BrokerTarget) -> None:
    played = replayed(mock, mock.hello(), KNOWN, BROKERS)
    wrong = {
        one.known.name
        for one in played
        if one.fault is None or not one.known.needs <= set(one.fault.kinds)
    }
    assert wrong == set()


def test_the_specification_shows_no_known_deviation() -> None:
    broker = SpecBroker()
    shown = [one for one in replayed(broker, broker.hello(), KNOWN, BROKERS) if one.fault]
    assert [one.known.name for one in shown] == []


@pytest.mark.slow
def test_a_search_finds_only_known_deviations(mock: BrokerTarget) -> None:
    limits = Limits(seconds=60, sequences=6, examples=1, shrink_seconds=1)
    found = campaign(mock, limits, BROKERS, seed=1)
    assert found.steps > 50
    assert found.faults
    assert [one.deviation for one in unknown(found.faults, KNOWN)] == []
    hidden: tuple[KnownDeviation, ...] = tuple(
        one for one in KNOWN if one.signature != found.faults[0].deviation.signature
    )
    assert unknown(found.faults, hidden)


# What asks do not ask. docs/findings/librdkafka-mock.md names these tests.


def test_a_session_epoch_below_the_last_is_taken(mock: BrokerTarget, place: GroupTopic) -> None:
    mock.produce(place, 0, [(0, 1)])
    assert fetched(mock, place, epoch=-2) == ShareResponse()
    fetched(mock, place)
    assert fetched(mock, place, epoch=-2).error is NONE


def test_a_wide_range_delays_every_member(mock: BrokerTarget, place: GroupTopic) -> None:
    mock.produce(place, 0, [(0, 1)])
    fetched(mock, place)
    asked = PartitionRequest(
        TopicPartition(place.topic_id, 0), (AcknowledgementBatch(0, 500_000_000, (1,)),)
    )
    began = time.monotonic()
    mock.ask(place, ShareAcknowledge(place.group, "m1", 1, (asked,), version=1), "m1")
    assert time.monotonic() - began > 0.1


def test_markers_have_a_wrong_checksum(mock: BrokerTarget, place: GroupTopic) -> None:
    mock.produce(place, 0, [(0, 1)], BatchOrigin.ABORTED)
    with pytest.raises(TargetError, match="offset 1 has a wrong checksum"):
        fetched(mock, place)


def test_metadata_is_a_byte_too_long() -> None:
    cluster = MockCluster()
    strict = BrokerTarget(cluster.bootstrap, bounds=Bounds(surplus_bytes=0))
    try:
        with pytest.raises(TargetError, match=r"Metadata with rubbish: 1 bytes are left over"):
            strict.hello()
    finally:
        strict.close()
        cluster.close()
