from replay.observed.facts import EpochRun, Facts, Gap, LogExtent
from replay.observed.gaps import LOST_MS, QUIET_MS, gaps_of


def run(first: int, last: int, begin: float, end: float) -> EpochRun:
    return EpochRun("g", "m", "b", first, last, begin, end)


def test_epochs_that_follow_each_other_in_two_files_are_no_gap() -> None:
    runs = (run(0, 7, 0, 100), run(8, 9, 101, 200), run(-1, -1, 201, 202), run(0, 3, 300, 400))
    assert not gaps_of(Facts(runs=runs))


def test_an_epoch_that_is_missing_is_a_gap() -> None:
    [gap] = gaps_of(Facts(runs=(run(0, 7, 0, 100), run(9, 9, 150, 200))))
    assert (gap.begin, gap.end) == (100 - LOST_MS, 150)
    assert "epoch 9 after 7" in gap.reason


def test_a_file_that_is_missing_is_a_gap() -> None:
    logs = (LogExtent("b", 0, 100), LogExtent("b", 100 + QUIET_MS + 1, 10**6))
    [gap] = gaps_of(Facts(logs=logs))
    assert gap.end == 100 + QUIET_MS + 1
    other = (logs[0], LogExtent("b", 50, 100 + QUIET_MS))
    assert not gaps_of(Facts(logs=other))


def test_gaps_that_were_noted_are_kept_where_the_log_goes_on() -> None:
    gap = Gap("b", 1, 2, "a line cannot be used")
    assert gaps_of(Facts(gaps=(gap, gap))) == [gap]
    assert gaps_of(Facts(gaps=(gap,), logs=(LogExtent("b", 0, 3),))) == [gap]
    assert not gaps_of(Facts(gaps=(gap,), logs=(LogExtent("b", 0, 2),)))
