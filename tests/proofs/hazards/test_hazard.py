import attrs
import pytest

from proofs.hazards import hazard
from proofs.hazards import properties as hold
from proofs.hazards.draft_readings import MENDED
from proofs.hazards.hazard import Hazard, HazardCase, absence, examine, is_shown
from proofs.hazards.machine import RESOLVED
from proofs.hazards.world import HazardMoment, HazardMove, HazardWorld, Setting

WORLD = HazardWorld(
    frozenset({HazardMove.FETCH, HazardMove.MARK, HazardMove.ACCEPT, HazardMove.FAIL_OVER})
)
CASE = HazardCase(WORLD, hold.an_acceptance_survives, steps=4, options={"marks_are_written": True})


def shown(case: HazardCase) -> bool:
    return is_shown(examine(Hazard("Z0", "", "", (), "", (case,))).cases[0])


def nothing_happens(moment: HazardMoment) -> str | None:
    return str(moment.act)


def test_a_case_is_shown_by_its_run_its_controls_and_its_absence() -> None:
    assert shown(CASE)


def test_a_run_of_another_length_does_not_show_it() -> None:
    assert not shown(attrs.evolve(CASE, steps=3))


def test_a_reading_that_is_not_the_cause_does_not_show_it() -> None:
    options = {"marks_are_written": True, "gap_is_refused": True}
    found = examine(Hazard("Z0", "", "", (), "", (attrs.evolve(CASE, options=options),))).cases[0]
    assert [control.problem is None for control in found.controls] == [True, False]
    assert not is_shown(found)


def test_a_case_without_controls_is_not_shown() -> None:
    assert not shown(attrs.evolve(CASE, options={}))


def test_a_property_that_holds_is_not_broken() -> None:
    found = examine(
        Hazard("Z0", "", "", (), "", (attrs.evolve(CASE, holds=hold.a_terminal_record_stays),))
    ).cases[0]
    assert found.run is None
    assert found.literal is None
    assert not is_shown(found)


def test_a_property_that_the_resolved_rules_break_shows_nothing() -> None:
    found = examine(
        Hazard("Z0", "", "", (), "", (attrs.evolve(CASE, holds=nothing_happens, steps=1),))
    ).cases[0]
    assert found.resolved.problem is not None
    assert not is_shown(found)


def test_a_bound_stands_for_the_property_under_the_resolved_rules() -> None:
    case = attrs.evolve(CASE, holds=nothing_happens, bound=hold.a_terminal_record_stays)
    assert examine(Hazard("Z0", "", "", (), "", (case,))).cases[0].resolved.problem is None


def test_a_world_in_which_a_move_never_happens_shows_nothing() -> None:
    world = HazardWorld(frozenset({HazardMove.FETCH, HazardMove.LEAVE, HazardMove.ANSWER}))
    found = absence("here", Setting(world, RESOLVED, MENDED, hold.a_terminal_record_stays))
    assert found.problem == "never happened: ANSWER"


def test_a_world_that_is_too_large_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hazard, "MOST_STATES", 5)
    found = absence("here", Setting(WORLD, RESOLVED, MENDED, hold.a_terminal_record_stays))
    assert found.problem == "more than 5 states"


def test_a_run_goes_on_after_the_broken_step() -> None:
    found = examine(Hazard("Z0", "", "", (), "", (CASE,))).cases[0]
    assert found.run is not None
    act = found.run.acts[0]
    longer = examine(Hazard("Z0", "", "", (), "", (attrs.evolve(CASE, then=(act,)),))).cases[0]
    assert longer.run is not None
    assert (longer.run.broken, longer.run.acts[4:]) == (4, (act,))
    assert len(longer.run.states) == 6
