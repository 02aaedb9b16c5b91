"""kfake as a target: what is known of it shows, as does what the search does not ask for."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import conformance
from conformance.known import read_known, replayed
from conformance.wire.brokers import BROKERS
from conformance.wire.kfake import KfakeHooks, kfake_target
from conformance.wire.named import known_of
from conformance.wire.target import Place, WireTarget
from model.config import AutoOffsetReset, SharePartitionConfig
from model.ranges import AcquiredRange
from model.share_messages import PartitionRequest, ShareFetch, TopicPartition

if TYPE_CHECKING:
    from conformance.wire.admin import Admin

TARGET = Path(conformance.__file__).parent / "targets" / "kfake"
CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=10,
    record_lock_duration_ms=100,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
)


class Recorder:
    """An Admin that only remembers the settings that it was given."""

    def __init__(self) -> None:
        self.group: dict[str, str | None] = {}
        self.broker: dict[str, str | None] = {}

    def configure(self, _group: str, settings: dict[str, str | None]) -> None:
        self.group.update(settings)

    def configure_broker(self, settings: dict[str, str | None]) -> None:
        self.broker.update(settings)


def test_limits_are_set_for_the_broker_and_the_rest_for_the_group() -> None:
    recorder = Recorder()
    hooks = KfakeHooks(cast("Admin", recorder))
    hooks.configure("g", CONFIG)
    assert recorder.broker == {
        "group.share.record.lock.duration.ms": "100",
        "group.share.delivery.count.limit": "2",
        "group.share.partition.max.record.locks": "10",
    }
    assert recorder.group["share.auto.offset.reset"] == "earliest"
    hooks.leave("g")
    assert set(recorder.group.values()) == {None}


@pytest.fixture(scope="module")
def target() -> Iterator[WireTarget]:
    if not (TARGET / "build" / "built").exists():
        pytest.skip("kfake is not built here; `make kfake` builds it")
    with kfake_target(10) as found:
        yield found


def fetched(target: WireTarget, place: Place, epoch: int, **fields: Any) -> Any:  # noqa: ANN401
    at = PartitionRequest(TopicPartition(place.topic_id, 0))
    request = ShareFetch(place.group, "member", epoch, (at,), max_wait_ms=0, **fields)
    return target.ask(place, request, "member")


def test_what_is_known_of_it_shows(target: WireTarget) -> None:
    path = known_of("kfake")
    assert path is not None
    shown = replayed(target, target.hello(), read_known(path, BROKERS), BROKERS)
    assert [one.known.name for one in shown if one.fault is None] == []


def test_it_does_not_heed_the_lock_duration_of_a_group(target: WireTarget) -> None:
    place = target.open(CONFIG, 1)
    admin: Admin = target._admin  # type: ignore[attr-defined]  # noqa: SLF001
    admin.configure(place.group, {"share.record.lock.duration.ms": "12345"})
    assert fetched(target, place, 0).lock_timeout_ms == CONFIG.record_lock_duration_ms
    target.finish(place)


def test_it_takes_no_records_for_five_hundred(target: WireTarget) -> None:
    place = target.open(CONFIG, 1)
    target.produce(place, 0, [(0, 2)])
    (answered,) = fetched(target, place, 0, max_records=0).response.partitions
    assert answered.acquired == (AcquiredRange(0, 1, 1),)
    target.finish(place)


def test_a_record_left_after_a_deletion_is_archived_without_having_been_delivered(
    target: WireTarget,
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
