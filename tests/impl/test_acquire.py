from impl.layout import ACQUIRED_TAIL, COUNT
from model.profile import KAFKA
from tests.impl.helpers import interpreted


def test_the_first_acquired_range_continues_no_other() -> None:
    state = interpreted("state").new_state(KAFKA)
    runs = interpreted("runs")
    row = runs.put(state.header, state.runs, 0, 5, 7)
    state.runs[row, COUNT] = 1
    state.acquired[-1] = 3, 4, 1  # Left by an earlier fetch.
    answer = interpreted("acquire")._answer  # noqa: SLF001 - no operation fills the last row
    answer(state.header, state.acquired, state.runs, row)
    assert state.acquired[: state.header[ACQUIRED_TAIL]].tolist() == [[5, 7, 1]]
