"""What a broker can do follows from what it says of its versions and settings."""

import attrs
import pytest

from conformance.target import TargetError
from conformance.wire.admin import SPOKEN, Admin
from conformance.wire.allowed import allowed
from conformance.wire.target import WireCapabilities
from tests.conformance.wire.fake import Fake, whole
from tests.doubles.spec_broker import CAPABILITIES


def without(fake: Fake, *names: str) -> None:
    for name in names:
        del fake.versions[SPOKEN[name].key]


def test_a_broker_that_speaks_everything_can_do_everything(admin: Admin) -> None:
    usual = WireCapabilities().max_sequence_ms
    everything = attrs.evolve(
        CAPABILITIES,
        lock_limits=(100, 200),
        max_sequence_ms=usual,
        heartbeats_ms=(),  # It tells no bounds of them.
        timeout_ms=0,
    )
    assert allowed(admin)[0] == everything


def test_what_a_broker_does_not_speak_it_cannot_do(fake: Fake, admin: Admin) -> None:
    fake.versions |= {78: (0, 1), 90: (0, 0)}
    without(fake, "end_txn", "delete_records", "incremental_alter_configs", "describe_configs")
    can, _own = allowed(admin)
    assert (can.fetch_versions, can.acquire_modes, can.renew) == (
        (1, 1),
        ("batch_optimized",),
        False,
    )
    assert (can.offsets, can.lag, can.delete_records) == (True, False, False)
    assert (can.gaps, can.aborted, can.transactions, can.config) == (False,) * 4
    assert can.resets == ("earliest",)
    assert can.delivery_limits == WireCapabilities().delivery_limits


def test_a_broker_without_offsets_of_groups_tells_none(fake: Fake, admin: Admin) -> None:
    without(fake, "describe_share_group_offsets")
    can, _own = allowed(admin)
    assert (can.offsets, can.lag) == (False, False)


@pytest.mark.parametrize("name", ["share_fetch", "share_acknowledge"])
def test_without_share_groups_nothing_can_be_done(fake: Fake, admin: Admin, name: str) -> None:
    without(fake, name)
    with pytest.raises(TargetError, match="no share groups"):
        allowed(admin)


def answers(fake: Fake, settings: dict[str, str]) -> None:
    """Make the broker say that it and its groups have these settings, of those asked for."""
    configs = [{"name": name, "value": value} for name, value in settings.items()]
    fake.said["describe_configs"] = lambda _request: whole("describe_configs", configs=configs)


def test_settings_of_the_broker_bound_what_can_be_configured(fake: Fake, admin: Admin) -> None:
    settings = {
        "group.share.min.record.lock.duration.ms": "15000",
        "group.share.min.delivery.count.limit": "3",
        "group.share.max.delivery.count.limit": "4",
        "group.share.min.partition.max.record.locks": "500",
        "group.share.max.partition.max.record.locks": "many",
    }
    answers(fake, settings)
    can, _own = allowed(admin)
    assert (can.lock_ms, can.delivery_limits, can.lock_limits) == (15_000, (3,), (500,))


def test_a_group_has_the_settings_that_the_broker_tells(fake: Fake, admin: Admin) -> None:
    has = {"share.auto.offset.reset": "latest", "share.record.lock.duration.ms": "30000",
           "group.share.delivery.count.limit": "4"}  # fmt: skip
    answers(fake, has)
    can, own = allowed(admin)
    assert (can.config, can.committed, can.group_limits) == (True, False, False)
    assert can.delivery_limits == (4,)
    assert own == {"share.auto.offset.reset", "share.record.lock.duration.ms"}


INTERVALS = {
    "share.heartbeat.interval.ms": "5000",
    "share.session.timeout.ms": "45000",
    "group.share.heartbeat.interval.ms": "5000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.max.heartbeat.interval.ms": "15000",
    "group.share.session.timeout.ms": "45000",
    "group.share.min.session.timeout.ms": "1000",
    "share.auto.offset.reset": "latest",
    "share.record.lock.duration.ms": "30000",
}


@pytest.mark.parametrize(
    ("otherwise", "intervals", "timeout"),
    [
        ({}, (500, 15_000), 1000),
        ({"group.share.heartbeat.interval.ms": "500"}, (15_000,), 0),
        ({"group.share.session.timeout.ms": "15000"}, (500,), 1000),
        ({"group.share.min.session.timeout.ms": "45000"}, (500, 15_000), 0),
        ({"group.share.min.session.timeout.ms": "500"}, (500, 15_000), 0),
        ({"share.session.timeout.ms": ""}, (500, 15_000), 0),
        ({"group.share.max.heartbeat.interval.ms": ""}, (), 0),
        ({"share.heartbeat.interval.ms": ""}, (), 0),
        ({"group.share.max.heartbeat.interval.ms": "500"}, (500,), 1000),
    ],
)
def test_a_group_has_intervals_within_the_bounds_that_the_broker_tells(
    fake: Fake,
    admin: Admin,
    otherwise: dict[str, str],
    intervals: tuple[int, ...],
    timeout: int,
) -> None:
    told = {name: value for name, value in (INTERVALS | otherwise).items() if value}
    answers(fake, told)
    can, _own = allowed(admin)
    assert (can.heartbeats_ms, can.timeout_ms) == (intervals, timeout)
