"""Offsets by state: what is drawn, which offsets, and where the difference is."""

import attrs

from conformance.campaign import Fault
from conformance.deviation import StepText, target_finding
from conformance.picture import CODES, MAX_COLUMNS, picture
from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState
from report.document import Grid, text_of

ACQUIRED, ARCHIVED = RecordState.ACQUIRED, RecordState.ARCHIVED


def state(start: int, end: int, *records: RecordRange) -> SharePartitionSnapshot:
    return SharePartitionSnapshot(start, end, 0, records)


def drawn(*states: SharePartitionSnapshot | None, expected: SharePartitionSnapshot | None) -> Grid:
    steps = tuple(StepText("a", "b", "c", one) for one in states)
    deviation = target_finding("RECORDS", "acquire", "s", "r", "e", before="b", state=expected)
    found = picture(Fault(deviation, (), steps, ()))
    assert found is not None
    return found


def texts(grid: Grid, row: int) -> list[str]:
    return [text_of(words) for words in grid.rows[row]]


HELD = RecordRange(2, 4, ACQUIRED, 1, "m1")


def test_rows_are_before_observed_and_expected() -> None:
    gone = RecordRange(2, 2, ARCHIVED, 1)
    rest = attrs.evolve(HELD, first=3)
    shown = drawn(state(2, 5, HELD), state(3, 5, rest), expected=state(2, 5, gone, rest))
    assert shown.columns == ("offset", "1", "2", "3", "4", "5")
    held = ["ACQ ×1 m1"] * 2
    assert texts(shown, 0) == ["before: start 2, end 5, complete 0", "–", held[0], *held, ""]
    assert texts(shown, 1)[1:] == ["–", "≠ –", *held, ""]
    assert texts(shown, 2)[1:] == ["–", "ARC ×1", *held, ""]


def test_a_record_never_delivered_equals_none() -> None:
    new = RecordRange(0, 1, RecordState.AVAILABLE, 0)
    shown = drawn(state(0, 2), state(0, 2, new), expected=state(0, 2))
    assert texts(shown, 1)[1:] == ["·", "·", ""]
    other = attrs.evolve(new, delivery_count=1)
    shown = drawn(state(0, 2), state(0, 2, other), expected=state(0, 2))
    assert texts(shown, 1)[1:] == ["≠ AVL ×1", "≠ AVL ×1", ""]


def test_a_wide_window_is_shown_around_the_first_difference() -> None:
    wide = RecordRange(0, 4999, ACQUIRED, 1, "m1")
    low, high = attrs.evolve(wide, last=2999), attrs.evolve(wide, first=3001)
    shown = drawn(state(0, 5000, wide), state(0, 5000, low, high), expected=state(0, 5000, wide))
    assert len(shown.columns) == MAX_COLUMNS + 1
    marked = zip(shown.columns, texts(shown, 1), strict=True)
    assert [offset for offset, text in marked if text.startswith("≠")] == ["3000"]
    assert shown.caption.endswith("Offsets further away are left out.")


def test_a_state_that_is_not_known_has_no_row_and_without_any_there_is_no_picture() -> None:
    shown = drawn(state(0, 1, RecordRange(0, 0, ACQUIRED, 1, "m1")), None, expected=None)
    assert [row[0] for row in shown.rows] == ["before: start 0, end 1, complete 0"]
    deviation = target_finding("CRASHED", "acquire", "s", "r", "e", before="b")
    assert picture(Fault(deviation, (), (StepText("a", "b", "c"),), ())) is None
    assert picture(Fault(deviation, (), (), ())) is None


def test_unrecorded_records_do_not_differ() -> None:
    shown = drawn(None, SharePartitionSnapshot(0, 2, 0), expected=state(0, 2, HELD))
    assert "≠" not in "".join(texts(shown, 0))


def test_each_state_has_its_letters() -> None:
    assert CODES.keys() == set(RecordState)
    assert len(set(CODES.values())) == len(RecordState)
