"""What can be met is declared once, with what a broker must be able to do for it."""

from conformance.cores.universe import Group
from conformance.wire.explain import WireDifference
from conformance.wire.target import WireCapabilities
from conformance.wire.universe import AT_STAKE, NEVER_ASKED, lacking, universe
from model.guards import Guard
from model.states import AcquireMode
from tests.doubles.spec_broker import CAPABILITIES

NOTHING = WireCapabilities(acquire_modes=("record_limit",), sessions=False)

ELSEWHERE = {
    Guard.NO_ACQUIRE_DURING_WRITE: "every write is answered before the response",
    Guard.CAN_ACQUIRE: "a broker may always give nothing",
    Guard.START_NEVER_GOES_BACK: "a response does not tell the start offset",
    Guard.START_STOPS_AT_UNFINISHED: "a response does not tell the start offset",
    Guard.LOCK_LASTS_ITS_DURATION: "a lock that is over too early shows as ONLY_AVAILABLE_...",
    Guard.LOCK_ENDS_ON_TIME: "a lock that is over too late shows as AVAILABLE_RECORDS_...",
    Guard.DEAD_LETTER_IS_ARCHIVING: "a response does not tell of dead letters",
    Guard.ONLY_COMMITTED_IS_ASKED_FOR: "no aborted transactions are asked for",
    Guard.WRITE_IS_OUTSTANDING: "a response does not tell of writes",
    Guard.PARTITION_IS_INITIALIZED: "a broker sees to it",
}


def test_each_thing_is_declared_once() -> None:
    names = [item.name for item in universe()]
    assert len(names) == len(set(names))
    groups = {item.group for item in universe()}
    assert groups == {Group.ANSWER, Group.SITUATION, Group.RULE}


def test_every_rule_is_put_at_stake_by_something_that_is_declared() -> None:
    names = {item.name for item in universe()}
    assert {name for at_stake in AT_STAKE.values() for name in at_stake} <= names
    rules = {rule.name for rule in (*WireDifference, *Guard) if rule not in ELSEWHERE}
    assert rules == AT_STAKE.keys()


def test_everything_can_be_met_by_who_can_do_everything() -> None:
    lacks = {item.name for item in universe() if lacking(item, CAPABILITIES)}
    assert lacks == NEVER_ASKED.keys()


def test_what_a_broker_cannot_do_it_lacks() -> None:
    lacks = {item.name: lacking(item, NOTHING) for item in universe()}
    optimized, limit = AcquireMode.BATCH_OPTIMIZED, AcquireMode.RECORD_LIMIT
    assert (
        lacks[f"a fetch acquires records under {optimized.value}"] == "it cannot: batch_optimized"
    )
    assert lacks[f"a fetch acquires records under {limit.value}"] == ""
    assert lacks["ShareFetch acknowledges with RENEW"] == "it cannot: renew"
    assert lacks["ShareFetch acknowledges with REJECT"] == ""
    assert lacks["a share-partition joins a session"] == "it cannot: sessions"
    assert lacks["the lag is told of a log with gaps"] == "it cannot: offsets, lag, gaps"
    assert lacks["records are deleted: all"] == "it cannot: delete_records"
    assert lacks["START_OFFSET"] == "it cannot: offsets"
