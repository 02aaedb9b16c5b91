import attrs
import pytest

from proofs.hazards.draft_readings import MENDED
from proofs.hazards.hazard import absence
from proofs.hazards.machine import RESOLVED, draft_machine
from proofs.hazards.together import WORLDS, everything_holds
from proofs.hazards.world import Setting
from tests.proofs.hazards.stage import COUNTS_ANEW


@pytest.mark.slow
def test_nothing_is_broken_when_much_happens_at_once() -> None:
    found = absence("", Setting(WORLDS[1], RESOLVED, MENDED, everything_holds))
    assert found.problem is None
    assert found.states > 1000


def test_tokens_that_repeat_break_something_there() -> None:
    found = absence("", Setting(WORLDS[1], COUNTS_ANEW, MENDED, everything_holds))
    assert found.problem is not None
    assert "earlier delivery" in found.problem


def test_a_reading_of_the_draft_breaks_something_there() -> None:
    for readings in (
        attrs.evolve(MENDED, marks_are_written=True),
        attrs.evolve(MENDED, mark_names_no_delivery=True),
        attrs.evolve(MENDED, staleness_adds_a_delivery=True),
    ):
        setting = Setting(WORLDS[1], draft_machine(readings), readings, everything_holds)
        assert absence("", setting).problem is not None
