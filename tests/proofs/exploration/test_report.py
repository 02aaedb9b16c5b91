"""What is reported of an exploration that ended, that did not, and that found something."""

import pytest

from proofs.exploration.end_to_end import PROPERTIES
from proofs.exploration.liveness import PROMISES
from proofs.exploration.report import ExplorationReport, listed, report_on
from proofs.exploration.world import SmallWorld
from spec import writes
from spec.record import commit
from tests.proofs.explored import TINY, explored


def _verdicts(report: ExplorationReport) -> dict[str, bool | None]:
    return {verdict.name: verdict.holds for verdict in report.verdicts}


@pytest.mark.slow
def test_everything_is_judged_where_all_was_visited() -> None:
    explorer, watch, found = explored(
        SmallWorld(offsets=2, members=1, late=0, gaps=False, log_start=0)
    )
    report = report_on(explorer, watch, found, PROMISES)
    verdicts = _verdicts(report)
    assert set(verdicts) == {
        *(p.name for p in PROPERTIES),
        *(p.name for p in PROMISES),
        "available_is_acquirable",
    }
    assert not report.is_wrong
    assert {name for name, holds in verdicts.items() if not holds} <= {
        p.name for p in PROPERTIES if p.why_not
    }
    assert report.leaders == len(explorer.leaders.found)


def test_an_unfinished_exploration_is_not_judged() -> None:
    explorer, watch, found = explored(TINY, depth=1)
    report = report_on(explorer, watch, found, PROMISES)
    assert set(_verdicts(report).values()) == {None}
    assert len(report.verdicts) == len(PROPERTIES)
    assert not report.is_wrong


def test_a_fault_comes_first_with_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "roll_back", lambda record, *_: commit(record))
    explorer, watch, found = explored(TINY)
    report = report_on(explorer, watch, found, PROMISES)
    assert report.is_wrong
    assert report.verdicts[0].name == "step"
    assert report.verdicts[0].sentence.startswith("the implementation's window is")
    assert report.verdicts[0].run[-1].event == "acknowledge by m1: 0 accept"


def test_a_promise_that_fails_for_want_of_fairness_is_no_fault() -> None:
    explorer, watch, found = explored(TINY)
    report = report_on(explorer, watch, found, PROMISES[:1], "time")
    last = report.verdicts[-1]
    assert (last.name, last.holds, last.should) == (PROMISES[0].name, False, False)
    assert last.again is not None
    assert not report.is_wrong


def test_a_record_that_nobody_can_take_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer, watch, found = explored(TINY)
    monkeypatch.setattr(
        "proofs.exploration.report.available_untakeable", lambda graph: list(graph.takes)[2:3]
    )
    report = report_on(explorer, watch, found, PROMISES)
    wrong = [verdict for verdict in report.verdicts if verdict.is_wrong]
    assert [verdict.name for verdict in wrong] == ["available_is_acquirable"]
    assert wrong[0].run


def test_a_property_in_one_line() -> None:
    assert listed(PROMISES[0]).startswith("available_is_terminal_in_the_end (14): Every record")
    assert "Expected to fail: " in listed(PROPERTIES[-1])
    lag = next(p for p in PROPERTIES if p.name == "lag_never_too_low")
    assert "Expected to fail, but under a profile with coordinator_counts_complete: " in listed(lag)
