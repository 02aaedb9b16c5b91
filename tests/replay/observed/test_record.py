from typing import Any

import attrs
import pytest

from model.states import AcknowledgeType, RecordState
from replay.observed.record import (
    ANYTHING,
    UNKNOWN_LOCK,
    Act,
    Allowance,
    Configurations,
    Effect,
    Lock,
    PossibleState,
    Rules,
    completed,
    is_waiting,
    passed,
    reachable,
    written,
)
from spec.record import UNDELIVERED, Record
from tests.replay.samples import present

ACQUIRED, AVAILABLE = RecordState.ACQUIRED, RecordState.AVAILABLE
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
LOCK = Lock(earliest=100, latest=200, alive=1000)
FETCH = Act(1, "a", 0, Effect.CERTAIN, count=1)
FRESH: Configurations = frozenset({PossibleState(UNDELIVERED)})
HELD: Configurations = frozenset({PossibleState(Record(ACQUIRED, 1, "a", 1))})


def rules(now: float, **more: Any) -> Rules:  # noqa: ANN401 - any field of Rules
    base = Rules(now, {1: LOCK}, limits=(5,), failed=(ARCHIVED,))
    return attrs.evolve(base, **more)


def states(configurations: Configurations | None) -> set[tuple[str, int]]:
    assert configurations is not None
    return {
        (each.record.state.name, each.record.delivery_count)
        for each in configurations
        if each.record
    }


def test_an_acquisition_takes_effect_while_it_is_under_way() -> None:
    reached = present(reachable(FRESH, (FETCH,), rules(10)))
    assert states(reached) == {("AVAILABLE", 0), ("ACQUIRED", 1)}
    assert completed(reached, FETCH) == HELD


def test_what_is_held_is_not_acquired_by_another() -> None:
    other = Act(2, "b", 20, Effect.CERTAIN, count=2)
    reached = present(reachable(HELD, (other,), rules(50)))
    assert not completed(reached, other)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (99, {("ACQUIRED", 1)}),
        (100, {("ACQUIRED", 1), ("AVAILABLE", 1)}),
        (199, {("ACQUIRED", 1), ("AVAILABLE", 1)}),
        (200, {("AVAILABLE", 1)}),
    ],
)
def test_a_lock_ends_between_its_earliest_and_its_latest_time(
    now: float, expected: set[tuple[str, int]]
) -> None:
    assert states(reachable(HELD, (), rules(now))) == expected


def test_a_session_that_may_be_closed_may_have_released() -> None:
    locks = {1: attrs.evolve(LOCK, alive=10)}
    assert ("AVAILABLE", 1) in states(reachable(HELD, (), rules(20, locks=locks)))
    assert states(reachable(HELD, (), rules(9, locks=locks))) == {("ACQUIRED", 1)}


def test_requests_of_one_member_keep_their_order() -> None:
    accept = Act(2, "a", 5, Effect.CERTAIN, kind=AcknowledgeType.ACCEPT, after=frozenset({1}))
    reached = present(reachable(FRESH, (FETCH, accept), rules(10)))
    assert states(completed(completed(reached, FETCH), accept)) == {("ACKNOWLEDGED", 1)}


def test_who_does_not_hold_a_record_does_not_acknowledge_it() -> None:
    accept = Act(2, "b", 5, Effect.CERTAIN, kind=AcknowledgeType.ACCEPT)
    reached = present(reachable(HELD, (accept,), rules(10)))
    assert not completed(reached, accept)


def test_a_write_that_failed_is_undone() -> None:
    accept = Act(2, "a", 5, Effect.UNDONE, kind=AcknowledgeType.ACCEPT)
    reached = present(reachable(HELD, (accept,), rules(10)))
    assert ("ACKNOWLEDGED", 1) in states(reached)
    assert states(completed(reached, accept)) == {("ACQUIRED", 1)}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (99, {("ACQUIRED", 1)}),
        (150, {("ACQUIRED", 1), ("AVAILABLE", 1)}),
        (250, {("AVAILABLE", 1)}),
    ],
)
def test_a_write_that_failed_gives_back_what_no_timer_has_ended(
    now: float, expected: set[tuple[str, int]]
) -> None:
    accept = Act(2, "a", 5, Effect.UNDONE, kind=AcknowledgeType.ACCEPT)
    reached = present(reachable(HELD, (accept,), rules(now)))
    done = frozenset(each for each in reached if 2 in each.done)
    assert states(completed(done, accept)) == expected


def test_a_release_of_which_the_write_failed_gives_back_what_was_held() -> None:
    locks = {1: attrs.evolve(LOCK, alive=10)}
    reached = present(reachable(HELD, (), rules(50, locks=locks)))
    released = written(reached, AVAILABLE, 1)
    assert states(reachable(released, (), rules(60, locks=locks))) == {
        ("ACQUIRED", 1),
        ("AVAILABLE", 1),
    }


def test_a_written_state_is_one_that_the_record_was_in() -> None:
    reached = present(reachable(HELD, (), rules(150)))
    assert states(written(reached, AVAILABLE, 1)) == {("AVAILABLE", 1)}
    assert not written(reached, ACKNOWLEDGED, 1)
    assert not written(reached, AVAILABLE, 2)
    later = frozenset({PossibleState(Record(ACQUIRED, 2, "b", 3))})
    assert written(later, AVAILABLE, 1) == later
    assert states(written(ANYTHING, ACKNOWLEDGED, 3)) == {("ACKNOWLEDGED", 3)}
    assert written(ANYTHING, ACKNOWLEDGED, 3, saved=False) == ANYTHING


def test_the_start_offset_passes_what_is_finished() -> None:
    assert not passed(HELD, deleted=False, compacted=True)
    assert passed(HELD, deleted=True, compacted=False)
    assert passed(FRESH, deleted=False, compacted=False)
    assert not passed(FRESH, deleted=False, compacted=False, absent=False)
    free = frozenset({PossibleState(Record(AVAILABLE, 1))})
    assert not passed(free, deleted=False, compacted=False)
    assert passed(free, deleted=False, compacted=True)


def test_of_anything_everything_is_possible() -> None:
    accept = Act(2, "b", 5, Effect.CERTAIN, kind=AcknowledgeType.ACCEPT)
    reached = present(reachable(ANYTHING, (accept,), rules(10)))
    assert states(completed(reached, accept)) == {("ACKNOWLEDGED", n) for n in range(1, 6)}
    held = completed(reachable(ANYTHING, (FETCH,), rules(10)) or ANYTHING, FETCH)
    assert held == HELD


def test_only_so_many_requests_were_lost() -> None:
    free = frozenset({PossibleState(Record(AVAILABLE, 1))})
    more = rules(10, allowed=frozenset({Allowance.LOST_REQUEST}), lost=2)
    assert states(reachable(free, (), more)) == {("AVAILABLE", n) for n in (1, 2, 3)}


def test_too_many_configurations_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.observed.record.MOST_CONFIGURATIONS", 1)
    assert reachable(FRESH, (FETCH,), rules(10)) is None


def test_a_record_waits_that_is_certainly_available() -> None:
    assert is_waiting(frozenset({PossibleState(Record(AVAILABLE, 1))}))
    assert not is_waiting(FRESH)
    assert not is_waiting(HELD)
    assert not is_waiting(ANYTHING)
    assert UNKNOWN_LOCK == 0
