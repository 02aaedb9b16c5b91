from hypothesis import given
from hypothesis import strategies as st

from spec.log import Log
from spec.record import Record, is_finished
from spec.window import (
    first_unfinished,
)
from tests.spec.worlds import window_of
from tests.strategies import HOLES, RECORDS

START, END = 10, 30
CHANGES = st.dictionaries(st.integers(START, END - 1), RECORDS)
LOGS = HOLES.map(lambda holes: Log(0, 100, holes))


@given(CHANGES, LOGS)
def test_the_start_may_pass_finished_records_and_what_the_log_lacks(
    records: dict[int, Record], log: Log
) -> None:
    window = window_of(START, END, records)
    lacking = {o for first, last in log.holes for o in range(first, last + 1)}
    blocking = (
        o
        for o in range(START, END)
        if not (is_finished(records[o]) if o in records else o in lacking)
    )
    assert first_unfinished(window, log) == next(blocking, END)
