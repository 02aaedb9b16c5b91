"""The specification as a broker: the judge never objects to what it does."""

import pytest

from conformance.campaign import Limits, campaign
from conformance.target import TargetError
from conformance.wire.kit import BROKERS
from conformance.wire.target import Place
from model.config import SharePartitionConfig
from model.ranges import OffsetRange
from model.share_messages import PartitionRequest, ShareFetch, TopicPartition
from tests.conformance.wire.worlds import COMMITTED, CONFIG
from tests.doubles.spec_broker import SpecBroker


@pytest.mark.parametrize("profile", ["kip", "kafka"])
def test_the_judge_accepts_whatever_the_rules_allow(profile: str) -> None:
    broker = SpecBroker(profile=profile)
    found = campaign(broker, Limits(sequences=20, examples=1), BROKERS, 11)
    assert [(fault.deviation, fault.steps) for fault in found.faults] == []
    assert found.unjudged < 8
    assert found.steps > 700
    assert found.asked["fetch NONE"] > 200


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


def test_a_log_batch_is_where_it_says() -> None:
    broker = SpecBroker()
    place = broker.open(CONFIG, 1)
    made = broker.produce(place, 0, [(0, 2), (3, 1)])
    assert [(one.first, one.last) for one in made] == [(0, 1), (5, 5)]


@pytest.mark.parametrize(("config", "last"), [(COMMITTED, 0), (CONFIG, 3)])
def test_an_open_transaction_is_delivered_under_read_uncommitted_only(
    config: SharePartitionConfig, last: int
) -> None:
    broker = SpecBroker()
    place = broker.open(config, 1)
    broker.produce(place, 0, [(0, 1)])
    assert broker.produce_open(place, 0, [(0, 2)]) == (OffsetRange(1, 2),)
    broker.produce(place, 0, [(0, 1)])
    before = delivered(broker, place, 0)
    assert before == set(range(last + 1))
    broker.end_transaction(place, 0, committed=True)
    assert before | delivered(broker, place, 4) == {0, 1, 2, 3}


def delivered(broker: SpecBroker, place: Place, first: int) -> set[int]:
    """Return what four fetches get in all, from this session epoch on."""
    given: set[int] = set()
    opening = (PartitionRequest(TopicPartition(place.topic_id, 0)),)
    for epoch in range(first, first + 4):
        asked = ShareFetch(place.group, "m", epoch, opening if epoch == 0 else ())
        for part in broker.ask(place, asked, "c").response.partitions:
            given |= {o for r in part.acquired for o in range(r.first, r.last + 1)}
    return given


@pytest.mark.parametrize(
    ("config", "given"), [(COMMITTED, [(3, 3, 1)]), (CONFIG, [(0, 1, 1), (3, 3, 1)])]
)
def test_data_of_an_aborted_transaction_is_delivered_under_read_uncommitted_only(
    config: SharePartitionConfig, given: list[tuple[int, int, int]]
) -> None:
    broker = SpecBroker()
    place = broker.open(config, 1)
    assert broker.produce(place, 0, [(0, 2)], aborted=True) == (OffsetRange(0, 1),)
    assert broker.produce(place, 0, [(0, 1)]) == (OffsetRange(3, 3),)
    opening = PartitionRequest(TopicPartition(place.topic_id, 0))
    found: list[tuple[int, int, int]] = []
    for epoch in range(4):
        asked = ShareFetch(place.group, "m", epoch, (opening,) if epoch == 0 else ())
        for part in broker.ask(place, asked, "c").response.partitions:
            found += [(one.first, one.last, one.delivery_count) for one in part.acquired]
    assert found == given
