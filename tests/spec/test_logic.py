import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from model.states import RecordState
from spec.logic import absent, by_case, either, negate
from spec.record import Record

FLAG, NUMBER = z3.Bool("flag"), z3.Int("number")
CHOICES = st.tuples(st.booleans(), st.integers(-5, 5), st.integers(-5, 5))


def value_of(term: z3.ExprRef, *, flag: bool, number: int = 0) -> z3.ExprRef:
    given_values = ((FLAG, z3.BoolVal(flag)), (NUMBER, z3.IntVal(number)))
    return z3.simplify(z3.substitute(term, *given_values))


@given(CHOICES)
def test_either_takes_one_of_two_values(values: tuple[bool, int, int]) -> None:
    condition, then, otherwise = values
    expected = then if condition else otherwise
    assert either(condition, then, otherwise) == expected
    assert value_of(either(FLAG, then, otherwise), flag=condition).as_long() == expected


def test_either_on_values_computes_and_does_not_build_a_term() -> None:
    one, other = object(), object()
    assert [either(flag, one, other) for flag in (True, False)] == [one, other]


@pytest.mark.parametrize("flag", [True, False])
def test_either_of_records_is_taken_field_by_field(*, flag: bool) -> None:
    then = Record(RecordState.ACQUIRED, 2, 7, 100)
    term = either(FLAG, then, Record(RecordState.AVAILABLE, 1))
    assert isinstance(term, Record)
    expected = [1, 2, 7, 100] if flag else [0, 1, -1, -1]
    fields = (term.state, term.delivery_count, term.owner, term.deadline)
    assert [value_of(field, flag=flag).as_long() for field in fields] == expected


@pytest.mark.parametrize(("number", "expected"), [(0, 5), (2, 7), (4, 6)])
def test_a_case_is_taken_from_its_table(number: int, expected: int) -> None:
    table = {0: 5, 2: 7, 4: 6}
    assert by_case(number, table) == expected
    assert value_of(by_case(NUMBER, table), flag=True, number=number).as_long() == expected


@pytest.mark.parametrize("flag", [True, False])
def test_negate_is_the_opposite(*, flag: bool) -> None:
    assert negate(flag) is not flag
    assert z3.is_true(value_of(negate(FLAG), flag=flag)) is not flag


def test_absent_is_none_in_python_and_minus_one_in_a_term() -> None:
    assert absent(None) is True
    assert absent("c1") is False
    assert absent(0) is False
    assert absent(-1) is False
    assert z3.is_true(value_of(absent(NUMBER), flag=True, number=-1))
    assert z3.is_false(value_of(absent(NUMBER), flag=True, number=0))
