"""Situations are read from what is believed before and after: each where it is, and only there."""

import attrs
import pytest

from conformance.campaign import play
from conformance.wire import asks
from conformance.wire.kit import BROKERS
from conformance.wire.situations import held_by
from conformance.wire.universe import FETCH, KEPT_BACK, closed_name, lag_name, type_name
from model.config import IsolationLevel, SharePartitionConfig
from model.states import AcknowledgeType, AcquireMode
from tests.conformance.wire.worlds import CONFIG, acknowledge, answer, fetch, judge
from tests.doubles.spec_broker import SpecBroker

STRICT = AcquireMode.RECORD_LIMIT
MANY, ALL = asks.Produce(0, ((0, 9),)), asks.Fetch("m1")
SOME = asks.Fetch("m1", max_records=2, mode=STRICT)
RELEASE = asks.Acknowledge("m1", (asks.Acknowledged(0, (asks.Batch("m1", 0, 9, (2,)),)),))
ACCEPT = asks.Acknowledge("m1", (asks.Acknowledged(0, (asks.Batch("m1", 1, 1),)),))
BOTH = asks.Acknowledge("m1", (asks.Acknowledged(0, (asks.Batch("m1"), asks.Batch("m1", 1))),))
FORGET = asks.Fetch("m1", forgotten=(0,))


COMMITTED = attrs.evolve(CONFIG, isolation_level=IsolationLevel.READ_COMMITTED)


def met(
    *sequence: asks.Ask, partitions: int = 1, config: SharePartitionConfig = CONFIG
) -> set[str]:
    """Return what the last ask met that the others did not, with whatever choices."""
    found: set[str] = set()
    for seed in range(4):
        broker = SpecBroker(seed=seed)
        whole = asks.Open(config, partitions), *sequence
        stage, _at, wrong = play(broker, broker.hello(), whole, BROKERS)
        assert wrong is None
        before = play(broker, broker.hello(), whole[:-1], BROKERS)[0].exercised
        found |= {name for name, count in stage.exercised.items() if count > before.get(name, 0)}
    return found


@pytest.mark.parametrize(
    ("sequence", "name", "other"),
    [
        ((MANY, SOME), "a fetch is stopped by its maximum of records", "a session goes on"),
        (
            (asks.Produce(0, ((0, 2),)), SOME),
            "a fetch acquires records under record_limit",
            "a fetch is stopped by its maximum of records",
        ),
        (
            (MANY, asks.Fetch("m1", mode=STRICT)),
            "a fetch is stopped by the limit of the window",
            "a fetch finds the window full and nothing available",
        ),
        (
            (MANY, asks.Fetch("m1", mode=STRICT), asks.Fetch("m2")),
            "a fetch finds the window full and nothing available",
            "a fetch is stopped by the limit of the window",
        ),
        (
            (MANY, asks.Fetch("m1", mode=STRICT), RELEASE, asks.Fetch("m2", mode=STRICT)),
            "a fetch takes what is available again in a full window",
            "a fetch finds the window full and nothing available",
        ),
        (
            (MANY, SOME, ACCEPT),
            "a finished record waits behind one that is not",
            "a session is opened",
        ),
        ((MANY, SOME, BOTH), "an acknowledgement of several batches", "a session is opened"),
        (
            (MANY, SOME, FORGET),
            "a share-partition is forgotten",
            "a share-partition joins a session",
        ),
        (
            (MANY, SOME, FORGET, asks.Fetch("m1", (0,))),
            "a share-partition joins a session",
            "a share-partition is forgotten",
        ),
        (
            (MANY, SOME, FORGET, ACCEPT),
            "an acknowledgement at a share-partition outside the session",
            "a share-partition is forgotten",
        ),
        (
            (MANY, SOME, asks.Fetch("m1", epoch=asks.Epoch.CLOSE)),
            closed_name(FETCH, acknowledges=False),
            closed_name(FETCH, acknowledges=True),
        ),
        (
            (MANY, SOME, asks.Disconnect("m1"), asks.Fetch("m1")),
            "a session goes on over another connection",
            "a session is opened",
        ),
        (
            (MANY, SOME, asks.Describe(0)),
            lag_name("while records are held"),
            lag_name("of an empty log"),
        ),
        ((ALL, asks.Describe(0)), lag_name("of an empty log"), lag_name("while records are held")),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_situation_is_met_where_it_is_and_only_there(
    sequence: tuple[asks.Ask, ...], name: str, other: str
) -> None:
    found = met(*sequence)
    assert name in found
    assert other not in found


def test_a_type_is_met_where_it_is_accepted() -> None:
    release = type_name("ShareAcknowledge", AcknowledgeType.RELEASE)
    assert release in met(MANY, SOME, RELEASE)
    others = asks.Acknowledge("m2", RELEASE.acknowledged)
    assert release not in met(MANY, SOME, asks.Fetch("m2"), others)


def test_a_response_may_have_records_of_two_share_partitions() -> None:
    both = MANY, asks.Produce(1, ((0, 2),)), ALL
    name = "a response has records of two share-partitions"
    assert name in met(*both, partitions=2)
    assert name not in met(*both)


def test_who_holds_what_is_read_from_a_belief() -> None:
    made = judge(3)
    assert made.exchange(fetch("a", 0), "a", answer((0, 1, 1))) is None
    assert [offset for _key, offset in held_by(made.beliefs[0], "a")] == [0, 1]
    assert list(held_by(made.beliefs[0], "b")) == []
    assert made.exchange(acknowledge("a", 1, (0, 0, 1)), "a", answer(at=5.0)) is None
    assert [offset for _key, offset in held_by(made.beliefs[0], "a")] == [1]


def test_records_of_an_aborted_transaction_are_kept_back_under_read_committed_alone() -> None:
    sequence = (asks.ProduceAborted(0, ((0, 2),)), asks.Produce(0, ((0, 2),)), ALL)
    assert KEPT_BACK in met(*sequence, config=COMMITTED)
    assert KEPT_BACK not in met(*sequence)
    assert KEPT_BACK not in met(*sequence, RELEASE, config=COMMITTED)
    assert KEPT_BACK not in met(asks.Produce(0, ((0, 2),)), ALL, config=COMMITTED)
