import pytest

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from proofs.hazards.draft_consumer import Given
from proofs.hazards.world import BEGAN, Act, HazardMove
from tests.proofs.hazards.stage import (
    FAIL_OVER,
    FIRST,
    LOST,
    PENDING,
    READ_AGAIN,
    SECOND,
    accept,
    answered,
    fetch,
    mark,
    play,
    setting,
    wait,
    world,
)

pytestmark = pytest.mark.slow

ONE = setting(world(records=1, fetches=3, members=("A", "B")))


def test_deliveries_and_signs_of_life_are_remembered() -> None:
    past = play(ONE, fetch(), wait(10), mark(), wait(10), mark()).past
    assert past.deliveries == (1,)
    assert past.sign == (BEGAN + 20,)
    assert past.first_mark == (BEGAN + 10,)
    assert past.given == (("A", FIRST),)
    again = play(ONE, fetch(), wait(30_000), fetch()).past
    assert (again.deliveries, again.first_mark) == ((2,), (None,))
    read = play(ONE, fetch(), READ_AGAIN).past
    assert (read.sign, read.has_read_again, read.failed_over) == ((None,), True, False)
    assert again.given == (("A", Given(0, 1, 1, 1)),)


def test_former_deliveries_are_kept_where_marks_may_be_late() -> None:
    late = setting(world(HazardMove.OLD_MARK, fetches=2))
    past = play(late, fetch(), wait(30_000), fetch()).past
    assert past.given == (("A", FIRST), ("A", Given(0, 1, 1, 1)))


def test_a_mark_that_is_refused_is_no_sign_of_life() -> None:
    past = play(ONE, fetch(), wait(10), mark(Given(0, 1, 7))).past
    assert past.sign == (BEGAN,)


@pytest.mark.parametrize(
    ("acts", "confirmed"),
    [
        ([fetch(), accept()], {0}),
        ([fetch(), accept(answer=LOST)], set()),
        ([fetch(), accept(answer=PENDING)], set()),
        ([fetch(), accept(answer=PENDING), answered(ErrorCode.NONE)], {0}),
        ([fetch(), accept(answer=PENDING), answered(LOST)], set()),
        ([fetch(), accept(member="B")], set()),
        ([fetch(), Act(HazardMove.RELEASE, "A", FIRST)], set()),
        ([fetch(), accept(answer=PENDING), FAIL_OVER], set()),
    ],
)
def test_what_was_accepted_for_good(acts: list[Act], confirmed: set[int]) -> None:
    past = play(ONE, *acts).past
    assert past.confirmed == confirmed
    assert not past.accepting or acts[-1].answer is PENDING


def test_who_is_away_and_what_nobody_marked_since() -> None:
    away = play(ONE, fetch(), mark(), Act(HazardMove.LEAVE, "A")).past
    assert away.away == {"A": BEGAN}
    assert away.unseen == {0}
    back = play(
        ONE, fetch(), mark(), Act(HazardMove.LEAVE, "A"), Act(HazardMove.RETURN, "A"), mark()
    ).past
    assert back.away == {}
    assert not back.unseen


def test_leaders_that_change_are_remembered() -> None:
    assert play(ONE, fetch(), mark(), FAIL_OVER).past.sign == (None,)
    over = play(ONE, Act(HazardMove.DOWNGRADE)).past
    assert (over.failed_over, over.is_over) == (True, True)


def test_since_when_nothing_can_be_fetched() -> None:
    config = SharePartitionConfig(partition_max_record_locks=1)
    narrow = setting(world(records=2, config=config))
    assert play(narrow, wait(5), fetch()).past.blocked == BEGAN + 5
    assert play(narrow, wait(5), fetch(), wait(5)).past.blocked == BEGAN + 5
    assert play(narrow, fetch(), accept()).past.blocked is None
    assert play(narrow, fetch(), wait(30_000)).past.blocked is None


def test_consumers_know_the_records_they_hold() -> None:
    client = setting(world(HazardMove.POLL, records=2, take=2))
    past = play(client, fetch(), accept(SECOND)).past
    assert past.consumers[0].unacknowledged == (FIRST,)
