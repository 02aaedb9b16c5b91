import pytest
from immutables import Map

from model.states import RecordState
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec import window as window_module
from spec.log import Log
from spec.record import Record, is_terminal
from spec.window import Window, first_unfinished, replace


def test_walk_stops_at_a_record_in_flight_within_a_hole() -> None:
    records = Map({1: Record(RecordState.ACQUIRED, 1, "a", 5)})
    window = replace(Window(0, 6), records)
    assert first_unfinished(window, Log(0, 6, ((0, 4),))) == 1


def test_mutating_the_walk_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    theorem = theorem_named("step walk_passes_only_what_is_finished")
    monkeypatch.setattr(window_module, "is_finished", is_terminal)
    assert prove(theorem).verdict is ProofVerdict.REFUTED
