"""Which deliveries of a record its leader must know."""

import pytest

from conformance.cluster.rules import judge_history
from tests.conformance.cluster.written import AVAILABLE, LOCK_MS, Written, begun, broken


@pytest.mark.parametrize("is_dropped", [True, False])
def test_an_object_that_is_dropped_as_it_reads_need_not_count(*, is_dropped: bool) -> None:
    history = Written().add("reads")
    if is_dropped:
        history.left("is disconnected", sessions=0)
    history.add("read").acquired([4, 4, 1], member="m2").after(LOCK_MS)
    expected = [] if is_dropped else [("DELIVERIES_ARE_COUNTED", 4)]
    assert broken(history.acquired([4, 4, 1], member="m3")) == expected


def test_what_is_being_written_is_known_without_sessions() -> None:
    history = begun()
    del history.lines[1]
    history.write(1, [4, 4, AVAILABLE, 1]).after(LOCK_MS)
    assert broken(history.acquired([4, 4, 1], member="m2")) == [("DELIVERIES_ARE_COUNTED", 4)]


@pytest.mark.parametrize("has_left", [True, False])
def test_what_a_member_is_given_that_has_left_has_a_rule_of_its_own(*, has_left: bool) -> None:
    history = Written().left("closes", node=0 if has_left else 1)
    history.acquired([4, 4, 1]).after(LOCK_MS).acquired([4, 4, 1], member="m2")
    expected = ("NOTHING_AFTER_LEAVING" if has_left else "DELIVERIES_ARE_COUNTED", 4)
    assert broken(history) == [expected]


def led(*later: int) -> Written:
    """A group begins at latest, a member gets records 3 and 4, and leaders of epochs follow."""
    history = Written(reset="latest").add("reads").add("read").acquired([3, 4, 1])
    for epoch in later:
        history.add("reads", id=2, leader_epoch=epoch).add("read", id=2)
    return history


@pytest.mark.parametrize(
    ("history", "cause"),
    [
        (led(), "after some attempts"),
        (led(1), "a leader began anew at latest"),
        (led(0).committed([3, 4, AVAILABLE, 1]), "a leader began anew at latest"),
    ],
    ids=["one leader", "another, and nothing is written", "the object of before writes"],
)
def test_what_was_given_is_lost_where_a_leader_begins_anew(history: Written, cause: str) -> None:
    (finding,) = judge_history(history.rest(20, 0, 20).events())
    assert finding.probable_cause == ("EVERY_RECORD_IS_FINISHED", cause)
