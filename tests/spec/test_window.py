import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.states import RecordState
from spec.log import Log
from spec.record import Record, is_acquirable, is_finished, is_held, is_terminal
from spec.window import (
    Window,
    drop_below,
    extend,
    first_unfinished,
    passed,
    replace,
    tracked,
)
from tests.spec.worlds import window_of
from tests.strategies import HOLES, OFFSETS, RECORDS

START, END = 10, 30
CHANGES = st.dictionaries(st.integers(START, END - 1), RECORDS)
LOGS = HOLES.map(lambda holes: Log(0, 100, holes))
DONE, AVAILABLE = Record(RecordState.ARCHIVED, 1), Record(RecordState.AVAILABLE, 1)


def assert_counts_follow(window: Window) -> None:
    records = dict(window.records)
    assert window.complete == sum(1 for record in records.values() if is_terminal(record))
    assert window.acquirable == sum(1 for record in records.values() if is_acquirable(record))
    assert set(window.held) == {offset for offset, record in records.items() if is_held(record)}


@given(st.lists(CHANGES, max_size=4))
def test_replacing_records_keeps_the_counts(changes: list[dict[int, Record]]) -> None:
    window, naive = extend(Window(START, START), END), {}
    for change in changes:
        window = replace(window, change)
        naive.update(change)
        assert dict(window.records) == naive
        assert_counts_follow(window)


def test_replacing_nothing_is_the_same_window() -> None:
    window = window_of(START, END, {START: DONE})
    assert replace(window, {}) is window


@given(CHANGES, OFFSETS)
def test_dropping_records_keeps_the_rest_and_the_counts(
    records: dict[int, Record], start: int
) -> None:
    window = drop_below(window_of(START, END, records), start)
    assert (window.start_offset, window.end_offset) == (start, max(start, END))
    assert dict(window.records) == {o: r for o, r in records.items() if o >= start}
    assert_counts_follow(window)


def test_a_window_extends_and_never_shrinks() -> None:
    window = Window(START, END)
    assert extend(window, END + 1).end_offset == END + 1
    assert extend(window, END) is window
    assert extend(window, START) is window


@given(CHANGES, OFFSETS, OFFSETS)
def test_tracked_offsets_ascend_between_two_offsets(
    records: dict[int, Record], first: int, end: int
) -> None:
    window = window_of(START, END, records)
    assert list(tracked(window, first, end)) == sorted(o for o in records if first <= o < end)


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


@pytest.mark.parametrize("hole", [(5, 40), (5, 15)])
def test_the_start_stops_at_a_record_in_flight_that_the_log_lost_meanwhile(
    hole: tuple[int, int],
) -> None:
    window = window_of(START, END, {15: Record(RecordState.ACQUIRED, 1, "c1", 100)})
    assert passed(window, Log(0, 100, (hole,)), START) == 15
    assert first_unfinished(window, Log(0, 100, (hole,))) == 15


@pytest.mark.parametrize(
    ("record", "after"), [(DONE, START + 1), (AVAILABLE, START), (None, START)]
)
def test_an_offset_is_passed_if_it_is_finished_or_missing(
    record: Record | None, after: int
) -> None:
    window = window_of(START, END, {} if record is None else {START: record})
    assert passed(window, Log(0, 100), START) == after
