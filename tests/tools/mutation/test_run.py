import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tools.mutation import __main__ as command
from tools.mutation.__main__ import equivalents
from tools.mutation.mutants import Key, Mutant, module_names, mutants_of, sampled
from tools.mutation.run import CHECKS, QUICK, killed_by

LATE = ("spec.record", "is_lock_over", "record.deadline <= now", "record.deadline < now", 0)
ENDLESS = ("spec.window", "first_unfinished", "if after == offset:", "if False:", 0)
UNCOUNTED = ("spec.record", "acquire", "record.delivery_count + 1", "record.delivery_count - 1", 0)


def named(*key: object) -> Mutant:
    return next(mutant for mutant in mutants_of(str(key[0])) if mutant.key == key)


@pytest.mark.slow
def test_failures_and_endless_loops_are_told_apart(tmp_path: Path) -> None:
    assert killed_by(mutants_of("spec.lag")[0], ["lockstep", "own tests"], str(tmp_path)) == (
        "",
        "",
    )
    by, detail = killed_by(named(*LATE), QUICK, str(tmp_path))
    assert (by, "the implementation answers" in detail) == ("lockstep", True)
    assert killed_by(named(*ENDLESS), QUICK, str(tmp_path)) == ("lockstep", "exit status -24")


@pytest.mark.long
@pytest.mark.slow
def test_theorems_alone_notice_a_mutant(tmp_path: Path) -> None:
    check, kept = ["numbered properties"], str(tmp_path)
    assert killed_by(mutants_of("spec.record")[0], check, kept) == ("", "")  # Of unchanged code.
    by, detail = killed_by(named(*UNCOUNTED), check, kept)
    assert by == "numbered properties"
    assert "acquire " in detail


@pytest.mark.slow
def test_a_fixed_sample_is_killed_and_listed_equivalents_survive(tmp_path: Path) -> None:
    listed, kept = equivalents(), str(tmp_path)
    for package, number in ("spec", 2), ("impl", 1):
        whole = mutants_of(f"{package}.acquire")[0]
        assert killed_by(whole, ["recorded events"], kept) == ("", "")  # Of unchanged code.
        every = [mutant for name in module_names(package) for mutant in mutants_of(name)[1:]]
        telling = sampled((mutant for mutant in every if mutant.key not in listed), number, 3)
        missed = [mutant.key for mutant in telling if not killed_by(mutant, CHECKS, kept)[0]]
        assert missed == [], "neither noticed nor listed as equivalent"
        alike = sampled((mutant for mutant in every if mutant.key in listed), 1, 3)
        refuted = [mutant.key for mutant in alike if killed_by(mutant, QUICK, kept)[0]]
        assert refuted == [], "listed as equivalent, and yet noticed"


@pytest.mark.slow
def test_a_module_that_a_test_imports_again_is_the_mutant_again(tmp_path: Path) -> None:
    key = "impl.validity", "is_event", "_are_arguments(events, row) and _is_result(events, row)"
    mutant = next(m for m in mutants_of("impl.validity")[1:] if m.key[:2] == key[:2])
    assert killed_by(mutant, ["own tests"], str(tmp_path))[0] == "own tests"


def test_every_listed_equivalent_is_a_mutant_once_and_has_its_reason() -> None:
    listed = equivalents()
    groups = json.loads(Path(command.__file__).with_name("equivalent.json").read_text())
    assert sum(len(group["mutants"]) for group in groups) == len(listed)
    assert all(listed.values())
    modules = {key[0] for key in listed}
    assert set(listed) <= {mutant.key for module in modules for mutant in mutants_of(module)}


MUTANTS = mutants_of("spec.lag")[1:]


class Checks:
    """Stands for the checks: one mutant survives."""

    def __init__(self) -> None:
        self.survivor: Key | None = MUTANTS[3].key
        self.asked: list[Key] = []
        self.stop_at, self.fails_without = -1, ""

    def killed_by(self, mutant: Mutant, checks: object, kept: str) -> tuple[str, str]:
        assert checks
        assert kept
        if not mutant.key[2]:
            return self.fails_without, ""
        if len(self.asked) == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append(mutant.key)
        return ("", "") if mutant.key == self.survivor else ("lockstep", "noticed")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Checks:
    checks = Checks()
    monkeypatch.setattr(command, "killed_by", checks.killed_by)
    monkeypatch.setattr(command, "equivalents", dict)
    return checks


def mutate(*arguments: object) -> Result:
    arguments = ("spec.lag", "--processes", 1, *arguments)
    return CliRunner().invoke(command.mutate_command, [str(argument) for argument in arguments])


@pytest.mark.usefixtures("checks")
def test_survivor_exits_1_and_is_shown_below_the_table() -> None:
    result = mutate()
    assert result.exit_code == 1
    number = len(MUTANTS)
    row = f"| `spec.lag` | {number} | {number} | {number - 1} | 0 | 1 | lockstep {number - 1} |"
    assert row in result.output
    assert f"survived\n    before  {MUTANTS[3].key[2]}\n" in result.output


def test_every_mutant_killed_exits_0(checks: Checks) -> None:
    checks.survivor = None
    assert mutate().exit_code == 0


def test_listed_survivor_exits_0_and_a_listed_one_that_is_killed_1(
    checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "equivalents", lambda: {MUTANTS[3].key: "reason"})
    assert mutate().exit_code == 0
    checks.survivor = None
    result = mutate()
    assert (result.exit_code, "listed, yet killed by lockstep" in result.output) == (1, True)


def test_an_interrupt_loses_nothing_and_only_survivors_run_again(
    checks: Checks, tmp_path: Path
) -> None:
    results = tmp_path / "results.jsonl"
    checks.stop_at = 10
    assert mutate("--results", results).exit_code == 130
    assert len(results.read_text().splitlines()) == 10
    with results.open("a") as file:
        file.write('{"key": ["spec.l\n')
    checks.stop_at = -1
    assert mutate("--results", results).exit_code == 1
    assert len(checks.asked) == len(MUTANTS) + 1
    checks.asked.clear()
    assert mutate("--results", results, "--check", "lockstep").exit_code == 1
    assert checks.asked == [checks.survivor]
    checks.asked.clear()
    mutate("--results", results, "--check", "own tests")
    assert len(checks.asked) == len(MUTANTS)


def test_checks_that_fail_without_a_mutant_stop_the_run(checks: Checks) -> None:
    checks.fails_without = "own tests"
    assert "without a mutant, own tests fails" in mutate().output
