"""What a broker can do follows from what it says, and a log is written as it was asked for."""

from collections.abc import Iterator

import pytest

from conformance.target import TargetError
from conformance.wire.admin import SPOKEN, Admin
from conformance.wire.connection import Address, Wire
from conformance.wire.hooks import Hooks
from conformance.wire.messages import Message
from conformance.wire.target import WireCapabilities
from model.config import AutoOffsetReset, SharePartitionConfig
from model.ranges import OffsetRange
from tests.conformance.wire.fake import TOPIC_ID, Fake, faking, whole

EARLIEST = SharePartitionConfig(auto_offset_reset=AutoOffsetReset.EARLIEST)


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def hooks(fake: Fake) -> Iterator[Hooks]:
    with faking(fake) as address:
        wire = Wire(Address.parse(address))
        yield Hooks(Admin(wire, seconds=60), {"sweep_ms": 70})
        wire.close()


def without(fake: Fake, *names: str) -> None:
    for name in names:
        del fake.versions[SPOKEN[name].key]


def test_a_broker_that_speaks_everything_can_do_everything(hooks: Hooks) -> None:
    assert hooks.capabilities() == WireCapabilities(
        fetch_versions=(1, 2),
        acknowledge_versions=(1, 2),
        acquire_modes=("batch_optimized", "record_limit"),
        renew=True,
        offsets=True,
        lag=True,
        delete_records=True,
        gaps=True,
        aborted=True,
        transactions=True,
        coordinators=True,
        alters=True,
        recreates=True,
        config=True,
        committed=True,
        sweep_ms=70,
        delivery_limits=(2, 3, 5),
        lock_limits=(100, 200),
    )


def test_what_a_broker_does_not_speak_it_cannot_do(fake: Fake, hooks: Hooks) -> None:
    fake.versions |= {78: (0, 1), 90: (0, 0)}
    without(fake, "end_txn", "delete_records", "incremental_alter_configs", "describe_configs")
    can = hooks.capabilities()
    assert (can.fetch_versions, can.acquire_modes, can.renew) == (
        (1, 1),
        ("batch_optimized",),
        False,
    )
    assert (can.offsets, can.lag, can.delete_records) == (True, False, False)
    assert (can.gaps, can.aborted, can.transactions, can.config) == (False,) * 4
    assert can.delivery_limits == WireCapabilities().delivery_limits


def test_a_broker_without_offsets_of_groups_tells_none(fake: Fake, hooks: Hooks) -> None:
    without(fake, "describe_share_group_offsets")
    can = hooks.capabilities()
    assert (can.offsets, can.lag) == (False, False)


@pytest.mark.parametrize("name", ["share_fetch", "share_acknowledge"])
def test_without_share_groups_nothing_can_be_done(fake: Fake, hooks: Hooks, name: str) -> None:
    without(fake, name)
    with pytest.raises(TargetError, match="no share groups"):
        hooks.capabilities()


def answers(fake: Fake, settings: dict[str, str]) -> None:
    """Make the broker say that it and its groups have these settings, of those asked for."""
    configs = [{"name": name, "value": value} for name, value in settings.items()]
    fake.said["describe_configs"] = lambda _request: whole("describe_configs", configs=configs)


def test_settings_of_the_broker_bound_what_can_be_configured(fake: Fake, hooks: Hooks) -> None:
    settings = {
        "group.share.min.record.lock.duration.ms": "15000",
        "group.share.min.delivery.count.limit": "3",
        "group.share.max.delivery.count.limit": "4",
        "group.share.min.partition.max.record.locks": "500",
        "group.share.max.partition.max.record.locks": "many",
    }
    answers(fake, settings)
    can = hooks.capabilities()
    assert (can.lock_ms, can.delivery_limits, can.lock_limits) == (15_000, (3,), (500,))


def test_a_group_is_given_no_setting_that_the_broker_does_not_have(
    fake: Fake, hooks: Hooks
) -> None:
    has = {"share.auto.offset.reset": "latest", "share.record.lock.duration.ms": "30000",
           "group.share.delivery.count.limit": "4"}  # fmt: skip
    answers(fake, has)
    can = hooks.capabilities()
    assert (can.config, can.committed, can.group_limits) == (True, False, False)
    assert can.delivery_limits == (4,)
    hooks.configure("g", EARLIEST)
    (asked,) = fake.of("incremental_alter_configs")
    named = {config.name for config in asked.resources[0].configs}
    assert named == {"share.auto.offset.reset", "share.record.lock.duration.ms"}


def test_batches_and_markers_are_where_they_were_asked_for(fake: Fake, hooks: Hooks) -> None:
    found = hooks.produce("t", 0, [(0, 2), (2, 3)], aborted=False)
    assert found == (OffsetRange(0, 1), OffsetRange(4, 6))
    assert (fake.asked.count("produce"), fake.asked.count("end_txn")) == (2, 2)


def test_aborted_batches_are_one_transaction_around_other_markers(fake: Fake, hooks: Hooks) -> None:
    found = hooks.produce("t", 0, [(0, 2), (1, 3)], aborted=True)
    assert found == (OffsetRange(0, 1), OffsetRange(3, 5))
    assert fake.end == 7
    assert len({request.transactional_id for request in fake.of("produce")}) == 1
    assert fake.asked.count("init_producer_id") == fake.asked.count("end_txn") == 2


def test_batches_join_the_open_transaction_of_their_partition_until_it_ends(
    fake: Fake, hooks: Hooks
) -> None:
    assert hooks.produce_open("t", 0, [(0, 2)]) == (OffsetRange(0, 1),)
    assert hooks.produce("t", 0, [(0, 1)], aborted=False) == (OffsetRange(2, 2),)
    assert hooks.produce_open("t", 0, [(0, 1), (1, 3)]) == (OffsetRange(3, 3), OffsetRange(5, 7))
    first, plain, *others = [request.transactional_id for request in fake.of("produce")]
    assert (plain, {*others}) == (None, {first})
    ended = [request.transactional_id for request in fake.of("end_txn")]
    assert first not in ended
    hooks.end_transaction("t", 0, committed=True)
    assert (fake.of("end_txn")[-1].transactional_id, fake.end) == (first, 9)
    hooks.produce_open("t", 0, [(0, 1)])
    hooks.end_transaction("t", 0, committed=False)
    assert [request.committed for request in fake.of("end_txn")[-2:]] == [True, False]
    assert len(fake.of("init_producer_id")) == 3


def test_records_of_a_transaction_are_numbered_on(fake: Fake, hooks: Hooks) -> None:
    sequences = []
    produce = fake.said["produce"]

    def noting(request: Message) -> Message:
        records = request.topic_data[0].partition_data[0].records
        sequences.append(int.from_bytes(records[53:57], "big"))
        return produce(request)

    fake.said["produce"] = noting
    hooks.produce_open("t", 0, [(0, 2), (0, 3)])
    hooks.produce_open("t", 0, [(0, 1)])
    assert sequences == [0, 2, 5]


def test_a_batch_at_another_offset_is_reported(fake: Fake, hooks: Hooks) -> None:
    fake.markers = 2
    with pytest.raises(TargetError, match="a batch went to offset 2 of t, not to 1"):
        hooks.produce("t", 0, [(1, 1)], aborted=False)


def test_a_group_is_configured_joined_and_removed(fake: Fake, hooks: Hooks) -> None:
    hooks.configure("g", EARLIEST)
    hooks.join("g", "t", str(TOPIC_ID), 1)
    hooks.leave("g")
    hooks.leave("g")
    altered = fake.of("incremental_alter_configs")
    made, removed = ({c.name: c.value for c in one.resources[0].configs} for one in altered)
    assert made == {
        "share.delivery.count.limit": "5",
        "share.partition.max.record.locks": "2000",
        "share.record.lock.duration.ms": "30000",
        "share.auto.offset.reset": "earliest",
        "share.isolation.level": "read_uncommitted",
        "share.renew.acknowledge.enable": "true",
    }
    assert removed == dict.fromkeys(made)
    assert fake.asked[-3:] == [
        "share_group_heartbeat",
        "delete_groups",
        "incremental_alter_configs",
    ]


@pytest.mark.parametrize(
    "config",
    [
        SharePartitionConfig(auto_offset_reset=AutoOffsetReset.BY_DURATION),
        SharePartitionConfig(dead_letter_queue=True),
    ],
)
def test_an_unsupported_setting_is_refused(hooks: Hooks, config: SharePartitionConfig) -> None:
    with pytest.raises(TargetError, match="do not configure by_duration or a dead-letter queue"):
        hooks.configure("g", config)


def test_each_has_transactions_of_its_own(fake: Fake, hooks: Hooks) -> None:
    with faking(fake) as address:
        wire = Wire(Address.parse(address))
        for each in (Hooks(Admin(wire)), hooks, hooks):
            each.produce("t", 0, [(1, 1)], aborted=False)
        wire.close()
    first, *others = [request.transactional_id for request in fake.of("end_txn")]
    assert others == [others[0]] * 2
    assert first != others[0]
