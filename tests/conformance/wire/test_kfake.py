"""kfake as a target: what is known of it shows, as does what the search does not ask for."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import attrs
import pytest

import conformance
from conformance.campaign import replayed
from conformance.wire.admin import Resource
from conformance.wire.broker import BrokerTarget
from conformance.wire.kit import BROKERS
from conformance.wire.servers import KfakeBroker, kfake_target
from conformance.wire.target import Exchange, GroupTopic
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.ranges import AcquiredRange
from model.share_messages import PartitionRequest, ShareFetch, ShareResponse, TopicPartition
from tests.conformance.wire.fake import Fake, faking
from tools.documents.findings import known_of

TARGET = Path(conformance.__file__).parent / "targets" / "kfake"
CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=10,
    record_lock_duration_ms=100,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
)


def test_limits_are_set_for_the_broker_and_the_rest_for_the_group() -> None:
    fake = Fake()
    with faking(fake) as address, closing(KfakeBroker(address, joins=False)) as broker:
        broker.finish(broker.open(CONFIG, 1))
    of_group, of_broker, removed = (
        {config.name: config.value for config in each.resources[0].configs}
        for each in fake.of("incremental_alter_configs")
    )
    assert of_broker == {
        "group.share.record.lock.duration.ms": "100",
        "group.share.delivery.count.limit": "2",
        "group.share.partition.max.record.locks": "10",
    }
    assert of_group["share.auto.offset.reset"] == "earliest"
    assert removed == dict.fromkeys(of_group)


@pytest.fixture(scope="module")
def target() -> Iterator[BrokerTarget]:
    if not (TARGET / "build" / "built").exists():
        pytest.skip("kfake is not built here; `make kfake` builds it")
    with kfake_target(10) as found:
        assert isinstance(found, BrokerTarget)
        yield found


def fetched(  # noqa: PLR0913 - what differs between the tests
    target: BrokerTarget,
    place: GroupTopic,
    epoch: int,
    *batches: AcknowledgementBatch,
    member: str = "member",
    connection: str = "",
    max_wait_ms: int = 0,
) -> Exchange:
    at = PartitionRequest(TopicPartition(place.topic_id, 0), batches)
    wanted = ShareFetch(place.group, member, epoch, (at,), max_wait_ms=max_wait_ms)
    return target.ask(place, wanted, connection or member)


@pytest.mark.broker
def test_known_deviations_show(target: BrokerTarget) -> None:
    shown = replayed(target, target.hello(), known_of("kfake"), BROKERS)
    assert [one.known.name for one in shown if one.fault is None] == []


@pytest.mark.broker
def test_it_ignores_the_lock_duration_of_a_group(target: BrokerTarget) -> None:
    place = target.open(CONFIG, 1)
    admin = target._admin  # noqa: SLF001 - only a test asks for what the kit does not
    admin.configure(Resource.GROUP, place.group, {"share.record.lock.duration.ms": "12345"})
    assert fetched(target, place, 0).lock_timeout_ms == CONFIG.record_lock_duration_ms
    target.finish(place)


@pytest.mark.broker
def test_a_record_left_after_a_deletion_is_archived_without_having_been_delivered(
    target: BrokerTarget,
) -> None:
    place = target.open(CONFIG, 1)
    fetched(target, place, 0)
    target.produce(place, 0, [(0, 1), (0, 1)])
    target.delete_records(place, 0, 1)
    for epoch, count in ((1, 1), (2, 2)):
        exchange = fetched(target, place, epoch)
        (answered,) = exchange.response.partitions
        assert answered.acquired == (AcquiredRange(0, 1, count),)
        assert exchange.read == ()
        target.wait(2 * CONFIG.record_lock_duration_ms)
    assert fetched(target, place, 3).response.partitions == ()
    assert target.describe(place, 0).start_offset == 2
    target.finish(place)


@pytest.mark.broker
def test_what_a_waiting_fetch_acknowledged_is_not_told_when_its_session_ends(
    target: BrokerTarget,
) -> None:
    place = target.open(attrs.evolve(CONFIG, record_lock_duration_ms=30_000), 1)
    target.produce(place, 0, [(0, 1)])
    fetched(target, place, 0, member="holder")
    fetched(target, place, 0)
    stranger = AcknowledgementBatch(0, 0, (1,))
    again = BrokerTarget(str(target._wire.address))  # noqa: SLF001 - another connection meanwhile
    with ThreadPoolExecutor(1) as pool, closing(again):
        fetched(again, place, 1)
        waiting = pool.submit(fetched, again, place, 2, stranger, max_wait_ms=600)
        target.wait(300)
        target.disconnect("member")
        assert waiting.result().response == ShareResponse()
    refused = fetched(target, place, 3, stranger, connection="another").response
    assert refused.error is ErrorCode.SHARE_SESSION_NOT_FOUND
    target.finish(place)
