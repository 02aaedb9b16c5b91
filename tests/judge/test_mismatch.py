import pytest

from judge.mismatch import first_difference


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([], [], None),
        ([(0, 9, "a")], [(0, 4, "a"), (5, 9, "a")], None),
        ([(0, 9, "a")], [(0, 4, "a"), (6, 9, "a")], (5, "a", None)),
        ([(0, 9, "a")], [(0, 4, "a"), (5, 9, "b")], (5, "a", "b")),
        ([], [(7, 9, "b")], (7, None, "b")),
        ([(0, 3, "a"), (2, 5, "a")], [(0, 5, "a")], None),
    ],
)
def test_the_first_difference_of_two_lists_of_segments(
    one: list[tuple[int, int, str]], other: list[tuple[int, int, str]], expected: object
) -> None:
    assert first_difference(one, other) == expected
