"""A leader that is found once, and what properties look at of it."""

from typing import Any

import attrs
import pytest

from model.states import RecordState
from proofs.exploration.leaders import LeaderFacts, LeaderIndex, facts_of
from proofs.exploration.moves import Move, moves
from proofs.exploration.world import NEVER_WRITTEN, ExploredLeader, SmallWorld
from spec.log import Log
from spec.partition import SharePartition
from spec.record import Record
from spec.window import Window, replace

WORLD = SmallWorld(offsets=1, log_start=0)
LOG = Log(0, 1)


def test_what_may_change_nothing_is_a_fault_if_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def void(*given: Any) -> list[Move]:  # noqa: ANN401 - as the right one
        return [attrs.evolve(move, is_void=True) for move in moves(*given)]

    monkeypatch.setattr("proofs.exploration.leaders.moves", void)
    leaders = LeaderIndex(WORLD)
    (wrong,) = leaders.edges(leaders.take_over(LOG, NEVER_WRITTEN))
    assert (wrong.move, str(wrong.wrong)[:20]) == (0, "it changes something")


def test_a_leader_is_one_and_moves_once() -> None:
    leaders = LeaderIndex(WORLD)
    leader = leaders.take_over(LOG, NEVER_WRITTEN)
    assert leaders.take_over(LOG, NEVER_WRITTEN) is leader
    edges, compared = leaders.edges(leader), leaders.compared
    assert compared == 4
    assert leaders.edges(leader) is edges
    assert leaders.compared == compared
    assert {edge.target for edge in edges} <= set(leaders.found.values())


FOUR = SmallWorld(offsets=4, window=4)
HELD = Record(RecordState.ACQUIRED, 2, "m1", 5)
PENDING = Record(RecordState.ACKNOWLEDGED, 1, pending=True, former_owner="m1", former_deadline=5)
DONE = Record(RecordState.ACKNOWLEDGED, 1)
AGAIN = Record(RecordState.AVAILABLE, 1)


def _facts(records: dict[int, Record], start: int = 0, end: int = 4) -> LeaderFacts:
    log = Log(0, 4)
    window = replace(Window(start, end), records)
    partition = SharePartition(FOUR.profile, FOUR.config, log=log, window=window)
    return facts_of(FOUR, ExploredLeader(partition, log))


def test_a_leader_in_sets_of_offsets() -> None:
    facts = _facts({0: HELD, 1: PENDING, 2: DONE, 3: AGAIN})
    sets = (facts.held, facts.awaited, facts.takeable, facts.available, facts.unfinished)
    assert [sorted(offsets) for offsets in sets] == [[0], [1], [3], [3], [0, 1, 3]]
    assert facts.present == {0, 1, 2, 3}
    assert (facts.full, facts.quiet, facts.behind) == (True, True, False)


def test_what_a_new_leader_should_find() -> None:
    facts = _facts({0: HELD, 1: PENDING, 2: DONE, 3: AGAIN})
    accepted, again = (RecordState.ACKNOWLEDGED, 1), (RecordState.AVAILABLE, 1)
    assert facts.committed == {0: again, 2: accepted, 3: again}
    assert (facts.acknowledged, facts.delivered) == ({2: accepted}, {0: 2})


def test_what_the_leader_passed_should_be_terminal() -> None:
    facts = _facts({}, start=2, end=2)
    never = (RecordState.AVAILABLE, 0)
    assert facts.passed == {0, 1}
    assert facts.committed == {2: never, 3: never}
