"""Property 42: without its marks a run does the same, timers aside, in every state."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from model.profile import DRAFT_RESOLVED
from model.states import RecordState
from proofs.exploration.search import Search, search
from proofs.exploration.world import SmallWorld
from proofs.theorems.harness import changed
from proofs.theorems.theorem import Control
from tests.proofs.exploration import unmarked_world
from tests.proofs.exploration.unmarked_world import Runs, begin, check, steps

ONE_RECORD = SmallWorld(DRAFT_RESOLVED, offsets=1, dead_letters=True)
TWO_RECORDS = SmallWorld(
    DRAFT_RESOLVED,
    offsets=2,
    members=1,
    outstanding=0,
    log_start=0,
    gaps=False,
    failovers=False,
)


def explored(world: SmallWorld) -> Search[Runs, str]:
    return search([begin(world)], lambda runs: steps(world, runs), check)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "states"), [(ONE_RECORD, 404), (TWO_RECORDS, 755)], ids=["one record", "two records"]
)
def test_without_its_marks_a_run_does_the_same(world: SmallWorld, states: int) -> None:
    found = explored(world)
    assert (found.violation, found.unfinished) == (None, None)
    assert found.states == states


def test_the_runs_differ_in_what_is_in_progress_and_until_when() -> None:
    seen: list[Runs] = []
    search([begin(ONE_RECORD)], lambda runs: steps(ONE_RECORD, runs), seen.append)
    states = {
        (marked.state, unmarked.state)
        for runs in seen
        for offset, marked in runs.marked.partition.window.records.items()
        for unmarked in [runs.unmarked.partition.window.records[offset]]
    }
    assert (RecordState.IN_PROGRESS, RecordState.ACQUIRED) in states
    assert not any(unmarked == RecordState.IN_PROGRESS for _marked, unmarked in states)


def _more(rule: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(record: Any, *rest: Any) -> Any:  # noqa: ANN401 - any rule
        after = rule(record, *rest)
        return attrs.evolve(after, delivery_count=after.delivery_count + 1)

    return wrong


def _more_if_marked(rule: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(record: Any, *rest: Any) -> Any:  # noqa: ANN401 - any rule
        return (rule if record.progress_start is None else _more(rule))(record, *rest)

    return wrong


@pytest.mark.parametrize(
    ("rule", "change", "reason", "last"),
    [
        ("mark", _more, "the two share-partitions differ", "MarkInProgress"),
        ("expire", _more_if_marked, "the two answer differently", "AdvanceTime"),
        ("roll_back", _more_if_marked, "the two share-partitions differ", "Acknowledge"),
        ("acknowledge", _more_if_marked, "the two answer differently", "Acknowledge"),
    ],
)
def test_a_rule_for_which_marks_make_a_difference_is_noticed(
    rule: str, change: Callable[..., Any], reason: str, last: str
) -> None:
    with changed(Control(f"{rule} heeds marks", f"spec.record:{rule}", change)):
        violation = explored(ONE_RECORD).violation
    assert violation is not None
    assert (violation.reason, violation.labels[-1]) == (reason, last)
    assert "MarkInProgress" in violation.labels


def test_timers_are_what_makes_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unmarked_world, "_timed_as", lambda partition, _other: partition)
    violation = explored(ONE_RECORD).violation
    assert violation is not None
    assert violation.reason == "the two share-partitions differ"
