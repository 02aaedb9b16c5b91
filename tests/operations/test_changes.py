from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState
from operations.changes import Change, change_texts, changes, window_texts

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED


def state(start: int, end: int, *records: RecordRange) -> SharePartitionSnapshot:
    return SharePartitionSnapshot(start, end, 0, records)


def test_what_enters_changes_and_leaves_is_listed() -> None:
    before = state(0, 10, RecordRange(0, 4, ACQUIRED, 1, "a"), RecordRange(5, 9, AVAILABLE, 1))
    after = state(
        3,
        12,
        RecordRange(3, 4, ACQUIRED, 1, "a"),
        RecordRange(5, 6, AVAILABLE, 1),
        RecordRange(7, 11, ACQUIRED, 2, "b"),
    )
    listed = changes(before, after)
    assert [(c.first, c.last) for c in listed] == [(0, 2), (7, 9), (10, 11)]
    assert change_texts(listed, after) == [
        "ACQUIRED(1) a → below the start offset: 0–2",
        "AVAILABLE(1) → ACQUIRED(2) b: 7–9",
        "new → ACQUIRED(2) b: 10–11",
    ]
    assert window_texts(after) == ["ACQUIRED(1) a: 3–4", "AVAILABLE(1): 5–6", "ACQUIRED(2) b: 7–11"]


def test_changes_of_one_kind_share_a_line() -> None:
    old = RecordRange(0, 9, ACQUIRED, 1, "a")
    parts = [
        RecordRange(o, o, AVAILABLE, 1) if o % 2 else RecordRange(o, o, ACQUIRED, 1, "a")
        for o in range(10)
    ]
    after = state(0, 10, *parts)
    assert change_texts(changes(state(0, 10, old), after), after) == [
        "ACQUIRED(1) a → AVAILABLE(1): 1, 3, 5, 7, 9"
    ]


def test_a_record_that_the_window_loses_inside_is_no_record() -> None:
    after = state(0, 4)
    listed = changes(state(0, 4, RecordRange(2, 2, AVAILABLE, 0)), after)
    assert change_texts(listed, after) == ["AVAILABLE(0) → no record: 2"]


def test_nothing_is_told_where_records_are_not_recorded() -> None:
    unknown = SharePartitionSnapshot(0, 4, 0, None)
    known = state(0, 4, RecordRange(0, 3, AVAILABLE, 1))
    assert changes(unknown, known) == changes(known, unknown) == []


def windows() -> st.SearchStrategy[SharePartitionSnapshot]:
    """Draw windows over a few offsets, of records in two states."""
    kinds = st.sampled_from([None, (AVAILABLE, 1, None), (ACQUIRED, 1, "a"), (ACQUIRED, 2, "a")])
    return st.builds(_window, st.integers(0, 3), st.lists(kinds, max_size=8))


def _window(
    start: int, kinds: list[tuple[RecordState, int, str | None] | None]
) -> SharePartitionSnapshot:
    records = [RecordRange(start + i, start + i, *kind) for i, kind in enumerate(kinds) if kind]
    return state(start, start + len(kinds), *records)


def by_offset(window: SharePartitionSnapshot) -> dict[int, object]:
    return {
        offset: (r.state, r.delivery_count, r.owner)
        for r in window.records or ()
        for offset in range(r.first, r.last + 1)
    }


@given(windows(), windows())
def test_changes_lead_from_one_state_to_the_other(
    before: SharePartitionSnapshot, after: SharePartitionSnapshot
) -> None:
    known = by_offset(before)
    listed = changes(before, after)
    assert all(a.last < b.first for a, b in pairwise(listed))
    for change in listed:
        assert isinstance(change, Change)
        for offset in range(change.first, change.last + 1):
            assert change.before != change.after
            if change.after is None:
                del known[offset]
            else:
                kind = change.after
                known[offset] = (kind.state, kind.delivery_count, kind.owner)
    assert known == by_offset(after)
