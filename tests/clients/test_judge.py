"""Faulty clients of ours, which the judge finds and names; the same without a fault conforms."""

from collections.abc import Callable
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
    Completed,
    Corrupted,
    Cut,
    Delivered,
    Drained,
    Event,
    Granted,
    Heartbeat,
    Lost,
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
PATIENCE = (
    *(Fault.NEVER_REJOINS, Fault.STAYS_WITH_LEADER, Fault.STAYS_WITH_COORDINATOR),
    *(Fault.FREEZES, Fault.GIVES_UP, Fault.GIVES_UP_CUT, Fault.FOUR_BROKERS),
    *(Fault.STOPS_AT_EMPTY, Fault.NEVER_LEARNS, Fault.SUBSCRIBES_ONCE, Fault.DROPS),
)
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


def fetched(answer: Callable[[int], Answered]) -> list[Duty]:
    """Judge a poll of 500 ms in which a hundred fetches are answered so."""
    fetches = (
        event
        for number in range(100)
        for event in (
            Asked(0, number, "m", number, fetches=True, max_records=1, named=(PLACE,)),
            answer(number),
        )
    )
    events = (Called(0, "poll", timeout_ms=500), *fetches, Returned(500, "poll"))
    return [violation.duty for violation in judge(Record(Settings(), events))]


def test_what_a_former_leader_answers_is_not_counted_as_a_fetch_that_brings_nothing() -> None:
    assert fetched(lambda number: Answered(0, number)) == [Duty.NOT_BUSY]
    assert fetched(lambda number: Answered(0, number, elsewhere=((PLACE, -1),))) == []
    assert fetched(lambda number: Answered(0, number, elsewhere=((PLACE, 2),))) == [Duty.FOLLOWS]


def polled(*answers: tuple[int, int]) -> list[Duty]:
    """Judge one poll that returns, in the order given, what these answers acquired."""
    given = tuple(
        event
        for number, (first, last) in enumerate(answers)
        for event in (
            Asked(0, number, "m", number, fetches=True, max_records=9, named=(PLACE,)),
            Answered(0, number, granted=(Granted(PLACE, min(first, last), max(first, last), 1),)),
        )
    )
    records = tuple(
        Delivered(PLACE, offset, 1, value_of(offset).decode())
        for first, last in answers
        for offset in dict.fromkeys((first, last))
    )
    poll = Called(0, "poll"), Returned(0, "poll", records=records)
    return [each.duty for each in judge(Record(Settings(), (*given, *poll)))]


def test_order_is_that_of_what_one_answer_acquired() -> None:
    assert polled((0, 1)) == polled((3, 3), (0, 1)) == []
    assert polled((1, 0)) == polled((3, 3), (1, 0)) == [Duty.IN_ORDER]


@pytest.mark.parametrize(
    "lost", [Cut(0, 2, took_effect=False), Answered(0, 2, error=123)], ids=["cut", "refused"]
)
def test_a_renewal_that_did_not_arrive_may_be_sent_again_though_it_is_accepted_since(
    lost: Event,
) -> None:
    def called(type_: int) -> Event:
        return Called(0, "acknowledge", place=PLACE, offset=0, type=type_)

    def sent(number: int, type_: int) -> Event:
        batch = (Acknowledgement(PLACE, 0, 0, (type_,)),)
        return Asked(0, number, "m", 1, fetches=False, acknowledgements=batch)

    events = (
        Asked(0, 1, "m", 0, fetches=True, max_records=1, named=(PLACE,)),
        Answered(0, 1, granted=(Granted(PLACE, 0, 0, 1),)),
        Returned(0, "poll", records=(Delivered(PLACE, 0, 1, value_of(0).decode()),)),
        *(called(RENEW), called(ACCEPT), sent(2, RENEW), lost, sent(3, RENEW), sent(4, ACCEPT)),
    )
    without = tuple(event for event in events if event is not lost)
    for happened, expected in ((events, []), (without, [Duty.HELD])):
        found = judge(Record(Settings(explicit=True), happened))
        assert [each.duty for each in found if each.duty in (Duty.AS_SAID, Duty.HELD)] == expected


TOLD = Completed(PLACE, (0,), "lost")


@pytest.mark.parametrize(
    ("before", "meanwhile", "expected"),
    [((TOLD,), (), []), ((), (TOLD,), []), ((), (), [Duty.ALL_SENT])],
)
def test_a_commit_need_not_send_a_renewal_of_which_the_application_was_told_that_it_failed(
    before: tuple[Completed, ...], meanwhile: tuple[Completed, ...], expected: list[Duty]
) -> None:
    events = (
        Asked(0, 1, "m", 0, fetches=True, max_records=1, named=(PLACE,)),
        Answered(0, 1, granted=(Granted(PLACE, 0, 0, 1),)),
        Returned(0, "poll", records=(Delivered(PLACE, 0, 1, value_of(0).decode()),)),
        *(Called(0, "acknowledge", place=PLACE, offset=0, type=RENEW), Returned(0, "acknowledge")),
        *(Called(0, "poll"), Returned(0, "poll", error="lost", completed=before)),
        *(Called(0, "commit"), Returned(0, "commit", completed=meanwhile)),
    )
    found = judge(Record(Settings(explicit=True), events))
    assert [each.duty for each in found if each.duty is Duty.ALL_SENT] == expected


@pytest.mark.parametrize(
    ("value", "is_unreadable", "expected"),
    [
        ("", False, [Duty.AS_ACQUIRED]),
        ("unreadable", False, [Duty.AS_ACQUIRED]),
        ("unreadable", True, []),  # By a client that has no deserializer.
        ("", True, [Duty.AS_ACQUIRED]),
    ],
)
def test_a_value_is_that_of_the_log(
    value: str, expected: list[Duty], *, is_unreadable: bool
) -> None:
    produced = (Corrupted(0, PLACE, frozenset({0})),) if is_unreadable else ()
    events: tuple[Event, ...] = (
        *produced,
        Asked(0, 1, "m", 0, fetches=True, max_records=1, named=(PLACE,)),
        Answered(0, 1, granted=(Granted(PLACE, 0, 0, 1),)),
        Returned(0, "poll", records=(Delivered(PLACE, 0, 1, value),)),
    )
    found = judge(Record(Settings(explicit=True), events))
    assert [each.duty for each in found] == expected


@pytest.mark.parametrize(
    ("ended_ms", "error", "sent", "expected"),
    [
        (10_000, "late", (), [Duty.ALL_SENT]),
        (9_999, "late", (), []),  # It may have been about to send it.
        (10_000, None, (), []),
        (10_000, "late", (Acknowledgement(PLACE, 0, 0, (ACCEPT,)),), []),
    ],
)
def test_a_commit_that_fails_late_has_sent_what_was_acknowledged(
    ended_ms: int, error: str | None, sent: tuple[Acknowledgement, ...], expected: list[Duty]
) -> None:
    request = Asked(0, 2, "m", 1, fetches=False, acknowledgements=sent)
    events = (
        Asked(0, 1, "m", 0, fetches=True, max_records=1, named=(PLACE,)),
        Answered(0, 1, granted=(Granted(PLACE, 0, 0, 1),)),
        Returned(0, "poll", records=(Delivered(PLACE, 0, 1, value_of(0).decode()),)),
        *(Called(0, "acknowledge", place=PLACE, offset=0, type=1), Returned(0, "acknowledge")),
        *(Called(0, "commit"), *((request,) if sent else ())),
        Returned(ended_ms, "commit", error=error),
    )
    found = judge(Record(Settings(explicit=True), events))
    assert [each.duty for each in found if each.duty is Duty.ALL_SENT] == expected


@pytest.mark.parametrize(("refused", "expected"), [(False, []), (True, [Duty.REFUSAL_TOLD])])
def test_a_callback_may_tell_of_a_renewal_while_the_next_acknowledgement_is_under_way(
    *, refused: bool, expected: list[Duty]
) -> None:
    def sent(number: int, type_: int) -> Asked:
        batch = (Acknowledgement(PLACE, 0, 0, (type_,)),)
        return Asked(0, number, "m", 1, fetches=False, acknowledgements=batch)

    told = Completed(PLACE, (0,), None)
    events = (
        Asked(0, 1, "m", 0, fetches=True, max_records=1, named=(PLACE,)),
        Answered(0, 1, granted=(Granted(PLACE, 0, 0, 1),)),
        Returned(0, "poll", records=(Delivered(PLACE, 0, 1, value_of(0).decode()),)),
        *(Called(0, "acknowledge", place=PLACE, offset=0, type=RENEW), sent(2, RENEW)),
        *(Answered(0, 2, refused=((PLACE, 3),) if refused else ()), Returned(0, "acknowledge")),
        *(Called(0, "acknowledge", place=PLACE, offset=0, type=ACCEPT), sent(3, ACCEPT)),
        Returned(0, "acknowledge", completed=(told,)),
        *(Answered(0, 3), Called(0, "close"), Returned(0, "close", completed=(told,))),
    )
    found = judge(Record(Settings(explicit=True), events))
    assert [each.duty for each in found if each.duty is Duty.REFUSAL_TOLD] == expected


@pytest.mark.parametrize(("anew", "expected"), [(False, []), (True, [Duty.HELD])])
def test_what_was_refused_with_its_request_is_not_sent_again_once_its_record_is_acquired_anew(
    *, anew: bool, expected: list[Duty]
) -> None:
    def fetched(number: int, epoch: int, *counts: int) -> tuple[Event, ...]:
        granted = tuple(Granted(PLACE, 0, 0, count) for count in counts)
        asked = Asked(0, number, "m", epoch, fetches=True, max_records=1, named=(PLACE,))
        return asked, Answered(0, number, granted=granted)

    accepted = (Acknowledgement(PLACE, 0, 0, (ACCEPT,)),)
    events = (
        *fetched(1, 0, 1),
        Returned(0, "poll", records=(Delivered(PLACE, 0, 1, value_of(0).decode()),)),
        Lost(0, "the broker ended its session", 1),
        *(Called(0, "acknowledge", place=PLACE, offset=0, type=ACCEPT), Returned(0, "acknowledge")),
        Asked(0, 2, "m", 1, fetches=False, acknowledgements=accepted),
        Answered(0, 2, error=122),
        *fetched(3, 0, *([2] if anew else [])),
        Asked(0, 4, "m", 1, fetches=False, acknowledgements=accepted),
        Answered(0, 4),
    )
    found = judge(Record(Settings(explicit=True), events))
    assert [each.duty for each in found if each.duty is Duty.HELD] == expected


def starved(*between: Event, by: int = 10_000, joins: bool = True) -> list[str]:
    """Judge polls that bring nothing once a client was given offset 0, and maybe more happened."""
    events = (
        *((Heartbeat(0, "m", 0, given=1),) if joins else ()),
        Asked(0, 1, "m", 0, fetches=True, max_records=1, named=(PLACE,)),
        Answered(0, 1, granted=(Granted(PLACE, 0, 0, 1),)),
        *between,
        Drained(0, by),
    )
    violations = judge(Record(Settings(), events))
    return [each.text for each in violations if each.duty is Duty.RECEIVES]


def test_a_member_that_polls_in_vain_is_starved_by_what_it_keeps_or_could_fetch() -> None:
    delivered = Returned(0, "poll", records=(Delivered(PLACE, 0, 1, value_of(0).decode()),))
    released = (Acknowledgement(PLACE, 0, 0, (2,)),)
    sent = Asked(0, 2, "m", 1, fetches=False, acknowledgements=released)
    kept = "polls brought nothing for 10000 ms, and t-0 offset 0 was acquired"
    available = "polls brought nothing for 10000 ms, and a fetch could get records"
    assert starved() == [kept]
    assert starved(Lost(0, "x")) == starved(sent) == [available]
    assert starved(Heartbeat(0, "m", 1, given=2, assigned=())) == [available]
    assert starved(delivered, Called(0, "poll")) == [available]
    assert starved(delivered) == []  # Its application has it in hand.
    assert starved(by=0) == starved(joins=False) == []
    assert starved(Moved(0, PLACE, 2)) == []  # That is follows-the-leader.


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
