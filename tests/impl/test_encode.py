import pytest

from impl.encode import Members, answers_of, expiries_of, or_unset, range_rows
from impl.layout import NOBODY, UNSET
from model.errors import ErrorCode, InvalidValueError
from model.outcome import Answer, Choice, Expiry
from tests.impl.scenario import ranges


def test_members_keep_their_numbers() -> None:
    members = Members()
    assert [members.number(name) for name in "abab"] == [0, 1, 0, 1]
    assert [members.name(number) for number in (0, 1, NOBODY)] == ["a", "b", None]


def test_ranges_ascend() -> None:
    assert range_rows(ranges((5, 6), (1, 2))).tolist() == [[1, 2], [5, 6]]
    assert range_rows(()).shape == (0, 2)


def test_a_start_that_no_window_has_is_not_mistaken_for_none() -> None:
    assert [or_unset(o) for o in (None, -2, -1, 3, 2**80)] == [UNSET, -1, -1, 3, 2**63 - 1]


def test_groups_of_expired_locks_are_delimited() -> None:
    groups = (Expiry(ranges((3, 4), (1, 1)), 2), Expiry(()), Expiry(ranges((7, 7))))
    found = expiries_of(Choice(expired=groups))
    assert found.bounds.tolist() == [[0, 2], [2, 2], [2, 3]]
    assert found.ranges.tolist() == [[1, 1], [3, 4], [7, 7]]
    assert found.starts.tolist() == [2, UNSET, UNSET]
    assert not expiries_of(Choice()).given


def test_answers_have_an_id_or_none() -> None:
    rows = answers_of((Answer(), Answer(ErrorCode.PENDING, 4)))
    assert rows[:, 0].tolist() == [-1, 4]
    with pytest.raises(InvalidValueError):
        answers_of((Answer(id=-1),))
