"""The implementation refines the specification for whole small sizes; planted faults are found."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from impl import acknowledge, acquire, expiry, leadership, writes
from impl import layout as at
from impl.state import State
from model.guards import Guard
from model.profile import KIP
from proofs.refinement.check import Tally
from proofs.refinement.families import FAMILIES, FEW, QUICK, Family, tally

SIZES = {
    ("kip", "a new leader"): (1, 982, 8),
    ("draft_resolved", "a new leader"): (1, 982, 9),
    ("lag_resolved", "a new leader"): (1, 982, 8),
    ("kip", "one record"): (27, 22_491, 11_392),
    ("kip", "one record, with a dead-letter queue"): (36, 14_580, 4_883),
    ("kip", "one record, read committed"): (27, 9_558, 7_606),
    ("kip", "one record, of a log that nobody describes"): (27, 9_558, 2_988),
    ("kip", "one record, passed over as often as may be"): (27, 8_181, 5_521),
    ("kip", "one record, and a write for which nobody waits"): (27, 10_935, 3_530),
    ("kip", "one record, and a write that is not made yet"): (27, 10_935, 3_648),
    ("kip", "one record, durable state 0"): (27, 10_935, 3_648),
    ("kip", "one record, durable state 1"): (27, 10_935, 3_648),
    ("kip", "one record, durable state 2"): (27, 10_935, 3_648),
    ("kafka", "one record"): (27, 22_491, 11_392),
    ("kafka", "one record, read committed"): (27, 9_558, 7_606),
    ("kafka", "one record, of a log that nobody describes"): (27, 9_558, 2_790),
    ("kafka", "one record, passed over as often as may be"): (27, 8_181, 5_521),
    ("kafka", "one record, by a real clock"): (27, 18_144, 7_851),
    ("draft_resolved", "one record that may be marked"): (63, 28_539, 9_048),
    ("kip", "an empty window"): (1, 472, 251),
    ("kip", "two offsets"): (56, 76_384, 36_024),
    ("kafka", "two offsets, worn arrays"): (56, 33_880, 15_822),
    ("kip", "three offsets"): (57, 56_601, 8_771),
    ("kip", "three members"): (22, 3_300, 2_708),
    ("kip", "four offsets"): (249, 69_471, 47_383),
}
"""Of each family by profile and name: states, steps, and how many of them both sides refuse."""


@cache
def tallied(family: Family) -> Tally:
    return tally(family)


@pytest.mark.parametrize("family", QUICK, ids=lambda family: family.name)
def test_a_small_family_differs_nowhere(family: Family) -> None:
    found = tallied(family)
    assert [broken.wrong for broken in found.broken] == []
    assert found.states > 0
    assert min(found.steps.values()) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", FAMILIES, ids=lambda family: f"{family.profile.name} {family.name}"
)
def test_a_family_differs_nowhere(family: Family) -> None:
    found = tally(family)
    assert [broken.wrong for broken in found.broken] == []
    sizes = (found.states, found.steps.total(), found.refused.total())
    assert sizes == SIZES[family.profile.name, family.name]


def test_the_document_tells_the_sizes() -> None:
    text = (Path(__file__).parents[3] / "docs" / "exploration.md").read_text()
    states, steps, refused = (sum(column) for column in zip(*SIZES.values(), strict=True))
    assert f"{states:,} states, {steps:,} steps, of which {refused:,} are refused" in text
    for key in (("kip", "one record"), ("kip", "two offsets")):
        states, steps, _ = SIZES[key]
        assert re.search(rf"{' +'.join(key)} +{states} states +{steps:,} steps", text)


def test_steps_are_refused_for_many_reasons_and_others_are_not() -> None:
    total = Tally()
    for family in QUICK:
        found = tallied(family)
        total.steps += found.steps
        total.refused += found.refused
    assert total.refused.total() < total.steps.total() / 2
    assert len({guard for guard in Guard if guard.name in total.refused}) >= 15


def _late(state: State) -> None:
    """Let a hidden lock last a ms longer: nobody sees it before the write fails."""
    header, runs = state.header, state.runs
    for row in range(header[at.HEAD], header[at.TAIL]):
        if runs[row, at.WRITE] != at.NO_WRITE:
            runs[row, at.DEADLINE] += 1


def _cut(state: State) -> None:
    """Count a record of another state."""
    state.header[at.COUNTS + at.ARCHIVING] += 1


def _elsewhere(state: State) -> None:
    """Name another offset in a refusal."""
    if state.header[at.WHERE] != at.NOWHERE:
        state.header[at.WHERE] += 1


def _durable(state: State) -> None:
    state.header[at.DURABLE_COMPLETE] += 1


def _forgets(state: State) -> None:
    state.header[at.WAITING_TAIL] = 0


@pytest.mark.parametrize(
    ("module", "name", "fault", "offer"),
    [
        (acknowledge, "acknowledge", _late, "acknowledge all"),
        (acknowledge, "release", _cut, "member leaves"),
        (writes, "complete_write", _durable, "complete write"),
        (expiry, "advance_time", _elsewhere, "time"),
        (acquire, "acquire", _forgets, "acquire"),
        (leadership, "compact", _cut, "log"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_planted_fault_is_found(
    monkeypatch: pytest.MonkeyPatch,
    module: Any,  # noqa: ANN401 - a module of compiled functions
    name: str,
    fault: Callable[[State], None],
    offer: str,
) -> None:
    right = getattr(module, name)

    def wrong(state: State, *arguments: object) -> int:
        verdict: int = right(state, *arguments)
        fault(state)
        return verdict

    monkeypatch.setattr(module, name, wrong)
    assert tally(Family("a few", KIP, FEW, offers=(offer,))).broken != []
