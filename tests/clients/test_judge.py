"""Faulty clients of ours, which the judge finds and names; the same without a fault conforms."""

from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import attrs
import pytest

from clients.drivers import ACQUIRE_MODES, ClientCapabilities
from clients.duties import Duty
from clients.events import (
    ACCEPT,
    GAP,
    RELEASE,
    RENEW,
    Acknowledgement,
    Answered,
    Asked,
    Called,
    ClientRecord,
    Compacted,
    Completed,
    Corrupted,
    Cut,
    Deleted,
    Delivered,
    Drained,
    Event,
    Granted,
    Heartbeat,
    Lost,
    Moved,
    Place,
    Returned,
    Settings,
)
from clients.journal import Journal
from clients.judge import MOST_VIOLATIONS, judge
from clients.play import Pace, play
from clients.scripts import Script, drawn
from clients.stakes import stakes
from conformance.wire.records import value_of
from tests.clients.controls import CONTROLS, STARVING, script
from tests.doubles.share_client import ShareClient
from tests.doubles.share_faults import Fault

pytestmark = pytest.mark.xdist_group("client-judge")

FAST = Pace(poll_ms=20)
PLACE = ("t", 0)
HASTY = Pace(poll_ms=20, patience_seconds=1)
TIMED = (
    *(Fault.BUSY, Fault.HASTY, Fault.BEATS_ON, Fault.LEAVES_ONCE),
    *(Fault.KEEPS_INTERVAL, Fault.KEEPS_LONGEST),
)
"""The faults that depend on how fast the client is, whose scripts are played alone."""

TRIES = 3
"""How often these are, as a busy machine may hide them."""

AT_ONCE = 5
"""How many scripts are played at a time: they wait more than they compute."""

ABLE = ClientCapabilities(callbacks=True, acquire_modes=ACQUIRE_MODES, renews=True)
DRAWN = [drawn(Random(seed), ABLE) for seed in range(40)]  # noqa: S311 - chance, no secret
Played = Callable[[Fault | None, Script], ClientRecord]


def played_by(fault: Fault | None, script: Script) -> ClientRecord:
    return play(script, lambda: ShareClient(fault), HASTY if fault in STARVING else FAST)


@pytest.fixture(scope="module")
def played() -> Played:
    """Return what gives the record of a script, most of which have been played already."""
    shown = [(fault, script) for fault, _, script in CONTROLS if fault not in TIMED]
    fine = [(None, script) for script in (*[script for *_, script in CONTROLS], *DRAWN)]
    each = dict.fromkeys((*shown, *fine))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        records = dict(zip(each, pool.map(played_by, *zip(*each, strict=True)), strict=True))
    return lambda fault, script: records.get((fault, script)) or played_by(fault, script)


def violated(record: ClientRecord) -> dict[Duty, str]:
    """Return what is violated, with what is said of it first."""
    duties: dict[Duty, str] = {}
    for violation in judge(record):
        duties.setdefault(Duty(violation.name), violation.recorded)
    return duties


@pytest.mark.parametrize(
    ("fault", "duty", "script"),
    CONTROLS,
    ids=[f"{fault.name}-{duty.name}-{nth}" for nth, (fault, duty, _) in enumerate(CONTROLS)],
)
def test_a_faulty_client_is_found_and_its_duty_named(
    fault: Fault, duty: Duty, script: Script, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault is Fault.BUSY:  # How many fetches a second there are is a matter of the machine.
        monkeypatch.setattr(Journal, "now", lambda _journal: 0)
    records = (played(fault, script) for _ in range(TRIES if fault in TIMED else 1))
    assert any(duty in violated(record) for record in records)


@pytest.mark.parametrize("script", dict.fromkeys(shown for *_, shown in CONTROLS), ids=str)
def test_the_same_client_without_a_fault_conforms_and_has_the_duty_at_stake(
    script: Script, played: Played
) -> None:
    record = played(None, script)
    assert judge(record) == ()
    owed = {duty.value for _, duty, shown in CONTROLS if shown == script}
    assert owed <= stakes(record).keys()


@pytest.mark.parametrize("script", DRAWN, ids=range(len(DRAWN)))
def test_a_client_without_a_fault_conforms_whatever_happens(script: Script, played: Played) -> None:
    assert violated(played(None, script)) == {}, script


def test_a_client_that_never_joined_need_not_leave() -> None:
    assert violated(played_by(None, script("produce 5"))) == {}


def value(offset: int) -> str:
    return value_of(offset).decode()


def fetch(number: int = 1, epoch: int = 0, broker: int = 1) -> Asked:
    return Asked(0, number, "m", epoch, fetches=True, max_records=9, broker=broker, named=(PLACE,))


def gives(number: int = 1, first: int = 0, last: int = 0, count: int = 1) -> Answered:
    return Answered(0, number, granted=(Granted(PLACE, first, last, count),))


def returns(*offsets: int, **more: Any) -> Returned:  # noqa: ANN401 - fields by name
    records = tuple(Delivered(PLACE, offset, 1, value(offset)) for offset in offsets)
    return Returned(0, "poll", records=records, **more)


def says(type_: int) -> Called:
    return Called(0, "acknowledge", place=PLACE, offset=0, type=type_)


def sends(number: int, type_: int, broker: int = 1) -> Asked:
    batch, renews = (Acknowledgement(PLACE, 0, 0, (type_,)),), type_ == RENEW
    asked = Asked(0, number, "m", 1, fetches=False, acknowledgements=batch, broker=broker)
    return attrs.evolve(asked, says_renewal=renews)


JOINS, POLL, SAID = Heartbeat(0, "m", 0, given=1), Called(0, "poll"), Returned(0, "acknowledge")
HELD: tuple[Event, ...] = (fetch(), gives(), returns(0))
"""A record that an application has."""


def found(*events: Event, of: Container[Duty] = tuple(Duty), **more: bool) -> list[Duty]:
    """Return which of some duties are violated."""
    violations = judge(ClientRecord(Settings(**{"explicit": True, **more}), events))
    return [duty for each in violations if (duty := Duty(each.name)) in of]


def polled_empty(*before: Event) -> list[Duty]:
    """Judge a client that takes a record into hand, goes on, and polls in vain."""
    goes_on = (gives(), fetch(2, 1), POLL, returns())
    return found(JOINS, fetch(), *before, *goes_on, explicit=False)


def test_a_duty_that_is_violated_often_leaves_the_others_judged() -> None:
    often = (fetch(number, epoch=7) for number in range(MOST_VIOLATIONS + 1))
    duties = Duty.EPOCHS, Duty.ONLY_ACQUIRED
    assert found(*often, returns(0), of=duties) == [*[duties[0]] * MOST_VIOLATIONS, duties[1]]


def fetched(answer: Callable[[int], Answered]) -> list[Duty]:
    """Judge a poll of 500 ms in which a hundred fetches are answered so."""
    fetches = (event for n in range(100) for event in (fetch(n, n), answer(n)))
    poll = Called(0, "poll", timeout_ms=500)
    return found(poll, *fetches, Returned(500, "poll"), explicit=False)


def test_what_a_former_leader_answers_is_not_counted_as_a_fetch_that_brings_nothing() -> None:
    assert fetched(lambda number: Answered(0, number)) == [Duty.NOT_BUSY]
    assert fetched(lambda number: Answered(0, number, elsewhere=((PLACE, -1),))) == []
    assert fetched(lambda number: Answered(0, number, elsewhere=((PLACE, 2),))) == [Duty.FOLLOWS]


def polled(*answers: tuple[int, int]) -> list[Duty]:
    """Judge one poll that returns, in the order given, what these answers acquired."""
    given = (
        event
        for number, ends in enumerate(answers)
        for event in (fetch(number, number), gives(number, min(ends), max(ends)))
    )
    offsets = (offset for ends in answers for offset in dict.fromkeys(ends))
    return found(*given, POLL, returns(*offsets), explicit=False)


def test_order_is_that_of_what_one_answer_acquired() -> None:
    assert polled((0, 1)) == polled((3, 3), (0, 1)) == []
    assert polled((1, 0)) == polled((3, 3), (1, 0)) == [Duty.IN_ORDER]


@pytest.mark.parametrize(
    "lost", [Cut(0, 2, took_effect=False), Answered(0, 2, error=123)], ids=["cut", "refused"]
)
def test_a_renewal_that_did_not_arrive_may_be_sent_again_though_it_is_accepted_since(
    lost: Event,
) -> None:
    before = (*HELD, says(RENEW), says(ACCEPT), sends(2, RENEW))
    after = (sends(3, RENEW), sends(4, ACCEPT))
    of = (Duty.AS_SAID, Duty.HELD)
    assert found(*before, lost, *after, of=of) == []
    assert found(*before, *after, of=of) == [Duty.HELD]


def test_a_client_may_renew_by_itself_what_its_application_has_and_has_not_acknowledged() -> None:
    renews = (sends(2, RENEW), Answered(0, 2))
    of = (Duty.NOTHING_UNSAID, Duty.AS_SAID, Duty.ONCE, Duty.HELD)

    def judged(*events: Event, itself: bool = True) -> list[Duty]:
        return found(*HELD, *events, of=of, renews_itself=itself)

    assert judged(*renews, itself=False) == [Duty.NOTHING_UNSAID]
    assert judged(*renews, says(ACCEPT), SAID, sends(3, ACCEPT)) == []
    assert judged(says(ACCEPT), SAID, *renews) == [Duty.AS_SAID]
    assert judged(*renews, POLL, returns(0)) == [Duty.ONCE]
    assert judged(sends(2, ACCEPT), Answered(0, 2)) == [Duty.NOTHING_UNSAID]
    kept = (JOINS, fetch(), gives(), *renews, fetch(3, 2), POLL, returns())
    assert found(*kept, of=(Duty.NONE_DROPPED,), renews_itself=True) == [Duty.NONE_DROPPED]


FAILED = (Completed(PLACE, (0,), "lost"),)


@pytest.mark.parametrize(
    ("before", "meanwhile", "expected"),
    [(FAILED, (), []), ((), FAILED, []), ((), (), [Duty.ALL_SENT])],
)
def test_a_commit_need_not_send_a_renewal_of_which_the_application_was_told_that_it_failed(
    before: tuple[Completed, ...], meanwhile: tuple[Completed, ...], expected: list[Duty]
) -> None:
    fails = (POLL, returns(error="lost", completed=before))
    commit = Called(0, "commit"), Returned(0, "commit", completed=meanwhile)
    assert found(*HELD, says(RENEW), SAID, *fails, *commit, of=(Duty.ALL_SENT,)) == expected


@pytest.mark.parametrize(
    ("text", "is_unreadable", "expected"),
    [
        ("", False, [Duty.AS_ACQUIRED]),
        ("unreadable", False, [Duty.AS_ACQUIRED]),
        ("unreadable", True, []),  # By a client that has no deserializer.
        ("", True, [Duty.AS_ACQUIRED]),
    ],
)
def test_a_value_is_that_of_the_log(
    text: str, expected: list[Duty], *, is_unreadable: bool
) -> None:
    produced = (Corrupted(0, PLACE, frozenset({0})),) if is_unreadable else ()
    read = Returned(0, "poll", records=(Delivered(PLACE, 0, 1, text),))
    assert found(*produced, fetch(), gives(), read) == expected


@pytest.mark.parametrize(
    ("ended_ms", "error", "sent", "expected"),
    [
        (10_000, "late", (), [Duty.ALL_SENT]),
        (9_999, "late", (), []),  # It may have been about to send it.
        (10_000, None, (), []),
        (10_000, "late", (sends(2, ACCEPT),), []),
    ],
)
def test_a_commit_that_fails_late_has_sent_what_was_acknowledged(
    ended_ms: int, error: str | None, sent: tuple[Asked, ...], expected: list[Duty]
) -> None:
    returned = Returned(ended_ms, "commit", error=error)
    events = (*HELD, says(ACCEPT), SAID, Called(0, "commit"), *sent, returned)
    assert found(*events, of=(Duty.ALL_SENT,)) == expected


@pytest.mark.parametrize(("error", "expected"), [("late", []), (None, [Duty.REFUSAL_KNOWN])])
def test_a_commit_that_fails_before_its_answer_has_told_that_the_outcome_is_not_known(
    error: str | None, expected: list[Duty]
) -> None:
    commit = Called(0, "commit"), sends(2, ACCEPT), Returned(0, "commit", error=error)
    answer = Answered(0, 2, refused=((PLACE, 121),))
    closed = Called(0, "close"), Returned(0, "close")
    events = (*HELD, says(ACCEPT), SAID, *commit, answer, *closed)
    assert found(*events, of=(Duty.REFUSAL_KNOWN,)) == expected


@pytest.mark.parametrize(("refused", "expected"), [(False, [Duty.RENEWED]), (True, [])])
def test_a_record_whose_next_renewal_was_refused_need_not_be_acknowledged(
    *, refused: bool, expected: list[Duty]
) -> None:
    answer = Answered(0, 3, refused=((PLACE, 121),) if refused else ())
    renewed = (*HELD, says(RENEW), SAID, sends(2, RENEW), Answered(0, 2), POLL, returns())
    again = (says(RENEW), SAID, sends(3, RENEW), answer, POLL, returns())
    fails = (says(ACCEPT), Returned(0, "acknowledge", error="already acknowledged"))
    assert found(*renewed, *again, *fails, of=(Duty.RENEWED,)) == expected


@pytest.mark.parametrize(("renews_again", "expected"), [(False, [Duty.RENEWED]), (True, [])])
def test_a_record_that_is_to_be_renewed_again_need_not_be_acknowledged_before(
    *, renews_again: bool, expected: list[Duty]
) -> None:
    renewed = (*HELD, says(RENEW), SAID, sends(2, RENEW), Answered(0, 2), POLL, returns())
    again = (says(RENEW), SAID) if renews_again else ()
    fails = (says(ACCEPT), Returned(0, "acknowledge", error="already acknowledged"))
    assert found(*renewed, *again, *fails, of=(Duty.RENEWED,)) == expected


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ((fetch(2, 1), POLL), [Duty.GAPS]),
        ((POLL, fetch(2, 1)), []),  # It may report with its next request.
        ((sends(2, GAP), fetch(3, 2), POLL), []),
        ((fetch(2, 1), Lost(0, "x"), POLL), []),
        ((fetch(2, 1), Heartbeat(0, "m", 1, given=2, assigned=()), POLL), []),
    ],
)
def test_a_gap_is_reported_before_polls_have_brought_all_there_was(
    between: tuple[Event, ...], expected: list[Duty]
) -> None:
    gap = (JOINS, Compacted(0, PLACE, frozenset({0})), fetch(), gives())
    assert found(*gap, *between, returns(), Drained(0), of=(Duty.GAPS,)) == expected


@pytest.mark.parametrize(("anew", "expected"), [(False, []), (True, [Duty.HELD])])
def test_what_was_refused_with_its_request_is_not_sent_again_once_its_record_is_acquired_anew(
    *, anew: bool, expected: list[Duty]
) -> None:
    refused = (sends(2, ACCEPT), Answered(0, 2, error=122))
    given = gives(3, count=2) if anew else Answered(0, 3)
    again = (fetch(3), given, sends(4, ACCEPT), Answered(0, 4))
    ended = (Lost(0, "the broker ended its session", 1), says(ACCEPT), SAID)
    assert found(*HELD, *ended, *refused, *again, of=(Duty.HELD,)) == expected


def starved(
    *between: Event, by: int = 10_000, joins: bool = True, waiting: tuple[Place, ...] = ()
) -> list[str]:
    """Judge polls that bring nothing once a client was given offset 0, and maybe more happened."""
    events = (*((JOINS,) if joins else ()), fetch(), gives(), *between)
    events += (Drained(0, by, waiting),)
    violations = judge(ClientRecord(Settings(), events))
    return [each.recorded for each in violations if each.name == Duty.RECEIVES.value]


def test_a_member_that_polls_in_vain_is_starved_by_what_it_keeps_or_could_fetch() -> None:
    kept = "polls brought nothing for 10000 ms, and t-0 offset 0 was acquired"
    available = "polls brought nothing for 10000 ms, and a fetch could get records"
    assert starved() == [kept]
    assert starved(Lost(0, "x")) == starved(sends(2, RELEASE)) == [available]
    revoked = Heartbeat(0, "m", 1, given=2, assigned=())
    assert starved(revoked) == [available]
    missed = "polls brought nothing for 10000 ms, and t-0, which is subscribed to, is not assigned"
    assert starved(revoked, waiting=(PLACE,)) == [f"{missed} to it"]
    assert starved(waiting=(PLACE,)) == [kept]
    assert starved(returns(0), POLL) == [available]
    assert starved(returns(0)) == []  # Its application has it in hand.
    assert starved(by=0) == starved(joins=False) == []
    assert starved(Moved(0, PLACE, 2)) == []  # That is follows-the-leader.


def test_what_a_member_is_sent_as_it_is_refused_it_need_not_deliver() -> None:
    refused, again = Heartbeat(0, "m", 1, error=25), Heartbeat(0, "m", 0, given=2)
    assert polled_empty() == [Duty.NONE_DROPPED]
    assert polled_empty(refused) == polled_empty(refused, again) == []
    # What it asks for once it has joined again it delivers.
    assert polled_empty(gives(), refused, again, fetch()) == [Duty.NONE_DROPPED]


def test_every_duty_and_every_fault_has_a_control() -> None:
    assert {duty for _, duty, _ in CONTROLS} == set(Duty)
    assert {fault for fault, *_ in CONTROLS} == set(Fault)


def test_a_record_acquired_anew_is_not_taken_for_the_one_that_was_renewed_before() -> None:
    def taken(broker: int, number: int, type_: int) -> tuple[Event, ...]:
        given = (fetch(number, 0, broker), gives(number), POLL, returns(0))
        said = says(type_), SAID, sends(number + 1, type_, broker), Answered(0, number + 1)
        return *given, *said

    assert found(JOINS, *taken(1, 1, RENEW), Moved(0, PLACE, 2), *taken(2, 3, ACCEPT)) == []


def test_a_poll_may_return_what_was_renewed_though_the_next_leader_gave_the_record_again() -> None:
    renewed = (says(RENEW), SAID, sends(2, RENEW), Answered(0, 2), Moved(0, PLACE, 2))
    again = (fetch(3, 0, broker=2), gives(3), POLL, returns(0), says(ACCEPT), SAID)
    of = (Duty.NOTHING_UNSAID, Duty.HELD, Duty.OWN_LEADER, Duty.ONCE)
    events = (JOINS, *HELD, *renewed, *again, sends(4, ACCEPT), POLL, returns(0))
    assert found(*events, says(ACCEPT), SAID, sends(5, ACCEPT, broker=2), of=of) == []
    assert found(*events, POLL, returns(0), of=of) == [Duty.ONCE]
    both = (*again, POLL, returns(0), says(ACCEPT), SAID)
    sent = (sends(4, ACCEPT), sends(5, ACCEPT, broker=2))
    assert found(JOINS, *HELD, *renewed, *both, *sent, of=of) == []


@pytest.mark.parametrize(
    ("place", "expected"), [(("t~1", 0), []), (PLACE, [Duty.NOTHING_UNSAID])], ids=str
)
def test_a_record_of_a_deleted_topic_is_not_one_of_the_next_topic_of_its_name(
    place: Place, expected: list[Duty]
) -> None:
    again = (Deleted(0, "t", "t~1"), fetch(2, 1), gives(2))
    batch = (Acknowledgement(place, 0, 0, (ACCEPT,)),)
    accepts = Asked(0, 3, "m", 2, fetches=False, acknowledgements=batch)
    assert found(JOINS, *HELD, *again, says(ACCEPT), SAID, accepts) == expected


def test_a_record_is_that_of_the_topic_that_is_there_though_both_have_been_lost() -> None:
    both = (fetch(), gives(), Deleted(0, "t", "t~1"), fetch(2, 1), gives(2), Lost(0, "why"))
    events = (JOINS, *both, POLL, returns(0), says(ACCEPT), SAID, sends(3, ACCEPT))
    assert found(*events, of=(Duty.NOTHING_UNSAID, Duty.ONCE, Duty.HELD)) == []


def test_what_came_of_a_deleted_topic_may_be_delivered_or_not_and_its_failure_is_told() -> None:
    deleted = Deleted(0, "t", "t~1")
    assert found(JOINS, fetch(), gives(), deleted, fetch(2, 1), POLL, returns()) == []
    assert found(JOINS, fetch(), gives(), deleted, POLL, returns(0), fetch(2, 1)) == []
    accepts = sends(2, ACCEPT), deleted, Answered(0, 2, refused=((("t~1", 0), 100),))
    closed = Called(0, "close"), Returned(0, "close")
    events = *HELD, says(ACCEPT), SAID, *accepts
    of = (Duty.REFUSAL_KNOWN, Duty.REFUSAL_TOLD)
    assert found(*events, *closed, of=of) == [Duty.REFUSAL_KNOWN]
    told = Returned(0, "commit", completed=(Completed(PLACE, (0,), "lost"),))
    assert found(*events, Called(0, "commit"), told, *closed, of=of) == []
    result = Returned(0, "commit", results=((PLACE, "lost"),))
    assert found(*events, Called(0, "commit"), result, *closed, of=of) == []
