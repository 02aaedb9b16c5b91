"""A broker at an address: who it is, and what is made and removed for a sequence."""

import time
from collections.abc import Iterator

import pytest

from conformance.target import TargetError
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds, monotonic_ms
from conformance.wire.messages import Message
from conformance.wire.records import BATCH_HEADER
from conformance.wire.target import BatchOrigin
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.ranges import OffsetRange
from model.share_messages import PartitionRequest, ShareAcknowledge, TopicPartition
from tests.conformance.wire.fake import TOPIC_ID, Fake, faking, whole

CONFIG = SharePartitionConfig()
HAS = ("auto.offset.reset", "record.lock.duration.ms")


@pytest.fixture
def target(fake: Fake) -> Iterator[BrokerTarget]:
    with faking(fake) as address:
        found = BrokerTarget(address, bounds=Bounds(seconds=60), can={"sweep_ms": 70})
        yield found
        found.close()


def test_hello_is_cached(fake: Fake, target: BrokerTarget) -> None:
    hello = target.hello()
    assert hello is target.hello()
    assert hello.name == f"127.0.0.1:{fake.brokers[0]['port']}"
    assert hello.profile == "kafka"
    assert hello.capabilities.fetch_versions == (1, 2)
    assert hello.capabilities.sweep_ms == 70
    assert fake.asked == ["api_versions", "metadata", "describe_configs", "describe_configs"]


@pytest.mark.parametrize(
    ("versions", "error"),
    [
        (None, "has no ShareFetch; share groups need version 1 or 2"),
        ((0, 0), "has ShareFetch 0 to 0; share groups need version 1 or 2"),
        ((3, 4), "has ShareFetch 3 to 4; share groups need version 1 or 2"),
    ],
)
def test_a_broker_without_share_groups_is_refused(
    fake: Fake, target: BrokerTarget, versions: tuple[int, int] | None, error: str
) -> None:
    del fake.versions[78]
    fake.versions |= {78: versions} if versions else {}
    with pytest.raises(TargetError, match=error):
        target.hello()


def test_an_error_of_api_versions_is_reported(fake: Fake, target: BrokerTarget) -> None:
    fake.said["api_versions"] = lambda _request: {"error_code": 35, "api_keys": []}
    with pytest.raises(TargetError, match="ApiVersions: UNSUPPORTED_VERSION"):
        target.hello()


def test_topic_and_group_of_a_sequence_are_removed(fake: Fake, target: BrokerTarget) -> None:
    place = target.open(CONFIG, 1)
    other = target.open(CONFIG, 1)
    assert place.topic_id == str(TOPIC_ID)
    assert (place.group, place.partitions) != (other.group, 1)
    target.produce(place, 0, [(0, 2)])
    target.delete_records(place, 0, 1)
    began = len(fake.asked)
    target.finish(place)
    assert fake.asked[began:] == [
        "share_group_heartbeat",
        "delete_groups",
        "incremental_alter_configs",
        "delete_topics",
    ]
    altered = fake.of("incremental_alter_configs")
    made, _of_other, removed = (
        {config.name: config.value for config in each.resources[0].configs} for each in altered
    )
    assert made == {
        "share.delivery.count.limit": "5",
        "share.partition.max.record.locks": "2000",
        "share.record.lock.duration.ms": "30000",
        "share.auto.offset.reset": "latest",
        "share.isolation.level": "read_uncommitted",
        "share.renew.acknowledge.enable": "true",
    }
    assert removed == dict.fromkeys(made)
    target.close()
    assert fake.asked.count("delete_topics") == 2


def test_settings_altered_meanwhile_are_removed_with_the_group(
    fake: Fake, target: BrokerTarget
) -> None:
    place = target.open(CONFIG, 1)
    target.set_group(place, {"share.heartbeat.interval.ms": "500"})
    target.set_group(place, {"share.heartbeat.interval.ms": None})
    joined = target.heartbeat(place, "brief", 0)
    assert (joined.error, joined.epoch) == (ErrorCode.NONE, 1)
    target.heartbeat(place, "brief", 1)
    topics = [asked.subscribed_topic_names for asked in fake.of("share_group_heartbeat")]
    assert (len(topics[-2]), topics[-1]) == (1, None)
    target.finish(place)
    *_, set_, unset, removed = (
        {config.name: config.value for config in each.resources[0].configs}
        for each in fake.of("incremental_alter_configs")
    )
    assert (set_, unset) == (
        {"share.heartbeat.interval.ms": "500"},
        {"share.heartbeat.interval.ms": None},
    )
    assert "share.heartbeat.interval.ms" in removed
    assert set(removed.values()) == {None}


def test_a_transaction_that_is_open_at_the_end_of_a_sequence_is_aborted(
    fake: Fake, target: BrokerTarget
) -> None:
    place = target.open(CONFIG, 1)
    other = target.open(CONFIG, 1)
    target.produce(place, 0, [(0, 2)], BatchOrigin.OPEN)
    target.produce(other, 0, [(0, 2)], BatchOrigin.OPEN)
    target.end_transaction(other, 0, committed=True)
    target.finish(place)
    target.finish(other)
    assert [request.committed for request in fake.of("end_txn")] == [True, False]


def test_removal_continues_after_a_failure(fake: Fake, target: BrokerTarget) -> None:
    place = target.open(CONFIG, 1)
    began = len(fake.asked)
    fake.said["delete_groups"] = lambda _request: {}
    with pytest.raises(TargetError):
        target.finish(place)
    assert {"delete_topics", "incremental_alter_configs"} <= set(fake.asked[began:])
    target.close()
    assert fake.asked.count("delete_topics") == 2


def test_a_broker_without_group_settings_is_not_asked_for_them(
    fake: Fake, target: BrokerTarget
) -> None:
    del fake.versions[44]
    target.finish(target.open(CONFIG, 1))
    assert "incremental_alter_configs" not in fake.asked


def test_a_request_goes_over_its_connection(fake: Fake, target: BrokerTarget) -> None:
    place = target.open(CONFIG, 1)
    at = TopicPartition(place.topic_id, 0)
    asked = PartitionRequest(at, (AcknowledgementBatch(0, 0, (1,)),))
    request = ShareAcknowledge(place.group, "m", 1, (asked,))
    found = target.ask(place, request, "admin")
    (one,) = found.response.partitions
    assert (one.topic_partition, one.acknowledge_error) == (at, ErrorCode.INVALID_RECORD_STATE)
    assert found.lock_timeout_ms == 1000
    target.disconnect("admin")
    target.disconnect("nobody")
    assert fake.asked.count("share_acknowledge") == 1


def described(fake: Fake, **values: object) -> None:
    said = whole("describe_share_group_offsets", **values)
    fake.said["describe_share_group_offsets"] = lambda _request: said


def test_offsets_and_lag_are_described(fake: Fake, target: BrokerTarget) -> None:
    place = target.open(CONFIG, 1)
    found = target.describe(place, 0)
    assert (found.error, found.start_offset, found.lag) == (ErrorCode.NONE, 3, 4)
    assert found.sent_ms <= found.received_ms
    described(fake, lag=-1, start_offset=-1)
    assert (target.describe(place, 0).start_offset, target.describe(place, 0).lag) == (-1, None)
    described(fake, error_code=17)
    assert target.describe(place, 0).error is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_version_that_has_no_lag_tells_none(fake: Fake, target: BrokerTarget) -> None:
    fake.versions[90] = (0, 0)
    assert target.describe(target.open(CONFIG, 1), 0).lag is None


def test_closing_never_raises(fake: Fake, target: BrokerTarget) -> None:
    target.open(CONFIG, 1)
    fake.said["share_group_heartbeat"] = lambda _request: 1 / 0
    target.close()


def test_an_address_is_checked_first() -> None:
    with pytest.raises(TargetError, match="is not the address of a broker"):
        BrokerTarget("9092")


def test_waiting_takes_its_time(target: BrokerTarget) -> None:
    began = monotonic_ms()
    target.wait(20)
    assert monotonic_ms() - began >= 20


def test_batches_and_markers_are_where_they_were_asked_for(
    fake: Fake, target: BrokerTarget
) -> None:
    found = target.produce(target.open(CONFIG, 1), 0, [(0, 2), (2, 3)])
    assert found == (OffsetRange(0, 1), OffsetRange(4, 6))
    assert (fake.asked.count("produce"), fake.asked.count("end_txn")) == (2, 2)


def test_aborted_batches_are_one_transaction_around_other_markers(
    fake: Fake, target: BrokerTarget
) -> None:
    found = target.produce(target.open(CONFIG, 1), 0, [(0, 2), (1, 3)], BatchOrigin.ABORTED)
    assert found == (OffsetRange(0, 1), OffsetRange(3, 5))
    assert fake.end == 7
    assert len({request.transactional_id for request in fake.of("produce")}) == 1
    assert fake.asked.count("init_producer_id") == fake.asked.count("end_txn") == 2


def test_batches_join_the_open_transaction_of_their_partition_until_it_ends(
    fake: Fake, target: BrokerTarget
) -> None:
    place = target.open(CONFIG, 1)
    assert target.produce(place, 0, [(0, 2)], BatchOrigin.OPEN) == (OffsetRange(0, 1),)
    assert target.produce(place, 0, [(0, 1)]) == (OffsetRange(2, 2),)
    assert target.produce(place, 0, [(0, 1), (1, 3)], BatchOrigin.OPEN) == (
        OffsetRange(3, 3),
        OffsetRange(5, 7),
    )
    first, plain, *others = [request.transactional_id for request in fake.of("produce")]
    assert (plain, {*others}) == (None, {first})
    ended = [request.transactional_id for request in fake.of("end_txn")]
    assert first not in ended
    target.end_transaction(place, 0, committed=True)
    assert (fake.of("end_txn")[-1].transactional_id, fake.end) == (first, 9)
    target.produce(place, 0, [(0, 1)], BatchOrigin.OPEN)
    target.end_transaction(place, 0, committed=False)
    assert [request.committed for request in fake.of("end_txn")[-2:]] == [True, False]
    assert len(fake.of("init_producer_id")) == 3


def test_records_of_a_transaction_are_numbered_on(fake: Fake, target: BrokerTarget) -> None:
    sequences = []
    produce = fake.said["produce"]

    def noting(request: Message) -> Message:
        records = request.topic_data[0].partition_data[0].records
        sequences.append(int.from_bytes(records[53:57], "big"))
        return produce(request)

    fake.said["produce"] = noting
    place = target.open(CONFIG, 1)
    target.produce(place, 0, [(0, 2), (0, 3)], BatchOrigin.OPEN)
    target.produce(place, 0, [(0, 1)], BatchOrigin.OPEN)
    assert sequences == [0, 2, 5]


def test_a_batch_at_another_offset_is_reported(fake: Fake, target: BrokerTarget) -> None:
    fake.markers = 2
    place = target.open(CONFIG, 1)
    with pytest.raises(TargetError, match=r"a batch went to offset 2 of sharespec-.*, not to 1"):
        target.produce(place, 0, [(1, 1)])


def test_a_group_is_given_no_setting_that_the_broker_does_not_have(
    fake: Fake, target: BrokerTarget
) -> None:
    configs = [{"name": f"share.{name}", "value": "1"} for name in HAS]
    fake.said["describe_configs"] = lambda _request: whole("describe_configs", configs=configs)
    target.open(CONFIG, 1)
    (asked,) = fake.of("incremental_alter_configs")
    assert {config.name for config in asked.resources[0].configs} == {c["name"] for c in configs}


def test_an_unsupported_setting_is_refused(target: BrokerTarget) -> None:
    with pytest.raises(TargetError, match="do not configure a dead-letter queue"):
        target.open(SharePartitionConfig(dead_letter_queue=True), 1)


def test_records_are_older_than_by_duration_says_or_not(fake: Fake, target: BrokerTarget) -> None:
    place = target.open(SharePartitionConfig(auto_offset_reset=AutoOffsetReset.BY_DURATION), 1)
    (asked,) = fake.of("incremental_alter_configs")
    assert "by_duration:PT1H" in [config.value for config in asked.resources[0].configs]
    target.produce(place, 0, [(0, 2)], BatchOrigin.OLD)
    target.produce(place, 0, [(0, 1)])
    parts = [each.topic_data[0].partition_data[0] for each in fake.of("produce")]
    newest = [BATCH_HEADER.unpack_from(part.records)[8] / 1000 for part in parts]
    assert newest == pytest.approx([time.time() - 7200, time.time() - 1800], abs=600)


def test_each_has_transactions_of_its_own(fake: Fake, target: BrokerTarget) -> None:
    other = BrokerTarget(str(target.address))
    for each in (other, target, target):
        each.produce(each.open(CONFIG, 1), 0, [(1, 1)])
    other.close()
    first, *others = [request.transactional_id for request in fake.of("end_txn")]
    assert others == [others[0]] * 2
    assert first != others[0]
