from typing import Any

import attrs
import pytest

from clients.duties import Duty
from clients.events import Heartbeat
from clients.pulse import LATE_MS, Pulse

BEAT = Heartbeat(0, "m", 2, given=2, interval_ms=2000)


def texts(pulse: Pulse, *beats: Heartbeat) -> list[str]:
    found = [each for beat in beats for each in pulse.take(beat)]
    assert {duty for duty, _ in found} <= {Duty.INTERVAL}
    return [text for _, text in found]


def at(*times: int, **values: Any) -> list[Heartbeat]:  # noqa: ANN401 - of any field
    return [attrs.evolve(BEAT, at_ms=ms, **values) for ms in times]


def test_a_heartbeat_may_be_late_by_an_interval_and_some_time() -> None:
    latest = 2 * 2000 + LATE_MS
    assert texts(Pulse(), *at(0, latest)) == []
    text = f"no heartbeat comes in {latest + 1} ms after one that told 2000 ms"
    assert texts(Pulse(), *at(0, latest + 1)) == [text]
    assert texts(Pulse(), *at(0, throttle_ms=1), *at(latest + 1)) == []


def test_three_may_come_before_the_interval_is_over() -> None:
    text = "4 heartbeats come in 1800 ms after one that told 2000 ms"
    assert texts(Pulse(), *at(0, 100, 200, 300)) == []
    assert texts(Pulse(), *at(0, 100, 200, 300, 2000, 2100, 2200, 2300)) == []
    assert texts(Pulse(), *at(0, 100, 200, 300, 1800, 1900)) == [text]


def test_short_intervals_are_not_judged_by_what_comes_early() -> None:
    assert texts(Pulse(), *at(*range(0, 900, 100), interval_ms=999)) == []


@pytest.mark.parametrize(
    "values", [{"epoch": 1}, {"assigned": (("t", 1),)}, {"error": 14, "interval_ms": 0}]
)
def test_what_is_new_calls_for_more(values: dict[str, object]) -> None:
    new = at(350, **values)
    assert texts(Pulse(), *at(0, 100, 200, 300), *new, *at(400, 500, 600)) == []


def test_an_assignment_told_again_is_not_new() -> None:
    same = at(0, 100, 200, 300, 400, assigned=(("t", 0),))
    assert len(texts(Pulse(), *same)) == 1


def test_a_client_whose_connection_has_ended_is_not_judged() -> None:
    pulse = Pulse()
    assert texts(pulse, *at(0)) == []
    pulse.cut()
    assert [*pulse.silent(100_000)] == []
    assert texts(pulse, *at(100_000), *at(200_000, error=14, interval_ms=0)) != []
    assert [*pulse.silent(300_000)] == []
