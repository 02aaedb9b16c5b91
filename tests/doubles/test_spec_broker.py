"""The specification as a broker: the judge never objects to what it does."""

import pytest

from conformance.campaign import Limits, campaign, play
from conformance.target import TargetError
from conformance.wire import asks
from conformance.wire.kit import BROKERS
from tests.conformance.wire.worlds import CONFIG
from tests.doubles.spec_broker import SpecBroker


@pytest.mark.parametrize("profile", ["kip", "kafka"])
def test_the_judge_accepts_whatever_the_rules_allow(profile: str) -> None:
    broker = SpecBroker(profile=profile)
    found = campaign(broker, Limits(sequences=20, examples=1), BROKERS, 11)
    assert [(fault.deviation, fault.steps) for fault in found.faults] == []
    assert found.unjudged < 8
    assert found.steps > 700
    assert found.asked["fetch NONE"] > 200


def test_a_group_that_comes_again_is_given_what_lies_behind_a_gap() -> None:
    sequence: tuple[asks.Ask, ...] = (
        asks.WireOpen(CONFIG),
        asks.WireProduce(0, ((1, 2),)),
        *[asks.WireFetch("m1")] * 2,
        asks.WireAcknowledge("m1", (asks.Acknowledged(0, (asks.AskBatch("m1", 0, 2),)),)),
        asks.WireRecreate(),
        *[asks.WireFetch("m1")] * 2,
    )
    hello = SpecBroker().hello()
    found = [play(SpecBroker(seed=seed), hello, sequence, BROKERS)[2] for seed in range(9)]
    assert found == [()] * 9


def test_a_seed_repeats_the_search() -> None:
    one, other = (campaign(SpecBroker(), Limits(sequences=3), BROKERS, 5).asked for _ in range(2))
    assert one == other


def test_a_place_is_open_until_it_is_finished() -> None:
    broker = SpecBroker()
    place = broker.open(CONFIG, 1)
    broker.finish(place)
    with pytest.raises(TargetError, match="not open"):
        broker.finish(place)
    broker.close()
