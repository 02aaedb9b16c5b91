"""Beside the replay in segments, which ends each of them here."""

from collections.abc import Iterable

import attrs
import pytest

from judge.engine import engines_for
from judge.finding import Finding, FindingKind
from judge.follower import DISAGREEMENT, follow
from model.profile import KAFKA
from model.trace import TraceEvent
from model.whole_state import ReplayState
from replay.tables import events_of
from tests.impl.helpers import interpreted, table_of
from tests.replay.samples import events, kafka_rows, recorded

EVENTS = events(kafka_rows(count=40))
BOTH = ("spec", "impl")


def after(count: int) -> ReplayState:
    """Return where the kernel stands after so many of the events."""
    kernel = interpreted("kernel").replay_partition(table_of(EVENTS[:count]), KAFKA, None, count)
    ((_row, state),) = kernel.states
    assert isinstance(state, ReplayState)
    return state


def found(
    part: Iterable[TraceEvent],
    names: tuple[str, ...],
    before: ReplayState | None,
    end: ReplayState | None,
) -> Finding | None:
    engines = engines_for(names, KAFKA, before.state if before else None)
    return follow(part, engines, 1, before=before, after=end)


@pytest.mark.parametrize("names", [("spec",), BOTH])
def test_a_segment_goes_from_one_state_to_the_next(names: tuple[str, ...]) -> None:
    assert found(EVENTS[:15], names, None, after(15)) is None
    assert found(EVENTS[15:], names, after(15), after(40)) is None
    assert found(EVENTS[15:], names, after(15), None) is None


def test_no_event_leaves_the_state_as_it_is() -> None:
    assert found([], BOTH, after(15), after(15)) is None


def test_a_divergence_comes_before_an_end_that_does_not_fit() -> None:
    wrong = attrs.evolve(EVENTS[20].after, delivery_complete_count=99)
    part = [*EVENTS[15:20], attrs.evolve(EVENTS[20], after=wrong)]
    finding = found(part, BOTH, after(15), after(15))
    assert finding
    assert (finding.seq, finding.kind) == (20, FindingKind.DIFFERENCE)


@pytest.mark.parametrize(("names", "engine"), [(BOTH, "spec"), (("impl",), "impl")])
def test_an_end_that_does_not_fit_is_a_disagreement(names: tuple[str, ...], engine: str) -> None:
    finding = found(EVENTS[15:20], names, after(15), after(21))
    assert finding
    assert (finding.seq, finding.engine) == (19, f"impl kernel, {engine}")
    assert (finding.kind, finding.name) == (FindingKind.DISAGREEMENT, DISAGREEMENT)
    assert finding.expected.startswith(f"kernel, or {engine}: state.")


def test_numbers_that_a_write_takes_later_are_carried_along() -> None:
    """Wherever a share-partition is cut, the recorded numbers are compared where they are taken."""
    (rows,) = recorded("kafka-4.4.0").values()
    table = table_of(events(rows))
    kernel = interpreted("kernel").replay_partition(table, KAFKA, None, 1)
    for (row, before), (end, state) in zip(kernel.states, kernel.states[1:], strict=False):
        assert found(events_of(table.slice(row, end - row)), BOTH, before, state) is None
    assert any(before.numbers for _, before in kernel.states)
