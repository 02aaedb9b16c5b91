from proofs.hazards.world import BEGAN, Past
from tests.proofs.hazards.stage import fetch, play, setting, world

ONE = setting(world(fetches=2))


def test_worlds_start_at_a_current_time() -> None:
    assert BEGAN > 20 * 365 * 24 * 3_600_000


def test_who_is_away_is_told_since_when() -> None:
    assert Past((0,), (None,), (None,), departures=(("A", 5),)).away == {"A": 5}


def test_states_that_were_reached_in_different_ways_are_equal() -> None:
    other = setting(world(fetches=2), lambda _moment: None)
    assert play(ONE, fetch()) == play(other, fetch())
    assert hash(play(ONE, fetch())) == hash(play(other, fetch()))
    assert play(ONE) != play(ONE, fetch())
