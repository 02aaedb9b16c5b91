"""What a request, a description and the time between them exercised has a name."""

from collections import Counter
from collections.abc import Iterable

import pytest

from conformance.campaign import Limits, campaign, play
from conformance.cores.acknowledgements import Shape
from conformance.goals import GoalKind, coverage, goals
from conformance.wire import asks
from conformance.wire.explain import WireDifference
from conformance.wire.kit import BROKERS
from conformance.wire.target import WireCapabilities
from model.config import SharePartitionConfig
from model.guards import Guard
from model.states import AcquireMode
from tests.conformance.wire.worlds import COMMITTED, CONFIG
from tests.doubles.broker_faults import UNCOUNTED
from tests.doubles.spec_broker import SpecBroker

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
    Guard.DEAD_LETTER_IS_QUEUED: "a response does not report dead letters",
    Guard.ONLY_COMMITTED_IS_ASKED_FOR: "no aborted transactions are asked for",
    Guard.WRITE_IS_OUTSTANDING: "a response does not report writes",
    Guard.ANSWER_COMES: "a response does not report writes, and each request has its own time",
    Guard.CHECKPOINT_IS_THE_STATE: "a response does not report the whole state",
    Guard.PARTITION_IS_INITIALIZED: "a broker sees to it",
}
"""Rules that no answer of a broker can break by itself, with the reasons."""


def test_every_rule_is_put_at_stake_by_a_search_or_ensured_otherwise() -> None:
    rules = {goal.name for goal in goals("broker") if goal.group is GoalKind.RULE}
    ensured = {guard.name for guard in ENSURED}
    assert rules | ensured == {rule.name for rule in (*WireDifference, *Guard)}
    assert not rules & ensured


@pytest.mark.slow
def test_a_search_of_a_broker_reaches_most_of_the_table_and_little_else() -> None:
    listed = {goal.name for goal in goals("broker") if goal.group is not GoalKind.RULE}
    found = campaign(SpecBroker(), Limits(seconds=600, sequences=60), BROKERS, 5)
    assert found.faults == ()
    assert len(listed & found.exercised.keys()) > 0.8 * len(listed)
    assert len(found.exercised.keys() - listed) < 0.1 * len(listed)
    missed = {goal.name for goal in found.coverage.missed}
    assert not missed & {rule.name for rule in (*WireDifference, *Guard)}


def exercised(
    *sequence: asks.Ask, partitions: int = 1, config: SharePartitionConfig = CONFIG, seeds: int = 6
) -> Counter[str]:
    """Return what the last command exercised that the others did not, with whatever choices."""
    counts = Counter[str]()
    for seed in range(seeds):
        broker = SpecBroker(seed=seed)
        whole = asks.WireOpen(config, partitions), *sequence
        stage, _at, found = play(broker, broker.hello(), whole, BROKERS)
        assert not found
        before = play(broker, broker.hello(), whole[:-1], BROKERS)[0]
        counts += stage.exercised - before.exercised
    return counts


def own(kind: int = 1, length: int = 1, shape: Shape = Shape.WELL_FORMED) -> asks.Acknowledged:
    return asks.Acknowledged(0, (asks.AskBatch("m1", 0, length, (kind,), shape),))


def acknowledge(kind: int, length: int = 1) -> asks.WireAcknowledge:
    return asks.WireAcknowledge("m1", (own(kind, length),))


STRICT = AcquireMode.RECORD_LIMIT
ONE, MANY = asks.WireProduce(0, ((0, 1),)), asks.WireProduce(0, ((0, 9),))
TAKE, OTHER = asks.WireFetch("m1"), asks.WireFetch("m2")
SOME, ALL = asks.WireFetch("m1", max_records=2, mode=STRICT), asks.WireFetch("m1", mode=STRICT)
ACCEPT = asks.WireAcknowledge("m1", (asks.Acknowledged(0, (asks.AskBatch("m1", 1, 1),)),))
CLOSE = asks.WireAcknowledge("m1", (), asks.Epoch.CLOSE)
GONE = (asks.WireDisconnect("m1"), asks.WireWait(60), asks.WireWait(20))
ABORTED = asks.WireProduceAborted(0, ((0, 2),))
BOUNDS, DESCRIBED = "ShareFetch is bounded by ", "DescribeShareGroupOffsets is answered NONE"


@pytest.mark.parametrize(
    ("sequence", "name", "other"),
    [
        ((MANY, SOME), BOUNDS + "WITHIN_RECORD_LIMIT", BOUNDS + "WITHIN_WINDOW_LIMIT"),
        ((MANY, ALL), BOUNDS + "WITHIN_WINDOW_LIMIT", BOUNDS + "WITHIN_RECORD_LIMIT"),
        (
            (asks.WireProduce(0, ((0, 3), (0, 3))), asks.WireFetch("m1", max_records=1)),
            BOUNDS + "WITHIN_MAXIMUM_AND_ONE_BATCH",
            BOUNDS + "WITHIN_RECORD_LIMIT",
        ),
        ((MANY, SOME, OTHER), BOUNDS + "ONLY_AVAILABLE_IS_ACQUIRED", "ShareFetch is answered X"),
        (
            (MANY, SOME, ACCEPT),
            "ACQUIRED → ACKNOWLEDGED: ShareAcknowledge ACCEPT",
            "a session ends",
        ),
        (
            (MANY, SOME, acknowledge(2)),
            "ACQUIRED → AVAILABLE: ShareAcknowledge RELEASE",
            "ACQUIRED → ARCHIVED: ShareAcknowledge RELEASE",
        ),
        (
            (ONE, TAKE, acknowledge(4)),
            "ACQUIRED → ACQUIRED: ShareAcknowledge RENEW",
            "ACQUIRED → AVAILABLE: unasked",
        ),
        (
            (MANY, SOME, acknowledge(1, 9)),
            "ShareAcknowledge is bounded by ACKNOWLEDGEMENT_JUDGED",
            "ShareAcknowledge is answered SHARE_SESSION_NOT_FOUND",
        ),
        (
            (ONE, TAKE, asks.WireWaitPastLocks(), OTHER),
            "ACQUIRED → AVAILABLE: unasked",
            "a session",
        ),
        ((ONE, TAKE, acknowledge(2), TAKE), "AVAILABLE → ACQUIRED: ShareFetch", "a session ends"),
        ((ONE, TAKE, CLOSE), "a session ends: ShareAcknowledge", "a session ends: unasked"),
        ((ONE, TAKE, *GONE, OTHER), "a session ends: unasked", "a session ends: ShareFetch"),
        (
            (ONE, TAKE, CLOSE, acknowledge(1)),
            "ShareAcknowledge is answered SHARE_SESSION_NOT_FOUND",
            "ShareAcknowledge is answered NONE",
        ),
        (
            (MANY, SOME, asks.WireFetch("m1", forgotten=(0,))),
            "a session, partitions shrinks: ShareFetch",
            "a session, partitions grows: ShareFetch",
        ),
        (
            (ONE, TAKE, asks.WireFetch("m1", stranger=asks.Stranger.TOPIC, acknowledged=(own(),))),
            "an acknowledgement in ShareFetch is answered UNKNOWN_TOPIC_ID",
            "a session ends: ShareFetch",
        ),
        ((MANY, SOME, asks.WireDeleteRecords(0, 1)), "delete_records is done", DESCRIBED),
        ((MANY, SOME, asks.WireDescribe(0)), DESCRIBED + " with a lag", "delete_records is done"),
        ((TAKE,), "ShareFetch is answered NONE without records", "* with records"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_name_is_counted_where_it_belongs_and_only_there(
    sequence: tuple[asks.Ask, ...], name: str, other: str
) -> None:
    names = exercised(*sequence)
    assert name in names
    assert other not in names


def test_records_of_a_transaction_are_kept_back_under_read_committed_alone() -> None:
    aborted, opened = (ABORTED, TAKE), (asks.WireProduceOpen(0, ((0, 2),)), TAKE)
    for sequence, rule in ((aborted, "COMMITTED_IS_DELIVERED"), (opened, "STABLE_IS_DELIVERED")):
        assert BOUNDS + rule in exercised(*sequence, config=COMMITTED)
        assert BOUNDS + rule not in exercised(*sequence)
        assert BOUNDS + rule not in exercised(ONE, TAKE, config=COMMITTED)


def reasons(counts: Iterable[str], can: WireCapabilities) -> dict[str, str]:
    found = coverage(goals("broker", counts), Counter(counts), can).skipped
    return {goal.name: reason for goal, reason in found}


def test_what_a_broker_cannot_do_is_skipped_with_the_reason() -> None:
    why = reasons((), WireCapabilities(acquire_modes=("record_limit",), sessions=False))
    assert why["ShareFetch under batch_optimized is answered NONE"] == "it cannot: batch_optimized"
    assert "ShareFetch under record_limit is answered NONE" not in why
    assert why["ACQUIRED → ACQUIRED: ShareAcknowledge RENEW"] == "it cannot: renew"
    assert "ACQUIRED → ARCHIVED: ShareAcknowledge REJECT" not in why
    assert why["a session, partitions grows: ShareFetch"] == "it cannot: sessions"
    assert why["delete_records is done"] == "it cannot: delete_records"
    assert why["START_OFFSET"] == "it cannot: offsets"
    assert why["LAG"] == "it cannot: offsets, lag"
    assert why["STABLE_IS_DELIVERED"] == "it cannot: transactions, committed"


def test_a_request_that_deviates_is_not_counted() -> None:
    wrong = SpecBroker(UNCOUNTED)
    sequence = asks.WireOpen(CONFIG), ONE, TAKE, acknowledge(2), TAKE
    stage, _at, found = play(wrong, wrong.hello(), sequence, BROKERS)
    assert found
    assert stage.exercised["never delivered → ACQUIRED: ShareFetch"] == 1
    assert not any(name.startswith("AVAILABLE → ACQUIRED") for name in stage.exercised)
