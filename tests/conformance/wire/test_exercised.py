"""Everything that is declared can be met, and nothing else is; what was not asked is not met."""

from collections import Counter
from io import StringIO
from typing import Any

import attrs
import pytest
from rich.console import Console

from conformance.campaign import Campaign, Limits, campaign, play
from conformance.cores.universe import Group, answer_name
from conformance.junit import as_junit
from conformance.page import as_html
from conformance.report import Report, as_json, as_markdown, show
from conformance.wire import asks, generate
from conformance.wire.exercised import exercised
from conformance.wire.kit import BROKERS
from conformance.wire.target import WireCapabilities
from conformance.wire.universe import (
    ACKNOWLEDGE,
    CLOSED,
    CONNECTION_LOST,
    FETCH,
    NEVER_ASKED,
    acknowledging,
    closed_name,
    deleted_name,
    given_up_name,
    lag_name,
    redelivered_name,
    universe,
)
from tests.conformance.wire.worlds import CONFIG
from tests.doubles.broker_faults import WireFault
from tests.doubles.spec_broker import CAPABILITIES, SpecBroker

NEVER = {
    "a fetch acquires the marker of a transaction": "the specification passes over gaps",
}
"""What the specification as a broker never does: it is at a broker's choice."""

ONE, THREE = asks.Produce(0, ((0, 1),)), asks.Produce(0, ((0, 3),))
GAP = asks.Produce(0, ((0, 1), (1, 1)))
TAKE, OTHER = asks.Fetch("m1"), asks.Fetch("m2")
GONE = (asks.Disconnect("m1"), asks.Wait(60), asks.Wait(20))


def own(
    kind: int = 1, length: int = 1, shape: asks.Shape = asks.Shape.WELL_FORMED
) -> tuple[asks.Acknowledged, ...]:
    return (asks.Acknowledged(0, (asks.Batch("m1", 0, length, (kind,), shape),)),)


def acknowledge(kind: int, **more: object) -> asks.Acknowledge:
    return asks.Acknowledge("m1", own(kind), **more)  # type: ignore[arg-type] # any field


LAST = (ONE, TAKE, acknowledge(2), TAKE)
"""A record is delivered for the last time."""

CLOSE = asks.Acknowledge("m1", (), asks.Epoch.CLOSE)
UNKNOWN_TOPIC, UNKNOWN_PARTITION = "UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION"
MALFORMED = {
    asks.Shape.REVERSED: "its range ends before it begins",
    asks.Shape.NEGATIVE: "a negative offset",
    asks.Shape.NO_TYPE: "no types",
    asks.Shape.TOO_MANY_TYPES: "too few or too many types",
    asks.Shape.UNKNOWN_TYPE: "a type that there is not",
}
SELDOM: dict[str, tuple[asks.Ask, ...]] = {
    answer_name(FETCH, "INVALID_REQUEST"): (
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
        answer_name(acknowledging(FETCH), error): (
            ONE,
            TAKE,
            asks.Fetch("m1", acknowledged=own(), stranger=stranger),
        )
        for error, stranger in (
            (UNKNOWN_TOPIC, asks.Stranger.TOPIC),
            (UNKNOWN_PARTITION, asks.Stranger.PARTITION),
        )
    },
    **{
        answer_name(acknowledging(ACKNOWLEDGE), error): (
            ONE,
            TAKE,
            acknowledge(1, stranger=stranger),
        )
        for error, stranger in (
            (UNKNOWN_TOPIC, asks.Stranger.TOPIC),
            (UNKNOWN_PARTITION, asks.Stranger.PARTITION),
        )
    },
    **{
        f"a malformed acknowledgement: {said}": (
            THREE,
            TAKE,
            asks.Acknowledge("m1", own(1, 2, shape)),
        )
        for shape, said in MALFORMED.items()
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
    redelivered_name(CONNECTION_LOST, other=False): (ONE, TAKE, *GONE, TAKE, TAKE),
    redelivered_name(CONNECTION_LOST, other=True): (ONE, TAKE, *GONE, OTHER),
    given_up_name(CLOSED): (*LAST, CLOSE),
    given_up_name(CONNECTION_LOST): (*LAST, *GONE, acknowledge(1)),
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
    closed_name(FETCH, acknowledges=True): (
        ONE,
        TAKE,
        asks.Fetch("m1", acknowledged=own(), epoch=asks.Epoch.CLOSE),
    ),
    closed_name(ACKNOWLEDGE, acknowledges=False): (ONE, TAKE, CLOSE),
    "a request without a session, after it was closed": (ONE, TAKE, CLOSE, acknowledge(1)),
    deleted_name("all"): (THREE, TAKE, asks.DeleteRecords(0, 3), TAKE),
    lag_name("before anything was delivered"): (TAKE, ONE, asks.Describe(0)),
    lag_name("when every record is finished"): (ONE, TAKE, acknowledge(1), asks.Describe(0)),
}
"""What a short search may miss, each with asks that meet it."""


@pytest.fixture(scope="module")
def searched() -> Campaign[Any]:
    return campaign(SpecBroker(), Limits(seconds=600, sequences=100), BROKERS, 1)


def report(counts: Campaign[Any]) -> Report:
    return Report(counts, (), counts.faults)


@pytest.mark.slow
def test_a_search_meets_nearly_everything_there_is(searched: Campaign[Any]) -> None:
    assert searched.faults == ()
    missed = {item.name for item in exercised(searched.exercised, CAPABILITIES).missed}
    assert missed <= SELDOM.keys() | NEVER.keys()
    assert missed >= NEVER.keys()


@pytest.mark.slow
def test_what_is_met_is_declared(searched: Campaign[Any]) -> None:
    assert searched.exercised.keys() <= {item.name for item in universe()}


def test_what_need_not_happen_is_said_to_be_free() -> None:
    free = {item.name for item in universe() if item.free}
    assert free > NEVER.keys()


@pytest.mark.parametrize("name", SELDOM)
def test_what_is_seldom_met_can_be(name: str) -> None:
    counts = Counter[str]()
    for seed in range(8):
        broker = SpecBroker(seed=seed)
        sequence = asks.Open(CONFIG, 1 + seed % 2), *SELDOM[name]
        stage, _at, found = play(broker, broker.hello(), sequence, BROKERS)
        assert found is None
        before = play(broker, broker.hello(), sequence[:-1], BROKERS)[0]
        counts.update(Counter(stage.exercised) - Counter(before.exercised))
    assert counts[name] > 0


def test_what_is_not_asked_is_not_met(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*_any: object) -> asks.Ask:
        return asks.Wait(20)

    monkeypatch.setattr(generate, "_acknowledge", wait)
    monkeypatch.setitem(generate._MAKERS, asks.Acknowledge, wait)  # noqa: SLF001 - what a search is made of
    monkeypatch.setattr(generate, "_acknowledged", lambda *_any: ())
    searched = campaign(SpecBroker(), Limits(sequences=6), BROKERS)
    found = exercised(searched.exercised, CAPABILITIES)
    missed = {item.name for item in found.missed}
    assert {"ACKNOWLEDGEMENT_JUDGED", answer_name(ACKNOWLEDGE, "NONE")} <= missed
    assert answer_name(FETCH, "NONE") not in missed


def test_what_a_broker_cannot_do_is_skipped_with_the_reason() -> None:
    nothing = WireCapabilities(sessions=False)
    found = exercised({}, nothing)
    reasons = {item.name: reason for item, reason in found.skipped}
    assert reasons["LAG"] == "it cannot: offsets, lag"
    assert reasons["a renewal together with other types"] == "it cannot: renew"
    assert reasons.keys() >= NEVER_ASKED.keys()
    assert not reasons.keys() & {item.name for item in found.missed}


def test_a_request_that_deviates_is_not_counted() -> None:
    wrong = SpecBroker(WireFault.COUNT_STAYS)
    sequence = asks.Open(CONFIG), *LAST
    stage, _at, found = play(wrong, wrong.hello(), sequence, BROKERS)
    assert found is not None
    counts = stage.exercised
    assert counts["a fetch acquires records under batch_optimized"] == 1
    assert not any("delivered again" in name for name in counts)


@pytest.mark.slow
def test_it_is_in_every_report(searched: Campaign[Any]) -> None:
    goals = BROKERS.coverage({answer_name(FETCH, "NONE"): 3}, SpecBroker().hello())
    few = attrs.evolve(searched, coverage=goals)
    said, out = report(few), StringIO()
    show(said, Console(file=out, width=200))
    assert "exercised: 1 of 2" in out.getvalue()
    assert "not exercised: ShareAcknowledge is answered NONE" in out.getvalue()
    for text in (as_markdown(said), as_html(said), "".join(as_json(said))):
        assert "a session is opened in the place of another" in text
    junit = as_junit(report(searched))
    assert '<testcase classname="sharespec.rule" name="WITHIN_WINDOW_LIMIT"' in junit
    assert "RECORD_HAS" not in junit
    assert "no sequence put it at stake" in as_junit(said)


def test_totals_are_those_of_what_brokers_have() -> None:
    found = exercised({answer_name(FETCH, "NONE"): 1}, CAPABILITIES)
    totals = {group: (met, of) for group, met, of in found.totals()}
    assert totals.keys() == {Group.ANSWER, Group.SITUATION, Group.RULE}
    assert totals[Group.ANSWER][0] == 1
    assert sum(of for _met, of in totals.values()) + len(found.skipped) == len(universe())
