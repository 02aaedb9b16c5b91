import attrs

from model.states import RecordState
from proofs.theorems.progress_theorems import erased
from spec.record import Record

TAKEN = Record(RecordState.ACQUIRED, 1, "a", 30, acquisition=0)
MARKED = attrs.evolve(TAKEN, state=RecordState.IN_PROGRESS, progress_start=10, last_progress=20)


def test_a_mark_that_is_erased_leaves_the_acquisition() -> None:
    assert erased(MARKED) == erased(TAKEN) == TAKEN
