from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl import layout as at
from impl.state import State
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from tests.impl.helpers import interpreted

runs_module = interpreted("runs")
OFFSETS = st.integers(0, 30)
BEGINS = pytest.mark.parametrize("begin", [0, 1, 20])


def tracking(states: Sequence[int | None], begin: int = 0, width: int = 1) -> State:
    """Return a state with runs of these states, ``width`` wide each, in the rows from ``begin``."""
    state: State = interpreted("state").new_state(KAFKA)
    h, runs = state.header, state.runs
    h[at.HEAD] = h[at.TAIL] = begin
    for i, kind in enumerate(states):
        if kind is not None:
            row = runs_module.put(h, runs, h[at.TAIL], i * width, (i + 1) * width - 1)
            runs_module.set_state(h, runs, row, kind)
    return state


def contents(state: State) -> list[tuple[int, int, int]]:
    """Return first, last and state of each run."""
    h = state.header
    return [
        (r[at.FIRST], r[at.LAST], r[at.STATE]) for r in state.runs[h[at.HEAD] : h[at.TAIL]].tolist()
    ]


@given(
    st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, None]), min_size=31, max_size=31),
    st.lists(OFFSETS, max_size=12),
    OFFSETS,
    st.sampled_from([0, 20]),
)
def test_runs_are_cut_dropped_and_joined_without_loss(
    states: list[int | None], cuts: list[int], start: int, begin: int
) -> None:
    state = tracking(states, begin)
    h, runs = state.header, state.runs
    runs_module.join(h, runs, 0, 30)
    joined = contents(state)
    for offset in cuts:
        row = runs_module.cut(h, runs, offset)
        assert row == h[at.TAIL] or runs[row, at.FIRST] >= offset
        assert row == h[at.HEAD] or runs[row - 1, at.LAST] < offset
    runs_module.join(h, runs, 0, 30)
    assert contents(state) == joined
    for one, two in pairwise(joined):
        assert one[1] < two[0]
        assert one[1] + 1 < two[0] or one[2] != two[2]
    runs_module.drop_below(h, runs, start)
    left = {o: k for o, k in enumerate(states) if k is not None and o >= start}
    assert {o: k for first, last, k in contents(state) for o in range(first, last + 1)} == left
    assert runs_module.tracked(h) == len(left)
    assert runs_module.terminal(h) == sum(k in (2, 4) for k in left.values())


@pytest.mark.parametrize("first", range(22))
def test_equal_runs_are_joined_where_they_meet_at_a_range_and_nowhere_else(first: int) -> None:
    for last in range(first, 22):
        state = tracking([0, 0, 0, 1, 1, None, 1, 1, 0, 0, 0, 0], begin=20, width=2)
        state.header[at.TAIL] -= 1  # What stands behind the tail is no run.
        joined: list[tuple[int, int, int]] = []
        for run in contents(state):
            meets = bool(joined) and joined[-1][1:] == (run[0] - 1, run[2])
            if meets and first <= run[0] <= last + 1:
                joined[-1] = (joined[-1][0], *run[1:])
            else:
                joined.append(run)
        runs_module.join(state.header, state.runs, first, last)
        assert contents(state) == joined


@BEGINS
@pytest.mark.parametrize("index", range(8))
def test_a_run_is_put_between_others_by_moving_the_fewer(index: int, begin: int) -> None:
    state = tracking([None, 0, None, 1, None, 2, None, 3, None, 4, None, 5, None, 0], begin)
    h, others = state.header, contents(state)
    row = runs_module.put(h, state.runs, begin + index, 2 * index, 2 * index)
    assert contents(state) == sorted([*others, (2 * index, 2 * index, 0)])
    assert state.runs[row, at.FIRST] == 2 * index
    moved = index if h[at.HEAD] < begin else 7 - index
    assert moved == (min(index, 7 - index) if begin else 7 - index)


@BEGINS
@pytest.mark.parametrize("index", range(7))
def test_the_rows_of_joined_runs_are_closed_by_moving_the_fewer(index: int, begin: int) -> None:
    states = [0, 1] * 4 + [0]
    states[index : index + 3] = 5, 5, 5
    state = tracking(states, begin)
    h, expected = state.header, contents(state)
    runs_module.join(h, state.runs, index, index + 1)
    expected[index : index + 3] = [(index, index + 2, 5)]
    assert contents(state) == expected
    moved = index + 1 if h[at.HEAD] > begin else 6 - index
    assert moved == min(index + 1, 6 - index)


@pytest.mark.parametrize("profile", [KAFKA, DRAFT_RESOLVED])
def test_records_never_delivered_keep_nothing_of_their_row(
    profile: Profile,
) -> None:
    state = interpreted("state").new_state(profile)
    h, runs = state.header, state.runs
    runs[:] = 7
    row = runs_module.put(h, runs, h[at.TAIL], 3, 5)
    assert contents(state) == [(3, 5, 0)]
    assert runs[row, at.COUNT] == 0
    assert runs_module.tracked(h) == 3
    put = runs[row].tolist()
    interpreted("writes").clear(h, runs, row)
    assert runs[row].tolist() == put


@BEGINS
def test_forgotten_records_are_not_counted_and_others_can_be_tracked(begin: int) -> None:
    state = tracking([0, 1, 2, 3, 4, 5, None, 1], begin)
    runs_module.drop_all(state.header)
    assert contents(state) == []
    assert runs_module.tracked(state.header) == 0
    runs_module.put(state.header, state.runs, state.header[at.TAIL], 40, 41)
    assert contents(state) == [(40, 41, 0)]
    assert runs_module.tracked(state.header) == 2


def test_runs_that_differ_in_any_column_stay_apart() -> None:
    state = interpreted("state").new_state(KAFKA)
    h, runs = state.header, state.runs
    for offset in range(3):
        row = runs_module.put(h, runs, h[at.TAIL], offset, offset)
        runs[row, at.COUNT] = offset // 2
    runs_module.join(h, runs, 1, 1)
    assert contents(state) == [(0, 1, 0), (2, 2, 0)]


@pytest.mark.parametrize("column", [at.ACQUISITION, at.PROGRESS_START, at.LAST_PROGRESS])
def test_deliveries_and_progress_keep_runs_apart(column: int) -> None:
    state = interpreted("state").new_state(DRAFT_RESOLVED)
    h, runs = state.header, state.runs
    for offset in range(3):
        row = runs_module.put(h, runs, h[at.TAIL], offset, offset)
        runs[row, column] = offset // 2
    runs_module.join(h, runs, 1, 1)
    assert contents(state) == [(0, 1, 0), (2, 2, 0)]


def test_runs_have_columns_for_progress_only_where_there_is_any() -> None:
    for profile in (KAFKA, DRAFT_RESOLVED):
        columns = interpreted("state").new_state(profile).runs.shape[1]
        assert (columns > at.LAST_PROGRESS) == profile.in_progress


def test_which_runs_are_held_and_finished() -> None:
    state = tracking(range(6))
    runs = state.runs
    assert [k for k in range(6) if runs_module.is_held(runs, k)] == [1, 5]
    assert [k for k in range(6) if runs_module.is_finished(runs, k)] == [2, 4]
    assert [k for k in range(6) if runs_module.is_free(runs, k)] == [0]
    runs[:6, at.WRITE] = 0
    for tell in (runs_module.is_held, runs_module.is_finished, runs_module.is_free):
        assert not any(tell(runs, k) for k in range(6))
