import itertools

from hypothesis import given
from hypothesis import strategies as st

from replay.observed.spans import END, Spans

RANGES = st.tuples(st.integers(0, 30), st.integers(0, 8), st.integers(0, 3))


@given(st.lists(RANGES))
def test_spans_hold_what_a_list_would(changes: list[tuple[int, int, int]]) -> None:
    spans, expected = Spans(0), [0] * 60
    for first, more, value in changes:
        spans.put([(first, first + more, value)])
        expected[first : first + more + 1] = [value] * (more + 1)
        assert [spans.value_at(offset) for offset in range(60)] == expected
        pieces = list(spans.pieces())
        assert pieces[0][0] == 0
        assert pieces[-1][1] == END - 1
        assert all(a[1] + 1 == b[0] and a[2] != b[2] for a, b in itertools.pairwise(pieces))


@given(st.lists(RANGES), st.integers(0, 40), st.integers(0, 10))
def test_pieces_are_those_of_the_offsets(
    changes: list[tuple[int, int, int]], first: int, more: int
) -> None:
    spans = Spans(0)
    for low, length, value in changes:
        spans.change(low, low + length, lambda held, value=value: held + value)  # type: ignore[misc] # an int
    pieces = list(spans.pieces(first, first + more))
    assert [offset for low, high, _ in pieces for offset in range(low, high + 1)] == list(
        range(first, first + more + 1)
    )
    assert all(
        spans.value_at(offset) == value for low, high, value in pieces for offset in (low, high)
    )


def test_nothing_is_put() -> None:
    spans = Spans(1)
    spans.put([])
    assert len(spans) == 1
