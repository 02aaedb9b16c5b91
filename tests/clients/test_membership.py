import attrs
import pytest

from clients.duties import Duty
from clients.events import Heartbeat
from clients.membership import REFUSALS, Membership
from spec.group_membership import JOINING, LEAVING

UNKNOWN, FENCED = REFUSALS
NOT_COORDINATOR = 16
JOINED = Heartbeat(0, "m", JOINING, given=1)
JOINED_AGAIN = Heartbeat(100, "m", JOINING, given=1)


def beats(*heartbeats: Heartbeat) -> tuple[Membership, list[tuple[Duty, str]]]:
    """Return the membership after heartbeats, and what they violate."""
    membership = Membership()
    violations = [violation for beat in heartbeats for violation in membership.take(beat)]
    return membership, violations


def beat(epoch: int, error: int = 0, given: int = 0, member: str = "m", at: int = 0) -> Heartbeat:
    return Heartbeat(at, member, epoch, error, given)


LEAVES = beat(LEAVING, given=LEAVING)


def astray(*times: int) -> tuple[Heartbeat, ...]:
    """Return heartbeats at these times to a broker that is no coordinator."""
    return tuple(beat(1, NOT_COORDINATOR, at=at) for at in times)


@pytest.mark.parametrize(
    "heartbeats",
    [
        (JOINED, beat(1, given=1), beat(1, given=2), beat(2, given=2), LEAVES),
        (JOINED, LEAVES, JOINED),
        (
            JOINED,
            *astray(0, 600, 1200),
            beat(1, given=1),
            *astray(1300, 1600, 1900, 2200, 2300),
            beat(1),
        ),
        (beat(JOINING, NOT_COORDINATOR), JOINED, beat(1, NOT_COORDINATOR), beat(1, given=1)),
        (JOINED, beat(1, UNKNOWN), beat(JOINING, given=3), beat(3, given=3)),
        (JOINED, beat(1, FENCED), beat(JOINING, NOT_COORDINATOR), beat(JOINING, given=3)),
        (JOINED, beat(1, UNKNOWN), beat(LEAVING, UNKNOWN)),
        (beat(LEAVING, UNKNOWN), JOINED),
    ],
)
def test_a_member_that_carries_what_it_was_given_violates_nothing(
    heartbeats: tuple[Heartbeat, ...],
) -> None:
    membership, violations = beats(*heartbeats)
    assert violations == []
    assert list(membership.identified("m", "a fetch")) == []
    assert list(membership.missed(5)) == []


@pytest.mark.parametrize(
    ("heartbeats", "duty", "text"),
    [
        ((beat(1, UNKNOWN),), Duty.MEMBER_EPOCH, "has member epoch 1, where 0 is due"),
        ((JOINED, JOINED_AGAIN), Duty.MEMBER_EPOCH, "has member epoch 0, where 1 is due"),
        (
            (JOINED, beat(1, given=2), beat(1, given=2, at=50)),
            Duty.MEMBER_EPOCH,
            "1, where 2 is due",
        ),
        ((JOINED, beat(1, NOT_COORDINATOR), JOINED_AGAIN), Duty.MEMBER_EPOCH, "0, where 1 is due"),
        ((JOINED, beat(LEAVING), beat(1, UNKNOWN)), Duty.MEMBER_EPOCH, "1, where 0 is due"),
        ((beat(JOINING, 42, member=" "),), Duty.MEMBER_ID, "a member id that is blank"),
        ((beat(JOINING, given=1, member=""), JOINED), Duty.MEMBER_ID, "a member id that is blank"),
        ((JOINED, beat(1, given=1, member="n")), Duty.MEMBER_ID, "'n', and not 'm'"),
        (
            (JOINED, *astray(0, 400, 800, 1200)),
            Duty.COORDINATOR,
            "4 heartbeats in a row go to a broker that is no coordinator",
        ),
        (
            (JOINED, beat(1, UNKNOWN), beat(1, UNKNOWN, at=50)),
            Duty.REJOINS,
            "1 after UNKNOWN_MEMBER_ID",
        ),
        ((JOINED, beat(1, FENCED), beat(2, FENCED)), Duty.REJOINS, "2 after FENCED_MEMBER_EPOCH"),
    ],
)
def test_another_epoch_or_id_is_named(
    heartbeats: tuple[Heartbeat, ...], duty: Duty, text: str
) -> None:
    violations = beats(*heartbeats)[1]
    assert violations[0][0] is duty
    assert text in violations[0][1]


@pytest.mark.parametrize(
    ("last", "again"),
    [
        (beat(1, given=2), beat(1, given=2, at=100)),
        (beat(1, UNKNOWN), beat(1, UNKNOWN, at=100)),
        (JOINED, JOINED_AGAIN),
    ],
)
def test_the_last_answer_may_be_lost_with_its_connection_but_only_once(
    last: Heartbeat, again: Heartbeat
) -> None:
    membership, _ = beats(*(() if last is JOINED else (JOINED,)), last)
    membership.cut()
    assert list(membership.take(again)) == []
    assert list(membership.take(attrs.evolve(again, at_ms=200))) != []


@pytest.mark.parametrize(
    ("last", "again"),
    [
        (beat(1, FENCED), beat(1, FENCED, at=49)),
        (JOINED, beat(JOINING, given=2, at=49)),
        (beat(1, given=2), beat(1, given=2, at=49)),
    ],
)
def test_a_heartbeat_that_was_under_way_carries_what_the_one_before_it_did(
    last: Heartbeat, again: Heartbeat
) -> None:
    before = () if last is JOINED else (JOINED,)
    assert beats(*before, last, again)[1] == []
    assert beats(*before, last, attrs.evolve(again, at_ms=50))[1] != []
    assert beats(*before, last, attrs.evolve(again, epoch=7))[1] != []


@pytest.mark.parametrize(("late_ms", "expected"), [(500, []), (400, [Duty.MEMBER_EPOCH])])
def test_a_second_heartbeat_may_be_under_way_until_the_first_is_answered(
    late_ms: int, expected: list[Duty]
) -> None:
    answered_late = Heartbeat(10, "m", 1, given=2, late_ms=late_ms)
    _, violations = beats(JOINED, answered_late, beat(1, given=2, at=520), beat(2, given=2, at=620))
    assert [duty for duty, _ in violations] == expected
