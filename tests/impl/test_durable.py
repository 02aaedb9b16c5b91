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


def test_a_coordinator_that_counts_uses_what_it_holds_and_no_count_that_is_written() -> None:
    state = interpreted("state").new_state(LAG_RESOLVED)
    for start, batches, complete in (
        (0, [(0, 3, 2, 1), (4, 4, 4, 1), (5, 6, 3, 1), (7, 9, 0, 1)], 5),
        (0, [(7, 7, 2, 1)], 6),
        (2, [(0, 1, 2, 2)], 4),
        (9, [], 0),
    ):
        durable.merge_answered(state, start, 8, np.array(batches, np.int64).reshape(-1, 4))
        assert held(state)[:2] == (start, complete)
    unknown = interpreted("state").new_state(LAG_RESOLVED)
    durable.merge_journal(unknown)
    assert held(unknown) == (-1, -1, [])


def test_replaced_state_leaves_no_state_batch() -> None:
    state = interpreted("state").new_state(KAFKA)
    durable.merge_answered(state, 0, 0, np.array([[0, 3, 2, 1]], np.int64))
    durable.note_batch(state.header, state.journal, np.array([[4, 4, 2, 1]], np.int64), 0)
    durable.replace_durable(state.header, 0, 1)
    durable.merge_journal(state)
    assert held(state) == (0, 1, [])


def test_the_start_never_goes_back_and_an_equal_one_keeps_the_larger_count() -> None:
    header = interpreted("state").new_state(KAFKA).header
    seen = []
    written = ((5, 3), (5, 2), (5, 4), (4, 9), (4, -1), (5, -1), (5, 6), (7, 0))
    for start, complete in written:
        durable.merge_write(header, start, complete)
        seen.append(header[at.DURABLE_START : at.DURABLE_START + 2].tolist())
    kept = [[5, 3], [5, 3], [5, 4], [5, 4], [5, 4]]
    assert seen == [*kept, [5, -1], [5, 6], [7, 0]]
