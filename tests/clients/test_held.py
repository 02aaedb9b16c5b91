from clients.events import ACCEPT, RENEW, Granted
from clients.held import Fate, Holdings

PLACE = ("t", 0)


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
