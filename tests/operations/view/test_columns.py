from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from operations.view.columns import (
    LEAST_COLUMNS,
    NOTHING,
    Column,
    Columns,
    Piece,
    applied,
    coarse,
    overlaid,
)


def column(number: int, pieces: list[Piece], start: int = 0) -> Column:
    return Column(number, number, number, number, start, 9, start, start, 1, (number,), pieces)


def by_offset(pieces: list[Piece]) -> dict[int, int]:
    return {o: kind for first, last, kind in pieces for o in range(first, last + 1)}


def pieces() -> st.SearchStrategy[list[Piece]]:
    """Draw ascending changes of a few offsets."""
    kinds = st.lists(st.sampled_from([None, NOTHING, 0, 1, 2]), max_size=12)
    return kinds.map(lambda drawn: [(i, i, k) for i, k in enumerate(drawn) if k is not None])


@given(pieces(), pieces())
def test_the_upper_changes_hide_the_lower(lower: list[Piece], upper: list[Piece]) -> None:
    both = overlaid(lower, upper)
    assert by_offset(both) == by_offset(lower) | by_offset(upper)
    assert all(a[1] < b[0] for a, b in pairwise(both))
    kept = {o: kind for o, kind in by_offset(both).items() if kind != NOTHING}
    assert by_offset(applied(lower, upper)) == kept


@given(st.lists(pieces(), min_size=1, max_size=400))
def test_fewer_columns_lead_to_the_same_states(drawn: list[list[Piece]]) -> None:
    columns = Columns(70, 10**6)
    known: dict[int, int] = {}
    states: list[dict[int, int]] = []
    for number, changed in enumerate(drawn):
        columns.add(column(number, changed))
        known |= by_offset(changed)
        states.append(dict(known))
    shown: dict[int, int] = {}
    ends = [-1]
    for each in columns.all():
        shown |= by_offset(each.pieces)
        assert shown == states[each.last]
        assert each.values == (each.last,)
        assert each.first == ends[-1] + 1
        ends.append(each.last)
    assert ends[-1] == len(drawn) - 1
    assert len(columns.all()) <= 70


def test_many_events_are_as_many_columns_as_allowed() -> None:
    columns = Columns(100, 500)
    for number in range(100_000):
        columns.add(column(number, [(number, number, 0)], number))
    shown = columns.all()
    assert 50 <= len(shown) <= 100
    assert {len(each.pieces) for each in shown} == {1}
    assert (shown[0].lowest, shown[-1].highest) == (0, 99_999)
    assert columns.stride >= 1024


def test_the_lowest_start_offset_of_several_events_is_kept() -> None:
    columns = Columns(LEAST_COLUMNS + 1, 10**6)
    for number in range(1000):
        columns.add(column(number, [], 5 if number == 501 else 50))
    assert min(each.lowest for each in columns.all()) == 5
    assert {each.highest for each in columns.all()} == {50}


def test_many_changes_become_few_that_cover_the_same_offsets() -> None:
    many = [(o, o, o % 3) for o in range(1000)] + [(1000, 1100, 2)]
    few = coarse(many, 100)
    assert len(few) <= 100
    assert (few[0][0], few[-1][1:]) == (0, (1100, 2))
    assert set(by_offset(few)) == set(by_offset(many))
    assert coarse(few, 100) is few
