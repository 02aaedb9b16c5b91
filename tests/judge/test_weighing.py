import pytest

from judge.weighing import Evidence, too_little


@pytest.mark.parametrize("of", Evidence)
def test_what_is_judged_nearly_whole_bears_a_verdict(of: Evidence) -> None:
    most = round(of.value.unjudged * 1000)
    assert too_little(of, 1000 - most, 1000) == ""
    reason = too_little(of, 999 - most, 1000)
    assert reason.startswith(f"{999 - most:,} of 1,000 {of.value.counted} were judged, at least ")
    assert reason.endswith(of.value.remedy)
    assert "\n" not in reason


def test_nothing_judged_bears_none() -> None:
    assert all(too_little(of, 0, given) for of in Evidence for given in (0, 5))


def test_what_is_believed_is_not_judged() -> None:
    assert too_little(Evidence.EVENTS, 100, 100, believed=100)
    assert not too_little(Evidence.EVENTS, 100, 100, believed=50)
    assert too_little(Evidence.EVENTS, 95, 100, believed=60)


def test_a_recording_is_asked_more_of_than_a_campaign() -> None:
    assert [bool(too_little(of, 80, 100)) for of in Evidence] == [True, True, False, False]
