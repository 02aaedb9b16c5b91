"""What is at stake: at least what a faulty client was seen to violate there."""

import pytest

from clients.duties import Duty
from clients.events import Called, Record, Returned, Settings
from clients.play import Pace, play
from clients.scripts import Script
from clients.stakes import stakes
from tests.clients.controls import AT_ONCE, CONTROLS
from tests.doubles.share_client import ShareClient

SCRIPTS: dict[Script, set[Duty]] = {}
for _, owed, shown in CONTROLS:
    SCRIPTS.setdefault(shown, set()).add(owed)


@pytest.mark.parametrize(("script", "duties"), SCRIPTS.items(), ids=str)
def test_a_duty_that_can_be_violated_by_a_script_is_at_stake_in_it(
    script: Script, duties: set[Duty]
) -> None:
    assert duties <= set(stakes(play(script, ShareClient, Pace(poll_ms=20))))


def test_what_cannot_be_violated_is_not_at_stake() -> None:
    counts = stakes(play(AT_ONCE, ShareClient, Pace(poll_ms=20)))
    rare = (Duty.FOLLOWS, Duty.OWN_LEADER, Duty.RENEWED, Duty.THROTTLED, Duty.GAPS, Duty.REJOINS)
    assert {duty: counts[duty] for duty in rare} == dict.fromkeys(rare, 0)
    assert (counts[Duty.ONCE], counts[Duty.CLOSES], counts[Duty.NOTHING_UNSAID]) == (5, 1, 0)


def test_a_client_that_did_nothing_has_nothing_at_stake() -> None:
    failed = Called(0, "close"), Returned(0, "close", error="no")
    assert stakes(Record(Settings(), failed)) == {}
