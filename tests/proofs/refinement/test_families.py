"""The implementation refines the specification for whole small sizes; planted faults are found."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from impl import acknowledge, acquire, expiry, leadership, writes
from impl import layout as at
from impl.state import State
from model.guards import Guard
from model.profile import KIP
from proofs.refinement.check import Tally
from proofs.refinement.families import FAMILIES, FEW, QUICK, Family, tally


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
    assert [broken.wrong for broken in tally(family).broken] == []


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
