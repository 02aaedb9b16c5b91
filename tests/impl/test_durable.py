from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from impl.layout import DURABLE_START, DURABLE_TAIL
from model.profile import KAFKA
from tests.impl.helpers import interpreted

durable = interpreted("durable")
BATCHES = st.lists(
    st.tuples(
        st.integers(0, 30), st.integers(0, 8), st.sampled_from([0, 2, 3, 4, 5]), st.integers(0, 3)
    ),
    max_size=10,
)


@given(BATCHES, st.integers(0, 20))
def test_the_larger_delivery_count_then_state_wins_for_each_offset(
    batches: list[tuple[int, int, int, int]], start: int
) -> None:
    state = interpreted("state").new_state(KAFKA)
    expected: dict[int, tuple[int, int]] = {}
    for first, length, kind, count in batches:
        row = np.array([[first, first + length, kind, count]], np.int64)
        durable.note_batch(state.header, state.journal, row, 0)
        for offset in range(first, first + length + 1):
            expected[offset] = max(expected.get(offset, (-1, -1)), (count, kind))
    state.header[DURABLE_START] = start
    durable.merge_journal(state)
    rows = state.durable[: state.header[DURABLE_TAIL]].tolist()
    assert {o: (c, k) for first, last, k, c in rows for o in range(first, last + 1)} == {
        offset: value for offset, value in expected.items() if offset >= start
    }
    for one, two in pairwise(rows):
        assert one[1] < two[0]
        assert one[1] + 1 < two[0] or one[2:] != two[2:]


def test_the_start_never_goes_back_and_an_equal_one_keeps_the_larger_count() -> None:
    header = interpreted("state").new_state(KAFKA).header
    seen = []
    for start, complete in ((5, 3), (5, 2), (5, 4), (4, 9), (7, 0)):
        durable.merge_write(header, start, complete)
        seen.append(header[DURABLE_START : DURABLE_START + 2].tolist())
    assert seen == [[5, 3], [5, 3], [5, 4], [5, 4], [7, 0]]


def test_a_whole_write_is_merged_at_once() -> None:
    state = interpreted("state").new_state(KAFKA)
    durable.merge_answered(state, 1, 2, np.array([[0, 3, 0, 1]], np.int64))
    durable.merge_answered(state, 2, 0, np.array([[2, 2, 4, 1], [3, 3, 2, 0]], np.int64))
    assert state.header[DURABLE_START : DURABLE_START + 2].tolist() == [2, 0]
    assert state.durable[: state.header[DURABLE_TAIL]].tolist() == [[2, 2, 4, 1], [3, 3, 0, 1]]
