import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.impl.helpers import interpreted

rows = interpreted("rows")


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=40))
def test_rows_are_sorted_by_their_first_column(pairs: list[tuple[int, int]]) -> None:
    array = np.array([(99, 9), *pairs, (-1, 9)], np.int64)
    rows.sort_rows(array, 1, len(pairs) + 1)
    inside = [tuple(row) for row in array[1:-1].tolist()]
    assert sorted(inside) == sorted(pairs)
    assert [first for first, _ in inside] == sorted(first for first, _ in pairs)
    assert array[0].tolist() == [99, 9]
    assert array[-1].tolist() == [-1, 9]


@given(st.integers(9, 18), st.integers(0, 9), st.integers(-9, 9))
def test_rows_move_either_way_over_themselves_and_no_others_move(
    low: int, count: int, by: int
) -> None:
    array = np.arange(80).reshape(40, 2)
    expected = array.copy()
    expected[low + by : low + count + by] = array[low : low + count]
    rows.move_rows(array, low, low + count, by)
    assert array.tolist() == expected.tolist()


def test_a_row_is_copied_over_the_first_columns_of_another() -> None:
    target, source = np.zeros((2, 3), np.int64), np.array([(1, 2), (3, 4)])
    rows.copy_row(target, 0, source, 1)
    assert target.tolist() == [[3, 4, 0], [0, 0, 0]]
