import pytest

from proofs.theorems.points import Points


def test_points_are_a_mapping() -> None:
    points = Points(((1, "a"), (2, "b")))
    assert points.get(1) == points[1] == "a"
    assert points.get(3) is None
    assert 2 in points
    assert 3 not in points
    assert list(points) == [1, 2]
    assert len(points) == 2
    with pytest.raises(KeyError):
        points[3]


def test_changes_of_a_copy_do_not_touch_the_original() -> None:
    points = Points(((1, "a"),))
    copy = points.mutate()
    copy[1] = "b"
    copy[2] = "c"
    assert copy.pop(1) == "b"
    copy[3] = "d"
    del copy[3]
    assert list(copy.finish()) == [2]
    assert points[1] == "a"
