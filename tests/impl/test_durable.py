import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from impl import layout as at
from impl.state import State
from model.outcome import Write
from model.profile import KAFKA, LAG_RESOLVED
from model.ranges import StateBatch
from model.states import RecordState
from spec.coordinator import Durable, durable_state, merge
from tests.impl.helpers import interpreted

durable = interpreted("durable")

Batch = tuple[int, int, int, int]
BATCHES = st.lists(
    st.tuples(
        st.integers(0, 30), st.integers(0, 8), st.sampled_from([0, 2, 3, 4, 5]), st.integers(0, 3)
    ).map(lambda batch: (batch[0], batch[0] + batch[1], *batch[2:])),
    max_size=6,
)
WRITES = st.lists(st.tuples(st.integers(0, 20), st.integers(-1, 5), BATCHES), max_size=4)


def held(state: State) -> tuple[int, int, list[list[int]]]:
    """Return the durable start offset, delivery complete count and state batches."""
    start, complete = state.header[at.DURABLE_START : at.DURABLE_START + 2].tolist()
    return start, complete, state.durable[: state.header[at.DURABLE_TAIL]].tolist()


@given(WRITES)
@example([(0, 0, [(1, 3, 0, 0)])])
@example([(0, 0, [(0, 3, 2, 1)]), (2, 1, [])])
def test_writes_are_merged_as_the_specification_merges_them(
    writes: list[tuple[int, int, list[Batch]]],
) -> None:
    for profile in (KAFKA, LAG_RESOLVED):
        state, expected = interpreted("state").new_state(profile), Durable()
        for start, complete, batches in writes:
            sent = np.array(batches, np.int64).reshape(-1, 4)
            durable.merge_answered(state, start, complete, sent)
            read = tuple(StateBatch(f, last, RecordState(kind), n) for f, last, kind, n in batches)
            expected = merge(expected, Write(0, start, complete, read), profile)
            after = durable_state(expected)
            rows = [[b.first, b.last, int(b.state), b.delivery_count] for b in after.state_batches]
            assert held(state) == (after.start_offset, after.delivery_complete_count, rows)
