"""Random commands for a broker reach every kind, and leave out those it cannot handle."""

from collections import Counter
from random import Random
from typing import get_args

import attrs
import pytest

from conformance.campaign import Limits, campaign
from conformance.wire import asks
from conformance.wire.generate import WireMixture, begin, mixture, next_ask
from conformance.wire.kit import BROKERS
from conformance.wire.scene import WireScene
from conformance.wire.target import WireCapabilities
from model.config import AutoOffsetReset
from model.states import AcknowledgeType, AcquireMode
from tests.doubles.spec_broker import CAPABILITIES, SpecBroker

TRANSACTIONAL = {asks.WireProduceAborted, asks.WireProduceOpen, asks.WireEndTransaction}


def mixed(seed: int, can: WireCapabilities = CAPABILITIES) -> WireMixture:
    return mixture(Random(seed), can)  # noqa: S311 - tests need no secrets


def test_a_sequence_begins_by_creating_the_topic_of_its_mixture() -> None:
    mix, first = begin(Random(3), SpecBroker().hello())  # noqa: S311 - as above
    assert first == asks.WireOpen(mix.config, mix.partitions, mix.group)
    assert mixed(3) == mix


def test_every_kind_of_command_is_in_some_mixture_and_missing_in_another() -> None:
    kinds = [set(mixed(seed).weights) for seed in range(60)]
    assert set.union(*kinds) == set(get_args(asks.Ask)) - {asks.WireOpen}
    assert set.intersection(*kinds) == {asks.WireProduce, asks.WireFetch, asks.WireAcknowledge}


def test_a_broker_gets_no_command_that_it_cannot_handle() -> None:
    nothing = WireCapabilities(sessions=False)
    for seed in range(60):
        mix = mixed(seed, nothing)
        without = {asks.WireDeleteRecords, asks.WireDescribe, asks.WireDisconnect, *TRANSACTIONAL}
        assert not without & set(mix.weights)
        assert AcknowledgeType.RENEW not in mix.types
        assert mix.types
        assert mix.modes == (AcquireMode.BATCH_OPTIMIZED,)
        assert not mix.gaps
        assert mix.odd == 0
        assert mix.config.partition_max_record_locks == 200


def test_a_group_begins_in_each_way_and_records_are_old_where_that_matters() -> None:
    resets = Counter(mixed(seed).config.auto_offset_reset for seed in range(100))
    assert set(resets) == set(AutoOffsetReset)
    for seed in range(100):
        mix, scene = mixed(seed), WireScene(SpecBroker(), SpecBroker().hello())
        by_duration = mix.config.auto_offset_reset is AutoOffsetReset.BY_DURATION
        assert not (by_duration and (mix.gaps or TRANSACTIONAL & mix.weights.keys()))
        random, only = Random(seed), attrs.evolve(mix, weights={asks.WireProduce: 1.0})  # noqa: S311 - as above
        made = [next_ask(random, only, scene) for _ in range(30)]
        old = {each.old for each in made if isinstance(each, asks.WireProduce)}
        assert old == ({False, True} if by_duration else {False})


def test_renewals_are_switched_off_at_times_where_members_renew() -> None:
    mixes = [mixed(seed) for seed in range(100)]
    off = [mix for mix in mixes if not mix.config.renew_acknowledge_enable]
    assert off
    assert all(AcknowledgeType.RENEW in mix.types for mix in off)
    fixed = attrs.evolve(CAPABILITIES, renew_setting=False)
    assert all(mixed(seed, fixed).config.renew_acknowledge_enable for seed in range(100))


def test_wide_windows_are_filled_with_large_batches() -> None:
    wide = attrs.evolve(CAPABILITIES, lock_limits=(100,))
    assert {max(mixed(seed, wide).sizes) for seed in range(30)} == {5, 51}


def test_read_committed_is_set_where_it_can_be_and_where_it_matters() -> None:
    def levels(can: WireCapabilities) -> Counter[tuple[bool, str]]:
        mixes = (mixed(seed, can) for seed in range(100))
        return Counter(
            (bool(TRANSACTIONAL & mix.weights.keys()), mix.config.isolation_level.value)
            for mix in mixes
        )

    plain, committed = "read_uncommitted", "read_committed"
    both = levels(CAPABILITIES)
    assert set(both) == {(False, plain), (True, plain), (True, committed)}
    assert both[True, committed] > both[True, plain]
    assert set(levels(attrs.evolve(CAPABILITIES, committed=False))) == {
        (False, plain),
        (True, plain),
    }
    without = attrs.evolve(CAPABILITIES, aborted=False, transactions=False)
    assert set(levels(without)) == {(False, plain)}


def test_a_transaction_that_is_open_ends_and_without_any_one_begins() -> None:
    random, broker = Random(4), SpecBroker()  # noqa: S311 - as above
    mix, opening = begin(random, broker.hello())
    weights = {asks.WireEndTransaction: 1.0, asks.WireFetch: 1.0}
    mix = attrs.evolve(mix, weights=weights)
    scene = WireScene(broker, broker.hello())
    scene.ask(opening)
    drawn = []
    for _ in range(60):
        is_open = any(scene.log(partition).open for partition in range(mix.partitions))
        drawn.append((is_open, next_ask(random, mix, scene)))
        scene.ask(drawn[-1][1])
    transactional = [(is_open, ask) for is_open, ask in drawn if type(ask) in TRANSACTIONAL]
    assert {(is_open, type(ask)) for is_open, ask in transactional} == {
        (False, asks.WireProduceOpen),
        (True, asks.WireEndTransaction),
    }
    ends = [ask.committed for _, ask in transactional if isinstance(ask, asks.WireEndTransaction)]
    assert ends.count(True) > ends.count(False) > 0


def test_tidy_members_do_not_fetch_while_they_hold_records() -> None:
    random, broker = Random(4), SpecBroker()  # noqa: S311 - as above
    mix, opening = begin(random, broker.hello())
    mix = attrs.evolve(mix, tidy=True)
    scene = WireScene(broker, broker.hello())
    scene.ask(opening)
    fetched = {True: 0, False: 0}
    for _ in range(300):
        ask = next_ask(random, mix, scene)
        if isinstance(ask, asks.WireFetch):
            holds = any(scene.held(p, ask.member) for p in range(mix.partitions))
            fetched[holds] += 1
        scene.ask(ask)
    assert fetched[True] == 0
    assert fetched[False] > 20


def test_clients_are_throttled_where_the_broker_can_have_quotas() -> None:
    def throttles(can: bool) -> int:  # noqa: FBT001 - a parameter
        told = attrs.evolve(CAPABILITIES, throttles=can)
        random = Random(3)  # noqa: S311 - as above
        return sum(mixture(random, told).throttled > 0 for _ in range(200))

    assert throttles(can=False) == 0
    assert throttles(can=True) > 0


@pytest.mark.slow
def test_most_commands_concern_held_records_and_odd_ones_occur() -> None:
    found = campaign(SpecBroker(), Limits(sequences=30), BROKERS, 2)
    assert found.asked["acknowledge NONE"] > 60
    for odd in (
        "acknowledge INVALID_RECORD_STATE",
        "acknowledge INVALID_REQUEST",
        "fetch INVALID_SHARE_SESSION_EPOCH",
        "fetch UNKNOWN_TOPIC_ID",
        "delete_records NONE",
        "produce NONE",
        "disconnect NONE",
        "describe NONE",
        "wait NONE",
    ):
        assert found.asked[odd] > 0, odd
