import pytest

from clients.throttle import Throttle


@pytest.mark.parametrize(
    ("at_ms", "hastens"), [(1000, False), (1049, False), (1050, True), (1449, True), (1450, False)]
)
def test_a_throttle_time_is_heeded_but_for_what_was_under_way(at_ms: int, *, hastens: bool) -> None:
    throttle = Throttle()
    assert throttle.haste("a request", at_ms) is None
    throttle.told(1000, 500)
    assert (throttle.haste("a request", at_ms) is not None) is hastens


def test_it_lasts_whatever_later_answers_say() -> None:
    throttle = Throttle()
    throttle.told(1000, 500)
    throttle.told(1100, 0)
    text = "a heartbeat comes 200 ms after an answer with throttle time 500"
    assert throttle.haste("a heartbeat", 1200) == text
    throttle.told(1100, 900)
    assert throttle.haste("a heartbeat", 1149) is None
    assert throttle.haste("a heartbeat", 1900) is not None
