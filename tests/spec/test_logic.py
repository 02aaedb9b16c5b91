import pytest
import z3

from model.states import RecordState
from spec.logic import absent, either
from spec.record import Record

FLAG, NUMBER = z3.Bool("flag"), z3.Int("number")


def value_of(term: z3.ExprRef, *, flag: bool, number: int = 0) -> z3.ExprRef:
    given_values = ((FLAG, z3.BoolVal(flag)), (NUMBER, z3.IntVal(number)))
    return z3.simplify(z3.substitute(term, *given_values))


@pytest.mark.parametrize("flag", [True, False])
def test_either_of_records_is_taken_field_by_field(*, flag: bool) -> None:
    then = Record(RecordState.ACQUIRED, 2, 7, 100)
    term = either(FLAG, then, Record(RecordState.AVAILABLE, 1))
    assert isinstance(term, Record)
    expected = [1, 2, 7, 100] if flag else [0, 1, -1, -1]
    fields = (term.state, term.delivery_count, term.owner, term.deadline)
    assert [value_of(field, flag=flag).as_long() for field in fields] == expected


def test_absent_is_none_in_python_and_minus_one_in_a_term() -> None:
    assert absent(None) is True
    assert absent("c1") is False
    assert absent(0) is False
    assert absent(-1) is False
    assert z3.is_true(value_of(absent(NUMBER), flag=True, number=-1))
    assert z3.is_false(value_of(absent(NUMBER), flag=True, number=0))
