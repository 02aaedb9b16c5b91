"""Offsets by state: what is drawn, which offsets, and where the difference is."""

import attrs

from conformance.campaign import Fault
from conformance.deviation import Deviation, StepText
from conformance.picture import CODES, MAX_COLUMNS, Picture, picture
from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState

ACQUIRED, ARCHIVED = RecordState.ACQUIRED, RecordState.ARCHIVED


def state(start: int, end: int, *records: RecordRange) -> SharePartitionSnapshot:
    return SharePartitionSnapshot(start, end, 0, records)


def drawn(
    *states: SharePartitionSnapshot | None, expected: SharePartitionSnapshot | None
) -> Picture:
    steps = tuple(StepText("a", "b", "c", one) for one in states)
    deviation = Deviation("RECORDS", "acquire", "s", "r", "e", "b", expected)
    found = picture(Fault(deviation, (), steps, ()))
    assert found is not None
    return found


HELD = RecordRange(2, 4, ACQUIRED, 1, "m1")


def test_rows_are_before_observed_and_expected() -> None:
    gone = RecordRange(2, 2, ARCHIVED, 1)
    rest = attrs.evolve(HELD, first=3)
    shown = drawn(state(2, 5, HELD), state(3, 5, rest), expected=state(2, 5, gone, rest))
    assert [row.title for row in shown.rows] == ["before", "observed", "expected"]
    assert shown.offsets == range(1, 6)
    assert [cell.place for cell in shown.rows[0].cells] == ["below", *["inside"] * 3, "after"]
    assert [cell.record for cell in shown.rows[0].cells] == [None, HELD, HELD, HELD, None]
    observed = shown.rows[1]
    assert [cell.offset for cell in observed.cells if cell.differs] == [2]
    assert not any(cell.differs for row in (shown.rows[0], shown.rows[2]) for cell in row.cells)


def test_a_record_never_delivered_equals_none() -> None:
    new = RecordRange(0, 1, RecordState.AVAILABLE, 0)
    shown = drawn(state(0, 2), state(0, 2, new), expected=state(0, 2))
    assert not any(cell.differs for cell in shown.rows[1].cells)
    other = attrs.evolve(new, delivery_count=1)
    shown = drawn(state(0, 2), state(0, 2, other), expected=state(0, 2))
    assert [cell.differs for cell in shown.rows[1].cells] == [True, True, False]


def test_a_wide_window_is_shown_around_the_first_difference() -> None:
    wide = RecordRange(0, 4999, ACQUIRED, 1, "m1")
    low, high = attrs.evolve(wide, last=2999), attrs.evolve(wide, first=3001)
    shown = drawn(state(0, 5000, wide), state(0, 5000, low, high), expected=state(0, 5000, wide))
    assert len(shown.offsets) == MAX_COLUMNS
    assert [cell.offset for cell in shown.rows[1].cells if cell.differs] == [3000]
    assert (shown.more_before, shown.more_after) == (True, True)


def test_without_a_state_there_is_no_picture() -> None:
    deviation = Deviation("CRASHED", "acquire", "s", "r", "e", "b")
    assert picture(Fault(deviation, (), (StepText("a", "b", "c"),), ())) is None
    assert picture(Fault(deviation, (), (), ())) is None


def test_an_unknown_state_has_no_row() -> None:
    shown = drawn(state(0, 1, RecordRange(0, 0, ACQUIRED, 1, "m1")), None, expected=None)
    assert [row.title for row in shown.rows] == ["before"]


def test_unrecorded_records_do_not_differ() -> None:
    shown = drawn(None, SharePartitionSnapshot(0, 2, 0), expected=state(0, 2, HELD))
    assert not any(cell.differs for cell in shown.rows[0].cells)


def test_each_state_has_its_letters() -> None:
    assert CODES.keys() == set(RecordState)
    assert len(set(CODES.values())) == len(RecordState)
