from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.layout import (
    ACQUISITION,
    COUNT,
    FIRST,
    HEAD,
    LAST,
    LAST_PROGRESS,
    PROGRESS_START,
    STATE,
    TAIL,
    WRITE,
)
from impl.state import State
from model.profile import DRAFT_RESOLVED, KAFKA
from tests.impl.helpers import interpreted

runs_module = interpreted("runs")
OFFSETS = st.integers(0, 30)


def contents(state: State) -> list[tuple[int, int, int]]:
    """Return first, last and state of each run."""
    h = state.header
    return [(r[FIRST], r[LAST], r[STATE]) for r in state.runs[h[HEAD] : h[TAIL]].tolist()]


@given(
    st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, None]), min_size=31, max_size=31),
    st.lists(OFFSETS, max_size=12),
    OFFSETS,
    st.sampled_from([0, 20]),
)
def test_runs_are_cut_dropped_and_joined_without_loss(
    states: list[int | None], cuts: list[int], start: int, begin: int
) -> None:
    state = interpreted("state").new_state(KAFKA)
    h, runs = state.header, state.runs
    h[HEAD] = h[TAIL] = begin
    for offset, kind in enumerate(states):
        if kind is not None:
            row = runs_module.put(h, runs, h[TAIL], offset, offset)
            runs_module.set_state(h, runs, row, kind)
    runs_module.join(h, runs, 0, 30)
    joined = contents(state)
    for offset in cuts:
        row = runs_module.cut(h, runs, offset)
        assert row == h[TAIL] or runs[row, FIRST] >= offset
        assert row == h[HEAD] or runs[row - 1, LAST] < offset
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


def test_runs_that_differ_in_any_column_stay_apart() -> None:
    state = interpreted("state").new_state(KAFKA)
    h, runs = state.header, state.runs
    for offset in range(3):
        row = runs_module.put(h, runs, h[TAIL], offset, offset)
        runs[row, COUNT] = offset // 2
    runs_module.join(h, runs, 1, 1)
    assert contents(state) == [(0, 1, 0), (2, 2, 0)]


@pytest.mark.parametrize("column", [ACQUISITION, PROGRESS_START, LAST_PROGRESS])
def test_deliveries_and_progress_keep_runs_apart(column: int) -> None:
    state = interpreted("state").new_state(DRAFT_RESOLVED)
    h, runs = state.header, state.runs
    for offset in range(3):
        row = runs_module.put(h, runs, h[TAIL], offset, offset)
        runs[row, column] = offset // 2
    runs_module.join(h, runs, 1, 1)
    assert contents(state) == [(0, 1, 0), (2, 2, 0)]


def test_runs_have_columns_for_progress_only_where_there_is_any() -> None:
    for profile in (KAFKA, DRAFT_RESOLVED):
        columns = interpreted("state").new_state(profile).runs.shape[1]
        assert (columns > LAST_PROGRESS) == profile.in_progress


def test_what_is_held_and_what_is_finished() -> None:
    state = interpreted("state").new_state(KAFKA)
    h, runs = state.header, state.runs
    for kind in range(6):
        runs_module.set_state(h, runs, runs_module.put(h, runs, h[TAIL], kind, kind), kind)
    assert [k for k in range(6) if runs_module.is_held(runs, k)] == [1, 5]
    assert [k for k in range(6) if runs_module.is_finished(runs, k)] == [2, 4]
    assert [k for k in range(6) if runs_module.is_free(runs, k)] == [0]
    runs[:6, WRITE] = 0
    for tell in (runs_module.is_held, runs_module.is_finished, runs_module.is_free):
        assert not any(tell(runs, k) for k in range(6))
