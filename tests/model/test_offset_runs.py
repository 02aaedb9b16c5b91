from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from model.ranges import OffsetRange, offsets, runs

ITEMS = st.dictionaries(st.integers(0, 20), st.integers(0, 2)).map(lambda d: sorted(d.items()))


def test_a_run_ends_where_the_value_or_the_offsets_break() -> None:
    items = [(1, "a"), (2, "a"), (3, "b"), (5, "b"), (6, "b")]
    assert list(runs(items)) == [(1, 2, "a"), (3, 3, "b"), (5, 6, "b")]
    assert list(runs([])) == []


@given(ITEMS)
def test_runs_cover_their_items_and_are_the_longest(items: list[tuple[int, int]]) -> None:
    found = list(runs(items))
    assert [(o, value) for first, last, value in found for o in range(first, last + 1)] == items
    assert not any(one[1] + 1 == other[0] and one[2] == other[2] for one, other in pairwise(found))


def test_offsets_are_those_of_each_range_in_their_order() -> None:
    assert list(offsets((OffsetRange(7, 9), OffsetRange(0, 1)))) == [7, 8, 9, 0, 1]
    assert list(offsets(())) == []
