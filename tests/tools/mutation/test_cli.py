import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tools.mutation import cli
from tools.mutation.checks import QUICK, NoCheckoutError
from tools.mutation.cli import mutate_command, selected
from tools.mutation.mutants import Key, Mutant, mutants_of
from tools.mutation.report import BEGIN, END
from tools.mutation.run import MutantJudgement

MUTANTS = mutants_of("spec.lag")
SURVIVOR = MUTANTS[3]


class Checks:
    """Stands for the checks: one mutant survives, and what was asked is noted."""

    def __init__(self) -> None:
        self.asked: list[Mutant] = []
        self.survivors = {SURVIVOR.key}
        self.listed: dict[Key, str] = {}
        self.stop_after = len(MUTANTS) + 1
        self.without_mutant = ""
        self.names: list[Sequence[str] | None] = []

    def judgements(
        self, mutants: Sequence[Mutant], _processes: int, names: Sequence[str] | None = None
    ) -> Iterator[MutantJudgement]:
        if mutants:
            self.names.append(names)
        for number, mutant in enumerate(mutants):
            if number > self.stop_after:
                raise KeyboardInterrupt
            self.asked.append(mutant)
            if mutant.index < 0:
                by = self.without_mutant
            else:
                by = "" if mutant.key in self.survivors else "lockstep"
            yield MutantJudgement(mutant, by, "noticed", 0.1)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Checks:
    checks = Checks()
    monkeypatch.setattr(cli, "judgements", checks.judgements)
    monkeypatch.setattr(cli, "equivalents", lambda: checks.listed)
    return checks


def mutate(*arguments: object) -> Result:
    return CliRunner().invoke(mutate_command, [str(argument) for argument in arguments])


def test_survivor_exits_1_and_is_shown(checks: Checks) -> None:
    result = mutate("spec.lag")
    assert result.exit_code == 1
    assert f"survived: spec/lag.py:{SURVIVOR.line}" in result.output
    assert [mutant for mutant in checks.asked if mutant.index >= 0] == MUTANTS
    assert checks.asked[0].index == -1


def test_everything_noticed_exits_0(checks: Checks) -> None:
    checks.survivors = set()
    result = mutate("spec.lag", "--json")
    assert result.exit_code == 0
    assert json.loads(result.output)["killed"] == len(MUTANTS)


def test_listed_survivor_exits_0_and_listed_one_that_is_noticed_1(checks: Checks) -> None:
    checks.listed = {SURVIVOR.key: "reason"}
    assert mutate("spec.lag").exit_code == 0
    assert checks.names == [None, list(QUICK)]
    checks.survivors = set()
    result = mutate("spec.lag")
    assert result.exit_code == 1
    assert "listed, yet killed" in result.output


def test_results_are_kept_and_only_survivors_run_again(checks: Checks, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    checks.stop_after = 10
    stopped = mutate("spec.lag", "--results", results)
    assert stopped.exit_code == 130
    assert len(results.read_text().splitlines()) == 10
    assert f"10 of {len(MUTANTS):>4} mutants" in stopped.output
    checks.stop_after = len(MUTANTS) + 1
    assert mutate("spec.lag", "--results", results).exit_code == 1
    checks.asked.clear()
    assert mutate("spec.lag", "--results", results).exit_code == 1
    assert [mutant for mutant in checks.asked if mutant.index >= 0] == [SURVIVOR]
    checks.listed = {SURVIVOR.key: "reason"}
    checks.asked.clear()
    assert mutate("spec.lag", "--results", results).exit_code == 0
    assert checks.asked == []


def test_a_tier_runs_only_its_checks_and_forgets_what_others_killed(
    checks: Checks, tmp_path: Path
) -> None:
    results = tmp_path / "results.jsonl"
    checks.listed = {SURVIVOR.key: "reason"}
    mutate("spec.lag", "--results", results)
    checks.names.clear()
    checks.asked.clear()
    mutate("spec.lag", "--results", results, "--checks", "own tests, import")
    assert checks.names == [("own tests", "import")]
    assert len([mutant for mutant in checks.asked if mutant.index >= 0]) == len(MUTANTS) - 1


def test_a_tier_is_of_checks_that_exist_and_writes_no_document(tmp_path: Path) -> None:
    result = mutate("spec.lag", "--checks", "own tests,nothing")
    assert result.exit_code == 2
    assert "'nothing' is no check; allowed: import, lockstep, recorded events" in result.output
    document = tmp_path / "mutation.md"
    document.write_text(f"# Title\n{BEGIN}\n{END}\n")
    result = mutate("spec.lag", "--checks", "import", "--document", document)
    assert (result.exit_code, result.output) == (
        2,
        "Error: --checks is 'import'; allowed: all checks, with --document\n",
    )


def test_sample_is_the_same_every_time(checks: Checks) -> None:
    for _ in range(2):
        mutate("spec.lag", "--sample", 5, "--seed", 4)
    sample = [mutant for mutant in checks.asked if mutant.index >= 0]
    assert len(sample) == 10
    assert sample[:5] == sample[5:]
    assert sample[:5] != MUTANTS[:5]


def test_document_gets_the_scores(checks: Checks, tmp_path: Path) -> None:
    document = tmp_path / "mutation.md"
    document.write_text(f"# Title\n{BEGIN}\n{END}\n")
    checks.survivors = set()
    assert mutate("spec.lag", "--document", document).exit_code == 0
    assert f"| `spec.lag` | {len(MUTANTS)} | {len(MUTANTS)} | " in document.read_text()


def test_files_that_cannot_be_used_exit_2_before_anything_runs(
    checks: Checks, tmp_path: Path
) -> None:
    nowhere = tmp_path / "no folder" / "results.jsonl"
    result = mutate("spec.lag", "--results", nowhere)
    assert (result.exit_code, result.output) == (
        2,
        f"Error: {nowhere}: No such file or directory\n",
    )
    plain = tmp_path / "plain.md"
    plain.write_text("no table")
    result = mutate("spec.lag", "--document", plain)
    assert result.exit_code == 2
    assert result.output.startswith("Error: document is 'no table'; allowed: one <!-- begin")
    assert checks.asked == []


def test_checks_that_fail_without_a_mutant_exit_2(checks: Checks) -> None:
    checks.without_mutant = "own tests"
    result = mutate("spec.lag")
    assert result.exit_code == 2
    assert "Error: without a mutant, own tests fails: noticed" in result.output


def test_of_the_hazards_only_the_draft_has_mutants() -> None:
    found = {mutant.module for mutant in selected(["proofs.hazards"])}
    names = ("consumer", "leader", "readings", "record")
    assert found == {f"proofs.hazards.draft_{name}" for name in names}
    assert found < {mutant.module for mutant in selected([])}


def test_unknown_module_exits_2_with_one_line() -> None:
    result = mutate("spec.nothing")
    assert result.exit_code == 2
    assert result.output == (
        "Error: MODULE is 'spec.nothing'; allowed: spec, impl or a module of them: spec.record\n"
    )


def test_without_a_checkout_it_exits_2_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise NoCheckoutError("no tests")

    monkeypatch.setattr(cli, "require_checkout", none)
    assert mutate().output == "Error: no tests\n"
    assert mutate().exit_code == 2
