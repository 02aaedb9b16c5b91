import attrs

from replay.observed.gaps import LOST_MS, MISSING_MS, gaps_of, missing_of
from replay.observed.observation import EpochRun, Lapse, LogExtent, SentRun
from replay.observed.settings import Assumed

QUIET_MS = round(Assumed().quiet_ms)


def run(first: int, last: int, begin: float, end: float) -> EpochRun:
    return EpochRun("g", "m", "b", first, last, begin, end)


def test_epochs_that_follow_each_other_in_two_files_are_no_gap() -> None:
    runs = (run(0, 7, 0, 100), run(8, 9, 101, 200), run(-1, -1, 201, 202), run(0, 3, 300, 400))
    assert not gaps_of(runs)


def test_an_epoch_that_is_missing_is_a_gap() -> None:
    [gap] = gaps_of((run(0, 7, 0, 100), run(9, 9, 150, 200)))
    assert (gap.begin, gap.end) == (100 - LOST_MS, 150)
    assert "epoch 9 after 7" in gap.reason


def test_a_file_that_is_missing_is_a_gap() -> None:
    logs = (LogExtent("b", 0, 100), LogExtent("b", 100 + QUIET_MS + 1, 10**6))
    [gap] = gaps_of(logs)
    assert gap.end == 100 + QUIET_MS + 1
    assert not list(missing_of(logs))
    other = (logs[0], LogExtent("b", 50, 100 + QUIET_MS))
    assert not gaps_of(other)
    paused = Assumed(quiet_ms=QUIET_MS + 1)
    assert not gaps_of(logs, paused)
    assert [each.end for each in missing_of(logs, paused)] == [gap.end]


def test_a_request_that_was_answered_in_the_next_session_is_no_gap() -> None:
    late = run(8, 8, 90, 300)
    assert not gaps_of((run(0, 7, 0, 80), run(0, 3, 100, 200), late, run(4, 9, 210, 400)))


def test_a_clock_that_goes_back_between_files_is_a_gap() -> None:
    logs = (LogExtent("b", 0, 5000), LogExtent("b", 3000, 9000))
    [gap] = gaps_of(logs)
    assert (gap.begin, gap.end, gap.step) == (3000, 5000, 2000)


def test_correlation_ids_that_no_log_has_are_missing() -> None:
    sent = (SentRun("c", 4, 9, 100, 200), SentRun("c", 12, 12, 250, 250), SentRun("d", 9, 9, 0, 0))
    [gap] = missing_of(sent)
    assert "2 requests" in gap.reason
    assert (gap.begin, gap.end) == (200 - MISSING_MS, 250 + LOST_MS)
    assert not list(missing_of((*sent, SentRun("c", 10, 11, 0, 0))))
    others = [attrs.evolve(run, to_coordinator=False) for run in sent]
    assert not list(missing_of(others))
    assert [*missing_of((others[0], *sent[1:]))] == [gap]


def test_a_session_that_is_first_seen_in_the_middle_of_a_log_may_miss_requests() -> None:
    begins = (LogExtent("b", 0, 60_000),)
    early, late = run(3, 9, 1000, 2000), run(3, 9, 50_000, 51_000)
    assert not list(missing_of([early, *begins]))
    assert [gap.end for gap in missing_of([late, *begins])] == [50_000]


def test_gaps_that_were_noted_are_kept_where_the_log_goes_on() -> None:
    gap = Lapse("b", 1, 2, "a line cannot be used")
    assert gaps_of([gap, gap]) == [gap]
    assert gaps_of([gap, LogExtent("b", 0, 3)]) == [gap]
    assert not gaps_of([gap, LogExtent("b", 0, 2)])
