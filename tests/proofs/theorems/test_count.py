from itertools import pairwise

import pytest
import z3

from proofs.theorems.count import (
    OFFSETS,
    add,
    count,
    counts_on,
    has,
    is_empty,
    put,
    small,
    unmarked,
)

MARKS = frozenset({1, 2, 4})


def test_marks_of_a_range_are_counted() -> None:
    assert [count(MARKS, 1, high) for high in range(7)] == [0, 0, 1, 2, 2, 3, 3]
    assert count(MARKS, 5, 2) == 0


@pytest.mark.parametrize("low", range(4))
def test_each_count_follows_from_the_one_before(low: int) -> None:
    assert all(counts_on(MARKS, low, high) for high in range(7))
    for before, after in pairwise(range(low, 7)):
        added = add(count(MARKS, low, before), has(MARKS, before))
        assert count(MARKS, low, after) == added
        assert not is_empty(low, after)


def test_marks_are_put_taken_and_turned_round() -> None:
    assert put(MARKS, 3, marked=True) == MARKS | {3}
    assert put(MARKS, 2, marked=False) == frozenset({1, 4})
    assert unmarked(MARKS) == frozenset(OFFSETS) - MARKS


def test_a_count_of_terms_is_only_what_theorems_give() -> None:
    marks = z3.Array("marks", z3.IntSort(), z3.BoolSort())
    three = count(marks, z3.IntVal(0), z3.IntVal(3))
    solver = z3.Solver()
    solver.add(three == 7)
    assert solver.check() == z3.sat
    solver.add(*small(solver.assertions()))
    assert solver.check() == z3.unsat


def test_of_a_short_range_the_count_is_as_it_is_of_values() -> None:
    marks = z3.Array("marks", z3.IntSort(), z3.BoolSort())
    low, high = z3.Ints("low high")
    solver = z3.Solver()
    solver.add(low == 1, has(marks, low), has(put(marks, low, marked=False), low + 1))
    solver.add(count(marks, low, high) == 2, z3.Not(has(unmarked(marks), low)))
    solver.add(*small(solver.assertions()))
    assert solver.check() == z3.sat
    assert solver.model().eval(high - low).as_long() in {2, 3}
