import attrs
import z3

from model.states import RecordState
from proofs.theorems.count import has
from proofs.theorems.counting_theorems import Range
from proofs.theorems.record_operations import OneRecord
from proofs.theorems.situation import sizes, symbols, values
from spec.record import Record


def test_values_are_what_the_model_says() -> None:
    situation, given, offsets = symbols(OneRecord)
    solver = z3.Solver()
    solver.add(given)
    solver.add(situation.record.state == 1, situation.record.owner == -1, situation.limit == 3)
    assert solver.check() == z3.sat
    found = values(situation, solver.model())
    assert offsets == (situation.offset,)
    assert isinstance(found.record, Record)
    assert found.record.state is RecordState.ACQUIRED
    assert found.record.owner is None
    assert found.limit == 3


def test_every_field_is_a_term() -> None:
    situation, _given, _offsets = symbols(OneRecord)
    parts = [getattr(situation, field.name) for field in attrs.fields(OneRecord)]
    assert all(isinstance(part, Record | z3.ExprRef) for part in parts)
    assert len(list(sizes(situation))) == 23


def test_marks_become_the_offsets_that_a_model_marks() -> None:
    situation, given, _offsets = symbols(Range)
    solver = z3.Solver()
    solver.add(given)
    solver.add(has(situation.marks, situation.low), situation.low == 5)
    assert solver.check() == z3.sat
    found = values(situation, solver.model())
    assert found.low == 5
    assert 5 in found.marks
