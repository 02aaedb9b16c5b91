from model.errors import ErrorCode
from proofs.hazards.acts import acts_in, requests_of
from proofs.hazards.draft_consumer import Given
from proofs.hazards.run import begin
from proofs.hazards.world import Act, HazardMove, HazardWorld, Setting
from tests.proofs.hazards.stage import (
    FAIL_OVER,
    FIRST,
    LOST,
    PENDING,
    READ_AGAIN,
    accept,
    answered,
    fetch,
    mark,
    play,
    setting,
    wait,
    world,
)


def next_acts(given: Setting, *before: Act, leaps: bool = False) -> list[Act]:
    return list(acts_in(play(given, *before), given.world, leaps=leaps))


def test_who_fetches_and_how_often() -> None:
    two = setting(world(HazardMove.FETCH, members=("A", "B"), records=2, fetches=2))
    assert next_acts(two) == [fetch("A"), fetch("B")]
    assert next_acts(two, fetch("A"), fetch("B")) == []


def test_what_a_member_does_with_its_records() -> None:
    given = setting(
        world(
            HazardMove.MARK, HazardMove.ACCEPT, slow=frozenset({HazardMove.ACCEPT}), answers=(LOST,)
        )
    )
    assert next_acts(given) == []
    assert next_acts(given, fetch()) == [mark(), accept(), accept(answer=PENDING)]
    assert next_acts(given, fetch(), Act(HazardMove.LEAVE, "A")) == []


def test_a_late_mark_is_about_a_former_delivery() -> None:
    given = setting(world(HazardMove.MARK, HazardMove.OLD_MARK, fetches=2))
    new = Given(0, 1, 1, 1)
    assert next_acts(given, fetch(), wait(30_000), fetch()) == [
        mark(new),
        Act(HazardMove.OLD_MARK, "A", FIRST),
    ]


def test_holders_leave_and_come_back() -> None:
    given = setting(world(HazardMove.LEAVE, HazardMove.RETURN, members=("A", "B")))
    assert next_acts(given, fetch()) == [Act(HazardMove.LEAVE, "A")]
    assert next_acts(given, fetch(), Act(HazardMove.LEAVE, "A")) == [Act(HazardMove.RETURN, "A")]


def test_outstanding_writes_are_answered() -> None:
    given = setting(world(HazardMove.ANSWER, answers=(ErrorCode.NONE, LOST)))
    acts = next_acts(given, fetch(), accept(answer=PENDING))
    assert acts == [answered(ErrorCode.NONE), answered(LOST)]


def test_time_passes_up_to_the_end_of_the_world() -> None:
    given = setting(world(HazardMove.WAIT, quantum=10, until=35))
    assert next_acts(given) == [wait(10)]
    assert next_acts(given, leaps=True) == [wait(10), wait(20), wait(30)]
    assert next_acts(given, wait(30)) == []


def test_leaders_change_once() -> None:
    given = setting(world(HazardMove.FAIL_OVER, HazardMove.DOWNGRADE))
    assert next_acts(given) == [FAIL_OVER, Act(HazardMove.DOWNGRADE)]
    assert next_acts(given, FAIL_OVER) == []
    assert next_acts(given, Act(HazardMove.DOWNGRADE)) == []


def test_a_leader_reads_again_once_and_without_an_outstanding_write() -> None:
    given = setting(world(HazardMove.READ_AGAIN))
    assert next_acts(given) == [READ_AGAIN]
    assert next_acts(given, READ_AGAIN) == []
    assert next_acts(given, fetch(), accept(answer=PENDING)) == []


def test_a_consumer_calls_and_polls() -> None:
    given = setting(
        HazardWorld(
            frozenset({HazardMove.FETCH, HazardMove.CALL_MARK, HazardMove.POLL}),
            fetches=2,
            records=2,
        ),
        marks_wait_for_poll=True,
    )
    call = Act(HazardMove.CALL_MARK, "A", FIRST)
    assert next_acts(given) == [fetch(), Act(HazardMove.POLL, "A")]
    assert next_acts(given, fetch()) == [call]
    assert next_acts(given, fetch(), call) == []


def test_nothing_happens_after_a_broken_step() -> None:
    given = setting(world(HazardMove.FETCH), lambda moment: moment.act.move.name)
    state = play(given, fetch())
    assert state.broken == "FETCH"
    assert list(acts_in(state, given.world, leaps=False)) == []


def test_coming_and_going_of_older_leaders_asks_nothing() -> None:
    given = setting(world())
    state = begin(given)
    for move in (HazardMove.RETURN, HazardMove.DOWNGRADE):
        assert requests_of(state, Act(move), given.world, given.readings) == ((), ())
