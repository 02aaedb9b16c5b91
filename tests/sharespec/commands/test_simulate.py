"""What the command makes of clusters, whatever ran them."""

import json
from collections import Counter
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.cluster.rules import judge_history
from conformance.cluster.simulated import SimulatedRun
from sharespec.cli import cli
from sharespec.commands import simulate
from tests.conformance.cluster.test_rules import FAULTS
from tests.conformance.cluster.written import Written, begun

SEED = 7


TWO_HOLDERS = FAULTS["two holders"][0]
KNOWN = begun().add("reads").add("read", error="FENCED_LEADER_EPOCH").acquired([4, 4, 1])


def shown(seed: int, folder: Path, history: Written = TWO_HOLDERS) -> SimulatedRun:
    """A run in which a member was given what another holds."""
    (folder / "history").write_text("\n".join(history.lines), encoding="utf-8")
    findings = tuple(judge_history(history.events()))
    happenings = Counter({"LeaderAnswered": 1})
    numbers = {"seed": seed, "without": frozenset[int](), "faults": 0, "digest": ""}
    places = {"history": folder / "history", "traces": folder}
    return SimulatedRun(**numbers, **places, happenings=happenings, injected=(), findings=findings)  # type: ignore[arg-type] # fields by name


def interrupted(
    monkeypatch: pytest.MonkeyPatch,
    *options: str,
    in_shrinking: bool = False,
    first: Written = TWO_HOLDERS,
) -> Result:
    """Run the command, interrupted after two clusters."""

    def runs(
        folder: Path,
        seeds: range,
        _without: object,
        _workers: object,
        tell: Callable[..., None],
        *_: object,
    ) -> None:
        for seed, history in zip(seeds, (first, TWO_HOLDERS), strict=False):
            tell(shown(seed, folder, history))
        if not in_shrinking:
            raise KeyboardInterrupt

    def shrinks(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(simulate, "simulated", runs)
    monkeypatch.setattr(simulate, "Simulator", lambda *_: StringIO())
    monkeypatch.setattr(simulate, "fewest", shrinks)
    return CliRunner().invoke(cli, ["simulate", "kafka", "--seed", str(SEED), *options])


@pytest.mark.parametrize("in_shrinking", [False, True])
def test_an_interrupt_shows_what_was_found(
    monkeypatch: pytest.MonkeyPatch, *, in_shrinking: bool
) -> None:
    result = interrupted(monkeypatch, in_shrinking=in_shrinking)
    assert result.exit_code == 130
    assert "new: ONE_HOLDER: nothing was fenced" in result.output
    assert "2: 7, 8" in result.output
    assert "2 of 200 clusters from seed 7" in result.output
    assert "✗ ONE_HOLDER: m2; expected m1" in result.output


def test_what_is_new_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    output = interrupted(monkeypatch, first=KNOWN).output
    assert output.index("new: ONE_HOLDER") < output.index("known: ONE_HOLDER")
    assert "2 kinds of findings, 1 of them new" in output


def test_what_is_known_of_one_run_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a trace shows is known by what else its run shows."""
    monkeypatch.setattr(simulate, "_known", lambda _, run: "a: b" if run.seed == SEED else "")
    lines = interrupted(monkeypatch, "--json").stdout.splitlines()
    told = [json.loads(line) for line in lines]
    assert [(each["known"], each["seeds"]) for each in told] == [(None, [8]), ("a: b", [7])]


def test_a_page_has_the_picture_of_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    interrupted(monkeypatch, "--html", str(page), "--markdown", str(text))
    assert page.read_text(encoding="utf-8").count('<table class="picture run">') == 1
    assert "✗ ONE_HOLDER: m2; expected m1" in text.read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = interrupted(monkeypatch, "--html", str(tmp_path / "none" / "report.html"))
    assert result.exit_code == 2
    assert "there is no folder" in result.output


def test_each_kind_of_finding_is_a_line_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = interrupted(monkeypatch, "--json").stdout.splitlines()
    told = json.loads(line)
    assert (told["rule"], told["seeds"], told["known"]) == ("ONE_HOLDER", [7, 8], None)
