"""Beside the lockstep, in which each side goes on from the other's whole state."""

import attrs
import pytest

from impl.encode import Members
from impl.kernel import replay_partition
from impl.partition import FastSharePartition
from impl.whole_state import awaited, recorded_numbers, state_of, whole_state
from model.profile import DRAFT_RESOLVED, KAFKA
from model.whole_state import ReplayState
from tests.impl.helpers import COMPILES, table_of
from tests.impl.walk import Walk
from tests.whole_states import FULL, IMPOSSIBLE, altered

SEEN = ".state.writes[0].seen"  # As there are recorded numbers of it.
NOT_OF_ARRAYS = {".seq", ".time_ms", SEEN, *(f".state{path}" for path in IMPOSSIBLE)}
ALTERED = [(path, other) for path, other in altered(FULL) if path not in NOT_OF_ARRAYS]


def again(told: ReplayState) -> ReplayState:
    """Return what the arrays have of a replay, made of it; the position is not theirs."""
    members = Members()
    state = state_of(told.state, members, DRAFT_RESOLVED, told.numbers, told.awaited)
    place = FULL.seq, FULL.time_ms
    return ReplayState(whole_state(state, members), *place, recorded_numbers(state), awaited(state))


def test_there_and_back_is_the_same() -> None:
    assert again(FULL) == FULL


@pytest.mark.parametrize(("path", "other"), ALTERED, ids=[path for path, _ in ALTERED])
def test_no_field_is_lost_on_the_way(path: str, other: ReplayState) -> None:
    try:
        assert again(other) != FULL, path
    except KeyError:
        assert path.endswith((".write", ".id", ".writes"))


def test_a_share_partition_without_a_leader() -> None:
    new = FastSharePartition(KAFKA)
    assert FastSharePartition.resumed(KAFKA, new.whole()).whole() == new.whole()


@COMPILES
@pytest.mark.parametrize("every", [1, 7, 500])
def test_a_replay_goes_on_from_any_state_that_it_hands_out(every: int) -> None:
    walk = Walk(FastSharePartition(KAFKA), 3, KAFKA)
    table = table_of(walk.run(60))
    rows = table.num_rows
    whole = replay_partition(table, KAFKA, None, every)
    end_row, end = whole.states[-1]
    assert (end_row, end.seq) == (rows, rows)
    # What a recording shows was seen; what a share-partition of its own does, nobody saw.
    writes = tuple(attrs.evolve(write, seen=False) for write in end.state.writes)
    assert attrs.evolve(end.state, writes=writes, doubtful=()) == walk.partition.whole()
    assert [row for row, _ in whole.states[:-1]] == list(range(every, rows, every))
    for row, state in whole.states:
        rest = replay_partition(table.slice(row), KAFKA, state, rows)
        assert rest.divergence is None
        assert rest.lag.tolist() == whole.lag[row:].tolist()
        assert rest.states[-1] == (rows - row, end)


@COMPILES
def test_a_replay_that_goes_on_compares_the_clock_and_the_seq() -> None:
    table = table_of(Walk(FastSharePartition(KAFKA), 3, KAFKA).run(40))
    states = dict(replay_partition(table, KAFKA, None, 10).states)
    late = attrs.evolve(states[10], time_ms=states[10].time_ms + 1)
    assert "time_ms" in str(replay_partition(table.slice(10), KAFKA, late).unreadable)
    assert "seq" in str(replay_partition(table.slice(10), KAFKA, states[20]).unreadable)
