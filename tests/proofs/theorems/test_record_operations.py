import attrs

from model.states import RecordState
from proofs.theorems.record_operations import TRANSITIONS, OneRecord, is_sound
from spec.record import UNDELIVERED, Record
from tests.spec.worlds import fetch, run, started

HELD = Record(RecordState.ACQUIRED, 1, "a", 100)


def test_every_transition_has_a_name_of_its_own() -> None:
    names = [transition.name for transition in TRANSITIONS]
    assert len(names) == len(set(names)) > 10


def test_situations_are_those_of_a_share_partition() -> None:
    found = list(OneRecord.reached(run(started(end=1), fetch("a", (0, 0)))))
    assert HELD in [situation.record for situation in found]
    assert UNDELIVERED in [situation.record for situation in found]


def test_a_record_that_breaks_an_invariant_is_not_sound() -> None:
    (situation, *_) = OneRecord.reached(run(started(end=1), fetch("a", (0, 0))))
    assert is_sound(situation)
    ownerless = attrs.evolve(situation, record=Record(RecordState.ACQUIRED, 1))
    assert not is_sound(ownerless)
