import attrs
import pytest

from clients.duties import Duty
from clients.events import (
    ACCEPT,
    RELEASE,
    RENEW,
    Answered,
    Called,
    Cut,
    Delivered,
    Granted,
    Lost,
    Moved,
    Returned,
)
from clients.held import Fate, Holdings
from tests.clients.test_judge import (
    HELD,
    PLACE,
    POLL,
    SAID,
    fetch,
    found,
    gives,
    returns,
    says,
    sends,
    value,
)
from tests.clients.test_telling import TOLD


def test_only_what_was_granted_before_the_client_went_on_is_known_to_be_in_hand() -> None:
    holdings = Holdings()
    holdings.grant(Granted(PLACE, 0, 0, 1))
    holdings.move_on(7)
    holdings.grant(Granted(PLACE, 1, 1, 1))
    assert [held.moved_on for held in holdings.every()] == [7, None]


def test_what_is_lost_is_lost_where_it_was_first() -> None:
    holdings = Holdings()
    holdings.grant(Granted(PLACE, 0, 0, 1))
    holdings.lose(4)
    holdings.grant(Granted(PLACE, 0, 0, 2))
    holdings.lose(9)
    assert [held.lost for held in holdings.of(PLACE, 0)] == [4, 9]


def test_what_is_acquired_anew_has_ended_unless_its_acknowledgement_succeeded() -> None:
    holdings = Holdings()
    holdings.grant(Granted(PLACE, 0, 1, 1), answer=4)
    holdings.of(PLACE, 1)[0].fate = Fate.DONE
    holdings.grant(Granted(PLACE, 0, 1, 2), answer=9)
    assert [held.lost for held in holdings.every()] == [9, None, None, None]


def test_a_gap_is_passed_once_a_later_record_of_its_answer_is_delivered() -> None:
    holdings = Holdings()
    holdings.remove(PLACE, [1])
    holdings.grant(Granted(PLACE, 0, 2, 1), answer=4)
    holdings.grant(Granted(PLACE, 1, 2, 2), answer=9)
    first, again = holdings.of(PLACE, 1)
    holdings.deliver(holdings.of(PLACE, 0)[0], 5)
    assert not holdings.is_passed(first)
    holdings.deliver(holdings.of(PLACE, 2)[0], 6)
    assert holdings.is_passed(first)
    assert not holdings.is_passed(again)


def test_a_gap_is_unreported_once_a_later_record_of_its_answer_is_acknowledged() -> None:
    holdings = Holdings()
    holdings.remove(PLACE, [1, 3])
    holdings.grant(Granted(PLACE, 0, 3, 1), answer=4)
    assert holdings.unreported() == []
    last = holdings.of(PLACE, 2)[0]
    last.due, last.fate = 1, Fate.REFUSED
    assert holdings.unreported() == []
    last.fate = Fate.DONE
    assert [held.offset for held in holdings.unreported()] == [1]
    holdings.of(PLACE, 1)[0].fate = Fate.OPEN
    assert holdings.unreported() == []


def test_what_is_renewed_waits_for_the_application_again_unless_it_has_said_more() -> None:
    holdings = Holdings()
    holdings.grant(Granted(PLACE, 0, 1, 1))
    first, second = holdings.every()
    for held, due in ((first, RENEW), (second, ACCEPT)):
        holdings.deliver(held, 1)
        held.due = due
        assert not held.waits
        held.renew(4)
        assert (held.fate, held.renewed) == (Fate.RENEWED, 4)
    assert (first.waits, second.waits) == (True, False)


@pytest.mark.parametrize(
    ("opens", "anew", "returned", "expected"),
    [
        (True, True, 1, [Duty.HELD]),
        (True, True, 2, []),
        (True, False, 1, []),
        (False, True, 1, []),
    ],
)
def test_what_is_said_of_a_renewed_delivery_is_not_sent_in_a_session_that_gives_it_anew(
    *, opens: bool, anew: bool, returned: int, expected: list[Duty]
) -> None:
    """A lock that ends within a session is no matter of the client's; ``returned``: which one."""
    renewed = (says(RENEW), SAID, sends(2, RENEW), Answered(0, 2))
    ends = Lost(0, "the broker ended its session" if opens else "its acquisition locks ended", 1)
    given = gives(3, count=2) if anew else Answered(0, 3)
    record = Delivered(PLACE, 0, returned, value(0))
    accepts = (POLL, attrs.evolve(returns(), records=(record,)), says(ACCEPT), SAID)
    after = (ends, fetch(3, 0 if opens else 2), given, *accepts, sends(4, ACCEPT), Answered(0, 4))
    assert found(*HELD, *renewed, *after, of=(Duty.HELD,)) == expected


@pytest.mark.parametrize(
    ("before", "opens", "expected"),
    [(True, False, []), (True, True, [Duty.HELD]), (False, False, [Duty.HELD])],
)
def test_what_was_cut_is_sent_again_if_its_lock_had_ended_in_its_session_before_it_was_sent_at_all(
    *, before: bool, opens: bool, expected: list[Duty]
) -> None:
    ends = Lost(0, "the broker ended its session" if opens else "its acquisition locks ended", 1)
    anew = (ends, fetch(2, 0 if opens else 1), gives(2, count=2))
    cut = (sends(3, ACCEPT), Cut(0, 3, took_effect=False))
    happens = (*anew, *cut) if before else (*cut, *anew)
    again = (*happens, sends(4, ACCEPT), Answered(0, 4))
    assert found(*HELD, says(ACCEPT), SAID, *again, of=(Duty.HELD,)) == expected


@pytest.mark.parametrize(
    ("commit", "polls", "expected"),
    [
        ("commit_async", 1, []),
        ("commit_async", 2, [Duty.RENEWED]),
        ("commit", 1, [Duty.RENEWED]),
    ],
)
def test_a_poll_that_is_the_first_to_tell_of_a_renewal_need_not_return_the_record(
    commit: str, polls: int, expected: list[Duty]
) -> None:
    results = ((PLACE, None),) if commit == "commit" else ()
    commits = (sends(2, RENEW), Answered(0, 2), Returned(0, commit, results=results))
    renewed = (says(RENEW), SAID, Called(0, commit), *commits)
    polled = (POLL, returns(completed=TOLD), *(POLL, returns()) * (polls - 1))
    fails = (says(ACCEPT), Returned(0, "acknowledge", error="it cannot be acknowledged"))
    assert found(*HELD, *renewed, *polled, *fails, of=(Duty.RENEWED,)) == expected


@pytest.mark.parametrize(("released", "expected"), [(True, []), (False, [Duty.NOTHING_UNSAID])])
def test_a_record_is_delivered_of_the_acquisition_that_the_client_did_not_give_up(
    *, released: bool, expected: list[Duty]
) -> None:
    """The next leader has ended the session, and the former one has not."""
    refused = Answered(0, 2, refused=((PLACE, 6),))
    early = (sends(2, RELEASE), refused) if released else (POLL, returns(0))
    anew = (Moved(0, PLACE, 2), fetch(3, 0, broker=2), gives(3))
    late = (POLL, returns(0)) if released else ()
    over = Lost(0, "the broker started again", 2)
    accepts = (says(ACCEPT), SAID, sends(4, ACCEPT, broker=2))
    events = (fetch(), gives(), *early, *anew, over, *late, *accepts)
    assert found(*events, of=(Duty.NOTHING_UNSAID,)) == expected
