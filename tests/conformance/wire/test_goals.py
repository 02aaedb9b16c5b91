"""Every goal can be covered; a predicate holds where its situation occurs, and not elsewhere."""

from collections import Counter
from typing import Any

import pytest

from conformance.campaign import Campaign, Limits, campaign, play
from conformance.cores.acknowledgements import Shape
from conformance.goals import Coverage, Group, coverage, recognised
from conformance.wire import asks, meter
from conformance.wire import goals as wire_goals
from conformance.wire.explain import WireDifference
from conformance.wire.goals import GIVEN_UP, GOALS, REDELIVERED
from conformance.wire.kit import BROKERS
from conformance.wire.served import Why
from conformance.wire.target import WireCapabilities
from model.config import SharePartitionConfig
from model.guards import Guard
from model.states import AcquireMode
from tests.conformance.helpers import Seen, noting
from tests.conformance.wire.worlds import COMMITTED, CONFIG
from tests.doubles.broker_faults import UNCOUNTED
from tests.doubles.spec_broker import CAPABILITIES, SpecBroker

ENSURED = {
    Guard.NO_ACQUIRE_DURING_WRITE: "every write is answered before the response",
    Guard.CAN_ACQUIRE: "a broker may always give nothing",
    Guard.NO_RECORD_LOST: "a record that is lost shows as AVAILABLE_RECORDS_...",
    Guard.READ_IS_OF_THE_LOG: "a response does not report what was read",
    Guard.WITHIN_READABLE_LOG: "what is past it shows as ONLY_LOGGED_... or STABLE_IS_DELIVERED",
    Guard.NOT_BELOW_LOG_START: "what is below it shows as ONLY_LOGGED_IS_ACQUIRED",
    Guard.FINISHED_LEAVES_FULL_WINDOW: "a window that stays full shows as AVAILABLE_RECORDS_...",
    Guard.START_NEVER_GOES_BACK: "a response does not report the start offset",
    Guard.START_STOPS_AT_UNFINISHED: "a response does not report the start offset",
    Guard.LOCK_LASTS_ITS_DURATION: "a lock that is over too early shows as ONLY_AVAILABLE_...",
    Guard.LOCK_ENDS_ON_TIME: "a lock that is over too late shows as AVAILABLE_RECORDS_...",
    Guard.DEAD_LETTER_IS_ARCHIVING: "a response does not report dead letters",
    Guard.ONLY_COMMITTED_IS_ASKED_FOR: "no aborted transactions are asked for",
    Guard.WRITE_IS_OUTSTANDING: "a response does not report writes",
    Guard.ANSWER_COMES: "a response does not report writes, and each request has its own time",
    Guard.CHECKPOINT_IS_THE_STATE: "a response does not report the whole state",
    Guard.PARTITION_IS_INITIALIZED: "a broker sees to it",
}
"""Rules that no answer of a broker can break by itself, with the reasons."""

NEVER = {
    "a fetch acquires the marker of a transaction": "the specification passes over gaps",
    "a fetch goes past the limit of the window, to the end of a log batch": "kafka alone allows it",
}
"""What the specification as a broker never does: it is at a broker's choice."""

ONE, THREE = asks.Produce(0, ((0, 1),)), asks.Produce(0, ((0, 3),))
GAP = asks.Produce(0, ((0, 1), (1, 1)))
TAKE, OTHER = asks.Fetch("m1"), asks.Fetch("m2")
GONE = (asks.Disconnect("m1"), asks.Wait(60), asks.Wait(20))


def own(
    kind: int = 1, length: int = 1, shape: Shape = Shape.WELL_FORMED
) -> tuple[asks.Acknowledged, ...]:
    return (asks.Acknowledged(0, (asks.Batch("m1", 0, length, (kind,), shape),)),)


def acknowledge(kind: int, **more: object) -> asks.Acknowledge:
    return asks.Acknowledge("m1", own(kind), **more)  # type: ignore[arg-type] # any field


LAST = (ONE, TAKE, acknowledge(2), TAKE)
"""A record is delivered for the last time."""

CLOSE = asks.Acknowledge("m1", (), asks.Epoch.CLOSE)
MALFORMED = {
    Shape.REVERSED: "its range ends before it begins",
    Shape.NEGATIVE: "a negative offset",
    Shape.NO_TYPE: "no types",
    Shape.TOO_MANY_TYPES: "too few or too many types",
    Shape.UNKNOWN_TYPE: "a type that does not exist",
}
SELDOM: dict[str, tuple[asks.Ask, ...]] = {
    "ShareFetch is answered INVALID_REQUEST": (
        ONE,
        TAKE,
        asks.Fetch("m1", acknowledged=own(), epoch=asks.Epoch.OPEN),
    ),
    "a fetch would open a session and acknowledge": (
        ONE,
        TAKE,
        asks.Fetch("m1", acknowledged=own(), epoch=asks.Epoch.OPEN),
    ),
    **{
        f"an acknowledgement in ShareFetch is answered {error}": (
            ONE,
            TAKE,
            asks.Fetch("m1", acknowledged=own(), stranger=stranger),
        )
        for error, stranger in (
            ("UNKNOWN_TOPIC_ID", asks.Stranger.TOPIC),
            ("UNKNOWN_TOPIC_OR_PARTITION", asks.Stranger.PARTITION),
        )
    },
    **{
        f"an acknowledgement in ShareAcknowledge is answered {error}": (
            ONE,
            TAKE,
            acknowledge(1, stranger=stranger),
        )
        for error, stranger in (
            ("UNKNOWN_TOPIC_ID", asks.Stranger.TOPIC),
            ("UNKNOWN_TOPIC_OR_PARTITION", asks.Stranger.PARTITION),
        )
    },
    **{
        f"a malformed acknowledgement: {wrong}": (
            THREE,
            TAKE,
            asks.Acknowledge("m1", own(1, 2, shape)),
        )
        for shape, wrong in MALFORMED.items()
    },
    "a renewal that the request does not announce": (ONE, TAKE, acknowledge(4, unsaid=True)),
    "a renewed lock is held when its first duration is over": (
        ONE,
        TAKE,
        *(asks.Wait(60), acknowledge(4)) * 3,
        asks.Wait(75),
        OTHER,
    ),
    "an acknowledgement of an offset in the window that was never in flight": (
        GAP,
        TAKE,
        asks.Acknowledge("m1", (asks.Acknowledged(0, (asks.Batch("", 0, 3),)),)),
    ),
    "an acknowledgement at a share-partition that is not in memory": (
        ONE,
        TAKE,
        CLOSE,
        asks.Fetch("m1", (1,)),
        asks.Acknowledge("m1", (asks.Acknowledged(0, (asks.Batch(),)),)),
    ),
    "a request comes after some locks are over, while others are held": (
        asks.Produce(0, ((0, 1), (0, 1))),
        asks.Fetch("m1", max_records=1, batch_size=1),
        asks.Wait(60),
        OTHER,
        asks.Wait(60),
        asks.Fetch("m3"),
    ),
    REDELIVERED[Why.CONNECTION_LOST, False].name: (ONE, TAKE, *GONE, TAKE, TAKE),
    REDELIVERED[Why.CONNECTION_LOST, True].name: (ONE, TAKE, *GONE, OTHER),
    GIVEN_UP[Why.CLOSED].name: (*LAST, CLOSE),
    GIVEN_UP[Why.CONNECTION_LOST].name: (*LAST, *GONE, acknowledge(1)),
    "a session is opened by a member that holds records": (
        ONE,
        TAKE,
        asks.Fetch("m1", epoch=asks.Epoch.OPEN),
    ),
    "a session is opened in the place of another": (
        ONE,
        TAKE,
        asks.Fetch("m1", epoch=asks.Epoch.OPEN),
    ),
    "a session is closed by ShareFetch, which acknowledges": (
        ONE,
        TAKE,
        asks.Fetch("m1", acknowledged=own(), epoch=asks.Epoch.CLOSE),
    ),
    "a session is closed by ShareAcknowledge, which acknowledges nothing": (ONE, TAKE, CLOSE),
    "a request without a session, after it was closed": (ONE, TAKE, CLOSE, acknowledge(1)),
    "records are deleted: all": (THREE, TAKE, asks.DeleteRecords(0, 3), TAKE),
    "the lag is reported before anything was delivered": (TAKE, ONE, asks.Describe(0)),
    "the lag is reported when every record is finished": (
        ONE,
        TAKE,
        acknowledge(1),
        asks.Describe(0),
    ),
}
"""Goals that a short search may miss, each with commands that cover it."""


@pytest.fixture(scope="module")
def searched() -> tuple[Campaign[Any], Seen]:
    results: Seen = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, rows in (
            ("served_situations", wire_goals.SERVED),
            ("deleted_situations", wire_goals.DELETIONS),
            ("described_situations", wire_goals.DESCRIPTIONS),
        ):
            patch.setattr(meter, name, recognised(noting(rows, results)))
        limits = Limits(seconds=600, sequences=100)
        return campaign(SpecBroker(), limits, BROKERS, 1), results


def result(counts: dict[str, int]) -> Coverage:
    return coverage(GOALS, counts, CAPABILITIES)


@pytest.mark.slow
def test_a_search_covers_nearly_every_goal(searched: tuple[Campaign[Any], Seen]) -> None:
    counts = searched[0].exercised
    assert searched[0].faults == ()
    missed = {goal.name for goal in result(counts).missed}
    assert NEVER.keys() <= missed <= SELDOM.keys() | NEVER.keys()
    assert counts.keys() <= {goal.name for goal in GOALS}


@pytest.mark.slow
def test_every_predicate_holds_of_some_requests_and_not_of_others(
    searched: tuple[Campaign[Any], Seen],
) -> None:
    results = searched[1]
    seldom = SELDOM.keys() | NEVER.keys()
    assert {name for name in results if False not in results[name]} == set()
    assert {name for name in results if True not in results[name]} <= seldom


def test_goals_that_brokers_may_never_cover_are_optional() -> None:
    assert {goal.name for goal in GOALS if goal.optional} > NEVER.keys()


def test_every_rule_is_put_at_stake_by_a_goal_or_ensured_otherwise() -> None:
    rules = {goal.name for goal in GOALS if goal.group is Group.RULE}
    ensured = {guard.name for guard in ENSURED}
    assert rules | ensured == {rule.name for rule in (*WireDifference, *Guard)}
    assert not rules & ensured


def covered(
    *sequence: asks.Ask, partitions: int = 1, config: SharePartitionConfig = CONFIG, seeds: int = 6
) -> Counter[str]:
    """Return what the last command covered that the others did not, with whatever choices."""
    counts = Counter[str]()
    for seed in range(seeds):
        broker = SpecBroker(seed=seed)
        whole = asks.Open(config, partitions), *sequence
        stage, _at, deviation = play(broker, broker.hello(), whole, BROKERS)
        assert deviation is None
        before = play(broker, broker.hello(), whole[:-1], BROKERS)[0]
        counts += stage.exercised - before.exercised
    return counts


@pytest.mark.parametrize("name", SELDOM)
def test_a_rare_goal_can_be_covered(name: str) -> None:
    assert sum(covered(*SELDOM[name], partitions=number)[name] for number in (1, 2)) > 0


def test_goals_that_a_broker_cannot_cover_are_skipped_with_the_reason() -> None:
    nothing = WireCapabilities(acquire_modes=("record_limit",), sessions=False)
    reasons = {goal.name: reason for goal, reason in coverage(GOALS, {}, nothing).skipped}
    optimized = "a fetch acquires records under batch_optimized"
    assert reasons[optimized] == "it cannot: batch_optimized"
    assert "a fetch acquires records under record_limit" not in reasons
    assert reasons["ShareFetch acknowledges with RENEW"] == "it cannot: renew"
    assert "ShareFetch acknowledges with REJECT" not in reasons
    assert reasons["a share-partition joins a session"] == "it cannot: sessions"
    assert reasons["the lag is reported of a log with gaps"] == "it cannot: offsets, lag, gaps"
    assert reasons["records are deleted: all"] == "it cannot: delete_records"
    assert reasons["START_OFFSET"] == "it cannot: offsets"
    assert reasons["LAG"] == "it cannot: offsets, lag"


def test_goals_that_no_sequence_reaches_are_skipped_for_every_broker() -> None:
    skipped = {goal.name for goal, _reason in result({}).skipped}
    assert skipped == {goal.name for goal in GOALS if goal.never}


def test_a_request_that_deviates_is_not_counted() -> None:
    wrong = SpecBroker(UNCOUNTED)
    sequence = asks.Open(CONFIG), *LAST
    stage, _at, deviation = play(wrong, wrong.hello(), sequence, BROKERS)
    assert deviation is not None
    counts = stage.exercised
    assert counts["a fetch acquires records under batch_optimized"] == 1
    assert not any("delivered again" in name for name in counts)


STRICT = AcquireMode.RECORD_LIMIT
MANY = asks.Produce(0, ((0, 9),))
SOME = asks.Fetch("m1", max_records=2, mode=STRICT)
RELEASE = asks.Acknowledge("m1", (asks.Acknowledged(0, (asks.Batch("m1", 0, 9, (2,)),)),))
ACCEPT = asks.Acknowledge("m1", (asks.Acknowledged(0, (asks.Batch("m1", 1, 1),)),))
BOTH = asks.Acknowledge("m1", (asks.Acknowledged(0, (asks.Batch("m1"), asks.Batch("m1", 1))),))
FORGET = asks.Fetch("m1", forgotten=(0,))


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
            "a session is closed by ShareFetch, which acknowledges nothing",
            "a session is closed by ShareFetch, which acknowledges",
        ),
        (
            (MANY, SOME, asks.Disconnect("m1"), asks.Fetch("m1")),
            "a session goes on over another connection",
            "a session is opened",
        ),
        (
            (MANY, SOME, asks.Describe(0)),
            "the lag is reported while records are held",
            "the lag is reported of an empty log",
        ),
        (
            (TAKE, asks.Describe(0)),
            "the lag is reported of an empty log",
            "the lag is reported while records are held",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_situation_is_covered_where_it_occurs_and_only_there(
    sequence: tuple[asks.Ask, ...], name: str, other: str
) -> None:
    names = covered(*sequence)
    assert {name, other} <= {goal.name for goal in GOALS}
    assert name in names
    assert other not in names


def test_an_acknowledge_type_is_covered_where_it_is_accepted() -> None:
    release = "ShareAcknowledge acknowledges with RELEASE"
    assert release in covered(MANY, SOME, RELEASE)
    others = asks.Acknowledge("m2", RELEASE.acknowledged)
    assert release not in covered(MANY, SOME, asks.Fetch("m2"), others)


def test_a_response_may_have_records_of_two_share_partitions() -> None:
    both = MANY, asks.Produce(1, ((0, 2),)), TAKE
    name = "a response has records of two share-partitions"
    assert name in covered(*both, partitions=2)
    assert name not in covered(*both)


def test_records_of_an_aborted_transaction_are_kept_back_under_read_committed_alone() -> None:
    sequence = (asks.ProduceAborted(0, ((0, 2),)), asks.Produce(0, ((0, 2),)), TAKE)
    name = "a fetch keeps back records of an aborted transaction"
    assert name in covered(*sequence, config=COMMITTED)
    assert name not in covered(*sequence)
    assert name not in covered(*sequence, RELEASE, config=COMMITTED)
    assert name not in covered(asks.Produce(0, ((0, 2),)), TAKE, config=COMMITTED)
