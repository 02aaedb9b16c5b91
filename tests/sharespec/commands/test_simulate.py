"""What the command makes of clusters, whatever ran them."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.cluster.rules import judge_history
from conformance.cluster.simulated import SimulatedRun
from sharespec.cli import cli
from sharespec.commands import simulate
from tests.conformance.cluster.test_rules import FAULTS

SEED = 7


def shown(seed: int, folder: Path) -> SimulatedRun:
    """A run in which a member was given what another holds."""
    findings = tuple(judge_history(FAULTS["two holders"][0].events()))
    happenings = Counter({"LeaderAnswered": 1})
    numbers = {"seed": seed, "without": frozenset[int](), "faults": 0, "digest": ""}
    places = {"history": folder / "history", "traces": folder}
    return SimulatedRun(**numbers, **places, happenings=happenings, injected=(), findings=findings)  # type: ignore[arg-type] # fields by name


def interrupted(monkeypatch: pytest.MonkeyPatch, *options: str) -> Result:
    """Run the command, interrupted after two clusters."""

    def runs(
        folder: Path,
        seeds: range,
        _without: object,
        _workers: object,
        tell: Callable[..., None],
        *_: object,
    ) -> None:
        for seed in seeds[:2]:
            tell(shown(seed, folder))
        raise KeyboardInterrupt

    monkeypatch.setattr(simulate, "simulated", runs)
    return CliRunner().invoke(cli, ["simulate", "kafka", "--seed", str(SEED), *options])


def test_an_interrupt_shows_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    result = interrupted(monkeypatch)
    assert result.exit_code == 130
    assert "new: ONE_HOLDER: nothing was fenced" in result.output
    assert "2: 7, 8" in result.output
    assert "2 of 200 clusters from seed 7" in result.output


def test_each_kind_of_finding_is_a_line_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = interrupted(monkeypatch, "--json").stdout.splitlines()
    told = json.loads(line)
    assert (told["rule"], told["seeds"], told["known"]) == ("ONE_HOLDER", [7, 8], None)
