import attrs

from clients.duties import Duty
from clients.events import Acknowledgement, Answered, Asked, Deleted, Moved
from clients.leadership import MOST_ASKED, MOST_UNASSIGNED, Leadership

PLACE = ("t", 0)


def fetch(broker: int, epoch: int, *, forgets: bool = False, names: bool = False) -> Asked:
    forgotten, named = (PLACE,) if forgets else (), (PLACE,) if names else ()
    return Asked(0, 1, "m", epoch, fetches=True, broker=broker, named=named, forgotten=forgotten)


def elsewhere(leader: int) -> Answered:
    return Answered(0, 1, elsewhere=((PLACE, leader),))


def asked(leadership: Leadership, *requests: Asked) -> list[Duty]:
    return [duty for each in requests for duty, _ in leadership.asked(each)]


def opened() -> Leadership:
    """Return what is known once a session with broker 1 has the partition."""
    leadership = Leadership()
    assert asked(leadership, fetch(1, 0, names=True)) == []
    return leadership


def test_a_client_that_was_told_of_the_leader_may_ask_a_few_times_more() -> None:
    leadership = opened()
    leadership.answered(1, elsewhere(2))
    few = [fetch(1, epoch) for epoch in range(1, MOST_ASKED + 1)]
    assert asked(leadership, *few) == []
    assert asked(leadership, fetch(1, 99)) == [Duty.FOLLOWS]
    assert asked(leadership, fetch(1, 100)) == []  # It is said once.


def test_a_leader_that_moves_back_is_asked_again() -> None:
    leadership = opened()
    leadership.answered(1, elsewhere(2))
    leadership.moved(Moved(0, PLACE, 1))
    assert asked(leadership, *(fetch(1, epoch) for epoch in range(1, 99))) == []


def test_a_deleted_topic_is_asked_for_no_more_once_the_next_of_its_name_is_assigned() -> None:
    leadership, former = opened(), ("t~1", 0)
    leadership.assigned((PLACE,))
    leadership.moved(Moved(0, PLACE, 2))
    leadership.deleted(Deleted(0, "t", "t~1"))
    assert list(leadership.starved(10_000)) == []
    assert leadership.assigns(former)
    assert leadership.assigns(PLACE)
    leadership.assigned(())
    assert not leadership.assigns(PLACE)
    leadership.assigned((PLACE,))
    assert list(leadership.missed((PLACE,))) == ["no fetch asks for t-0, which is assigned to it"]
    assert asked(leadership, *(fetch(1, epoch) for epoch in range(1, 99))) == []


def test_a_new_leader_that_is_never_asked_is_named() -> None:
    leadership = opened()
    leadership.moved(Moved(0, PLACE, 2))
    acknowledges = Asked(0, 1, "m", 0, fetches=False, broker=2)
    assert asked(leadership, fetch(1, 1), fetch(2, 0), acknowledges) == []
    ((duty, text),) = leadership.starved(10_000)
    assert duty is Duty.FOLLOWS
    assert text == "broker 2, which leads t-0 now, is not asked for it in 10000 ms of polls"
    leadership.assigned((("u", 0),))
    assert list(leadership.starved(10_000)) == []
    leadership.assigned((PLACE,))
    assert asked(leadership, attrs.evolve(fetch(2, 0, names=True), fetches=False)) == []
    assert [each for each, _ in leadership.starved(10_000)] == [Duty.FOLLOWS]
    assert asked(leadership, fetch(2, 1)) == []  # What an earlier request has named.
    assert list(leadership.starved(10_000)) == []


def test_a_client_gets_nothing_of_what_it_is_not_assigned_or_never_asks_for() -> None:
    leadership, other, third = opened(), ("t", 1), ("u", 0)
    leadership.assigned((PLACE, other))
    unassigned = "u-0, which is subscribed to, is not assigned to it"
    unasked = "no fetch asks for t-1, which is assigned to it"
    assert list(leadership.missed((third,))) == [unassigned]
    assert list(leadership.missed((other, third))) == [unassigned, unasked]
    available = "a fetch could get records"
    assert list(leadership.missed((PLACE,))) == list(leadership.missed(())) == [available]
    assert list(leadership.missed((PLACE, other, third))) == [unassigned, unasked, available]


def test_what_is_not_assigned_is_asked_for_a_few_times_at_most() -> None:
    leadership = opened()
    leadership.assigned((PLACE,))
    assert asked(leadership, *(fetch(1, epoch) for epoch in range(1, 9))) == []
    leadership.assigned((("t", 1),))
    few = [fetch(1, epoch) for epoch in range(9, 9 + MOST_UNASSIGNED)]
    assert asked(leadership, *few) == []
    assert asked(leadership, fetch(1, 20)) == [Duty.ASSIGNED]
    leadership.assigned(None)
    assert asked(leadership, *(fetch(1, epoch) for epoch in range(21, 29))) == []


def test_what_an_acknowledgement_forgets_is_asked_for_no_more() -> None:
    """As Apache Kafka's client renews what it holds while a partition is taken from it."""
    batches = (Acknowledgement(("t", 1), 0, 0, (4,)),)
    for forgets, broken in ((True, []), (False, [Duty.ASSIGNED])):
        leadership = opened()
        leadership.assigned((("t", 1),))
        one = attrs.evolve(fetch(1, 1, forgets=forgets), fetches=False, acknowledgements=batches)
        later = [fetch(1, epoch) for epoch in range(2, MOST_UNASSIGNED + 4)]
        assert asked(leadership, one, *later) == broken
