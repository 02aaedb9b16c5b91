from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl import layout as at
from impl.state import State
from model.profile import KAFKA
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
