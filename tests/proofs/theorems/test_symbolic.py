import pytest
import z3

from proofs.theorems.lifting import UndecidedError, is_term
from proofs.theorems.symbolic import branches, conjunction, implies, meaning
from spec import window

X, Y = z3.Ints("x y")
LIMIT_MS = 2_000
TRUE, FALSE = [True], [False]


def proved(condition: z3.BoolRef) -> bool:
    solver = z3.Solver()
    solver.add(z3.Not(condition))
    return bool(solver.check() == z3.unsat)


def test_question_about_terms_is_answered_both_ways() -> None:
    found = list(branches(lambda: max(Y, X), [], LIMIT_MS))
    assert len(found) == 2
    assert proved(z3.And([z3.Implies(b.condition, b.value >= X) for b in found]))


def test_equality_of_terms_is_a_question_and_not_how_they_are_written() -> None:
    found = list(branches(lambda: bool(X == Y), [], LIMIT_MS))
    assert {branch.value for branch in found} == {True, False}


def test_answer_that_is_given_is_not_asked() -> None:
    found = list(branches(lambda: bool(X == Y), [X == Y], LIMIT_MS))
    assert [branch.value for branch in found] == [True]


def test_what_is_impossible_on_one_path_is_asked_on_others() -> None:
    found = branches(lambda: (bool(X > 0), bool(X > 5), bool(X < 3)), [], LIMIT_MS)
    answers = {(True, True, False), (True, False, False), (True, False, True), (False, False, True)}
    assert {branch.value for branch in found} == answers


def test_python_functions_on_tuples_work_on_terms() -> None:
    found = branches(lambda: max((X, 0), (Y, 1))[0] >= X, [], LIMIT_MS)
    assert proved(meaning(found))


def test_range_between_terms_visits_the_named_offset_alone() -> None:
    def visited() -> list[z3.ArithRef]:
        return list(window.range(X, X + 5))  # type: ignore[attr-defined] # while terms run

    found = list(branches(visited, [X <= Y, Y < X + 3], LIMIT_MS, (Y,)))
    assert [branch.value for branch in found] == [[Y]]


def test_range_between_values_is_that_of_python() -> None:
    found = list(branches(lambda: [*window.range(2), *window.range(3, 5)], [], LIMIT_MS))  # type: ignore[attr-defined] # while terms run
    assert [branch.value for branch in found] == [[0, 1, 3, 4]]


def test_run_without_end_is_undecided() -> None:
    def endless() -> bool:
        count = X
        while count > 0:
            count = count - 1
        return True

    with pytest.raises(UndecidedError):
        list(branches(endless, [], LIMIT_MS))


def test_a_run_leaves_z3_and_python_unchanged() -> None:
    def patched() -> tuple[object, ...]:
        return z3.BoolRef.__bool__, z3.ExprRef.__hash__, z3.ArithRef.__mod__, isinstance, hash

    before = patched()
    list(branches(lambda: bool(X > 0), [], LIMIT_MS))
    assert patched() == before
    assert not hasattr(window, "range")
    assert "isinstance" not in vars(z3.z3)


def test_connectives_compute_on_values_and_build_terms() -> None:
    assert implies(condition=False, conclusion=False) is True
    assert implies(condition=True, conclusion=False) is False
    assert conjunction(*TRUE, *FALSE) is False
    assert conjunction() is True
    assert is_term(conjunction(X > 0, *TRUE))
    assert is_term(implies(X > 0, conclusion=True))
