import attrs
import pytest

from model.profile import KIP, LAG_RESOLVED
from proofs.hazards.catalogue import TOGETHER
from proofs.hazards.draft_readings import MENDED
from proofs.hazards.hazard import absence
from proofs.hazards.machine import draft_machine
from proofs.hazards.properties import the_lag_is_what_is_unfinished
from proofs.hazards.together import everything_holds, lag_without_marks
from proofs.hazards.world import HazardAct, Setting
from tests.proofs.hazards.stage import (
    COUNTS_ANEW,
    FAIL_OVER,
    LOST,
    PENDING,
    accept,
    fetch,
    mark,
    play,
    setting,
)


def test_a_lost_write_makes_the_lag_wrong_without_a_mark_unless_the_coordinator_counts() -> None:
    today = lag_without_marks(KIP)
    assert today.problem == "1 record is unfinished and the reported lag is 0"
    counted = lag_without_marks(LAG_RESOLVED)
    assert counted.problem is None
    assert counted.states > 50


@pytest.mark.parametrize("lost", [accept(answer=PENDING), accept(answer=LOST)])
def test_the_reported_lag_is_checked_only_while_no_write_is_lost(lost: HazardAct) -> None:
    given = setting(TOGETHER[1], the_lag_is_what_is_unfinished)
    assert play(given, fetch(), lost, FAIL_OVER).past.is_write_lost
    assert not play(given, fetch(), accept(), FAIL_OVER).past.is_write_lost
    draft = setting(TOGETHER[1], the_lag_is_what_is_unfinished, marks_are_written=True)
    assert play(draft, fetch(), mark(), accept(), FAIL_OVER).broken is not None
    assert play(draft, fetch(), mark(), lost, FAIL_OVER).broken is None


def test_tokens_that_repeat_break_something_there() -> None:
    found = absence("", Setting(TOGETHER[1], COUNTS_ANEW, MENDED, everything_holds))
    assert found.problem is not None
    assert "earlier delivery" in found.problem


def test_a_reading_of_the_draft_breaks_something_there() -> None:
    for readings in (
        attrs.evolve(MENDED, marks_are_written=True),
        attrs.evolve(MENDED, mark_names_no_delivery=True),
        attrs.evolve(MENDED, staleness_adds_a_delivery=True),
    ):
        setting = Setting(TOGETHER[1], draft_machine(readings), readings, everything_holds)
        assert absence("", setting).problem is not None
