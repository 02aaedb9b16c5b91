"""Faulty clients of ours, which the judge finds and names; the same without a fault conforms."""

from random import Random

import pytest

from clients.duties import Duty
from clients.events import (
    ACCEPT,
    RENEW,
    Acknowledgement,
    Answered,
    Asked,
    Called,
    Delivered,
    Event,
    Granted,
    Heartbeat,
    Moved,
    Record,
    Returned,
    Settings,
)
from clients.journal import Journal
from clients.judge import judge
from clients.play import Pace, play
from clients.scripts import Script, drawn
from conformance.wire.records import value_of
from tests.clients.controls import CONTROLS, FIVE, IMPLICIT, script
from tests.doubles.share_client import ShareClient
from tests.doubles.share_faults import Fault

FAST = Pace(poll_ms=20)
PLACE = ("t", 0)
HASTY = Pace(poll_ms=20, patience_seconds=1)
PATIENCE = (Fault.NEVER_REJOINS, Fault.STAYS_WITH_LEADER, Fault.STAYS_WITH_COORDINATOR)
"""The faults by which something never happens that the harness waits for."""


def violated(script: Script, fault: Fault | None) -> dict[Duty, str]:
    """Play a script with the double; return what is violated, with what is said of it first."""
    pace = HASTY if fault in PATIENCE else FAST
    record = play(script, lambda: ShareClient(fault), pace)
    duties: dict[Duty, str] = {}
    for violation in judge(record):
        duties.setdefault(violation.duty, violation.text)
    return duties


@pytest.mark.parametrize(
    ("fault", "duty", "script"),
    CONTROLS,
    ids=[f"{fault.name}-{duty.name}-{nth}" for nth, (fault, duty, _) in enumerate(CONTROLS)],
)
def test_a_faulty_client_is_found_and_its_duty_named(
    fault: Fault, duty: Duty, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault is Fault.BUSY:  # How many fetches a second there are is a matter of the machine.
        monkeypatch.setattr(Journal, "now", lambda _journal: 0)
    assert duty in violated(script, fault)


@pytest.mark.parametrize("script", dict.fromkeys(shown for *_, shown in CONTROLS), ids=str)
def test_the_same_client_without_a_fault_conforms(script: Script) -> None:
    assert violated(script, None) == {}


def test_a_client_that_never_joined_need_not_leave() -> None:
    assert violated(script(IMPLICIT, FIVE), None) == {}


def polled_empty(*before: Event) -> list[Duty]:
    """Judge a client that takes a record into hand, goes on, and polls in vain."""
    granted = (Granted(("t", 0), 0, 0, 1),)
    events = (
        Heartbeat(0, "m", 0, given=1),
        Asked(0, 1, "m", 0, fetches=True, max_records=1),
        *before,
        Answered(0, 1, granted=granted),
        Asked(0, 2, "m", 1, fetches=True, max_records=1),
        Called(0, "poll"),
        Returned(0, "poll"),
    )
    return [violation.duty for violation in judge(Record(Settings(), events))]


def test_what_a_member_is_sent_as_it_is_refused_it_need_not_deliver() -> None:
    refused, again = Heartbeat(0, "m", 1, error=25), Heartbeat(0, "m", 0, given=2)
    assert polled_empty() == [Duty.NONE_DROPPED]
    assert polled_empty(refused) == polled_empty(refused, again) == []


def test_what_a_member_asks_for_once_it_has_joined_again_it_delivers() -> None:
    refused, again = Heartbeat(0, "m", 1, error=25), Heartbeat(0, "m", 0, given=2)
    late = Asked(0, 1, "m", 0, fetches=True, max_records=1)
    assert polled_empty(Answered(0, 1), refused, again, late) == [Duty.NONE_DROPPED]


def test_every_duty_and_every_fault_has_a_control() -> None:
    assert {duty for _, duty, _ in CONTROLS} == set(Duty)
    assert {fault for fault, *_ in CONTROLS} == set(Fault)


@pytest.mark.parametrize("seed", range(40))
def test_a_client_without_a_fault_conforms_whatever_happens(seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - chance, no secret
    script = drawn(chance, ("batch_optimized", "record_limit"), callbacks=True, renews=True)
    assert violated(script, None) == {}, script


def test_a_record_acquired_anew_is_not_taken_for_the_one_that_was_renewed_before() -> None:
    def acknowledged(broker: int, number: int, type_: int) -> tuple[Event, ...]:
        called = Called(0, "acknowledge", place=PLACE, offset=0, type=type_)
        batch = (Acknowledgement(PLACE, 0, 0, (type_,)),)
        sent = Asked(0, number, "m", 1, fetches=False, acknowledgements=batch, broker=broker)
        return called, Returned(0, "acknowledge"), sent, Answered(0, number)

    def taken(broker: int, number: int) -> tuple[Event, ...]:
        granted = (Granted(PLACE, 0, 0, 1),)
        asked = Asked(0, number, "m", 0, fetches=True, max_records=1, broker=broker)
        returned = Returned(0, "poll", records=(Delivered(PLACE, 0, 1, value_of(0).decode()),))
        return asked, Answered(0, number, granted=granted), Called(0, "poll"), returned

    joined = Heartbeat(0, "m", 0, given=1)
    renewed = (joined, *taken(1, 1), *acknowledged(1, 2, RENEW))
    events = (*renewed, Moved(0, PLACE, 2), *taken(2, 3), *acknowledged(2, 4, ACCEPT))
    assert judge(Record(Settings(explicit=True), events)) == ()
