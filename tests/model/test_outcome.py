import pytest

from model.checks import MAX_INT64
from model.errors import ErrorCode, InvalidValueError
from model.outcome import Answer, Choice, Expiry, Outcome, Write


def test_a_choice_leaves_to_the_policy_what_it_does_not_set() -> None:
    choice = Choice()
    assert (choice.acquired, choice.entered, choice.end_offset) == (None, None, None)
    assert (choice.start_offset, choice.refusal, choice.expired) == (None, None, None)
    assert Expiry(()).start_offset is None


def test_an_outcome_without_more_is_success_and_changes_nothing() -> None:
    outcome = Outcome()
    assert outcome.status is ErrorCode.NONE
    assert (outcome.acquired, outcome.writes, outcome.completed) == ((), (), ())
    assert outcome.can_acquire
    assert (outcome.acquisition, outcome.marked) == (None, ())
    assert Answer() == Answer(ErrorCode.NONE, None)


def test_a_write_may_keep_the_start_offset_and_not_know_its_count() -> None:
    write = Write(0, -1, -1)
    assert (write.start_offset, write.delivery_complete_count) == (-1, -1)


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        ((-1, 0, 0), "id"),
        ((0, -2, 0), "start_offset"),
        ((0, MAX_INT64, 0), "start_offset"),
        ((0, 0, -(2**63)), "delivery_complete_count"),
    ],
)
def test_a_write_out_of_range_is_refused(numbers: tuple[int, int, int], name: str) -> None:
    with pytest.raises(InvalidValueError, match=f"^{name} is "):
        Write(*numbers)


def test_an_acquisition_is_numbered_from_0() -> None:
    assert Outcome(acquisition=0).acquisition == 0
    with pytest.raises(InvalidValueError, match=r"^acquisition is -1"):
        Outcome(acquisition=-1)
