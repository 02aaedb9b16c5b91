import attrs

from model.states import RecordState
from proofs.theorems.progress_theorems import Marked, erased
from spec.record import Record
from tests.spec.worlds import fetch, run, started

TAKEN = Record(RecordState.ACQUIRED, 1, "a", 30, acquisition=0)
MARKED = attrs.evolve(TAKEN, state=RecordState.IN_PROGRESS, progress_start=10, last_progress=20)


def test_a_mark_that_is_erased_leaves_the_acquisition() -> None:
    assert erased(MARKED) == erased(TAKEN) == TAKEN


def test_situations_are_marks_of_a_record_and_of_its_neighbour() -> None:
    found = list(Marked.reached(run(started(end=1), fetch("a", (0, 0)))))
    assert {(mark.first, mark.last) for mark in found} == {(0, 0), (1, 1)}
