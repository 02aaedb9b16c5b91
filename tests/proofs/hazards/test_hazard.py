"""A hazard is shown by its run, its controls and its absence, and by nothing less."""

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from model.config import SharePartitionConfig
from proofs.hazards import hazard
from proofs.hazards import properties as hold
from proofs.hazards.hazard import CaseFinding, Hazard, HazardCase, absence, examine
from proofs.hazards.machine import RESOLVED, Machine
from proofs.hazards.world import HazardAct, HazardMoment, HazardMove, HazardProperty
from tests.proofs.hazards.stage import (
    COUNTS_ANEW,
    FIRST,
    READ_AGAIN,
    fetch,
    mark,
    play,
    setting,
    wait,
    world,
)

WORLD = world(HazardMove.FETCH, HazardMove.MARK, HazardMove.ACCEPT, HazardMove.FAIL_OVER)
CASE = HazardCase(WORLD, hold.an_acceptance_survives, steps=4, options={"marks_are_written": True})


def examined(**changes: Any) -> CaseFinding:  # noqa: ANN401 - whatever a case takes
    case = attrs.evolve(CASE, **changes)
    return examine(Hazard("Z0", "", "", (case,)))[0]


def nothing_happens(moment: HazardMoment) -> Iterator[str]:
    yield str(moment.act)


@pytest.mark.parametrize(
    ("changes", "is_shown"),
    [
        ({}, True),
        ({"steps": 3}, False),
        ({"options": {"marks_are_written": True, "siblings": "rescheduled"}}, False),
        ({"options": {}}, False),
        ({"holds": hold.a_terminal_record_stays}, False),
        ({"holds": nothing_happens, "steps": 1}, False),
    ],
    ids=[
        "as claimed",
        "another length",
        "a reading that is not the cause",
        "no controls",
        "never broken",
        "broken under the resolved rules",
    ],
)
def test_what_shows_a_case(changes: dict[str, Any], *, is_shown: bool) -> None:
    assert examined(**changes).is_shown is is_shown


def test_a_bound_stands_for_the_property_under_the_resolved_rules() -> None:
    found = examined(holds=nothing_happens, bound=hold.a_terminal_record_stays)
    assert found.resolved.problem is None


def test_a_world_in_which_a_move_never_happens_shows_nothing() -> None:
    asked = world(HazardMove.FETCH, HazardMove.LEAVE, HazardMove.ANSWER)
    found = absence("here", setting(asked, hold.a_terminal_record_stays))
    assert found.problem == "never happened: ANSWER"


def test_a_world_that_is_too_large_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hazard, "MOST_STATES", 5)
    found = absence("here", setting(WORLD, hold.a_terminal_record_stays))
    assert found.problem == "more than 5 states"


def test_a_run_goes_on_after_the_broken_step() -> None:
    found = examined(then=(fetch(),))
    assert found.run is not None
    assert (found.steps, found.run.labels[4:], len(found.run.states)) == (4, (fetch(),), 6)


@pytest.mark.parametrize("machine", [COUNTS_ANEW, RESOLVED])
def test_a_token_of_two_deliveries_breaks_the_property_of_marks(machine: Machine) -> None:
    late = HazardAct(HazardMove.OLD_MARK, "A", FIRST)
    bounds = world(HazardMove.OLD_MARK, fetches=2)
    given = setting(bounds, hold.a_mark_counts_for_its_own_delivery, machine)
    reason = "a mark of an earlier delivery refreshes the present one of offset 0"
    broken = play(given, fetch(), READ_AGAIN, fetch(), late).broken
    assert broken == (reason if machine is COUNTS_ANEW else None)


@pytest.mark.parametrize(
    ("bound", "bounds", "after", "reason"),
    [
        (hold.a_grace_ends, {}, 5_000, "A left 5,000 ms ago and holds offset 0"),
        (
            hold.a_block_ends,
            {"records": 2, "config": SharePartitionConfig(partition_max_record_locks=1)},
            1_830_001,
            "nothing can be fetched for 1,830,001 ms",
        ),
    ],
)
def test_a_bound_can_be_broken(
    bound: HazardProperty, bounds: dict[str, Any], after: int, reason: str
) -> None:
    """No rules break it, so a state is made in which time has passed and nothing else."""
    asked = world(**bounds)
    acts = [fetch(), mark(), *([HazardAct(HazardMove.LEAVE, "A")] if not bounds else [])]
    state = play(setting(asked), *acts)
    for ms, broken in ((after - 1, []), (after, [reason])):
        late = attrs.evolve(state, view=attrs.evolve(state.view, now=state.view.now + ms))
        assert [*bound(HazardMoment(asked, state, wait(1), (), (), late))] == broken
