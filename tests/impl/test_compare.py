import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.impl.helpers import interpreted

compare = interpreted("compare")

VALUES = st.lists(st.sampled_from([None, None, 1, 2]), min_size=12, max_size=12)


def part(values: list[int | None], pieces: list[int]) -> object:
    """Return the offsets that have a value as ranges, cut anew at the pieces."""
    rows: list[list[int]] = []
    for offset, value in enumerate(values):
        if value is None:
            continue
        joins = rows and rows[-1][1] + 1 == offset and rows[-1][2] == value
        if joins and offset not in pieces:
            rows[-1][1] = offset
        else:
            rows.append([offset, offset, value])
    array = np.array([[9, 9, 9], *rows, [9, 9, 9]], np.int64)
    return compare.Part(array, 1, len(rows) + 1)


@given(
    VALUES, VALUES, st.lists(st.integers(0, 11)), st.lists(st.integers(0, 11)), st.integers(0, 5)
)
def test_lists_of_ranges_are_compared_offset_by_offset(
    one: list[int | None],
    other: list[int | None],
    cuts: list[int],
    other_cuts: list[int],
    start: int,
) -> None:
    one[:start] = [None] * start
    differing = [o for o in range(start, 12) if one[o] != other[o]]
    found = compare.first_difference(part(one, cuts), part(other, other_cuts), start)
    assert found == (differing[0] if differing else -1)
