import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tools.mutation import __main__ as command
from tools.mutation.__main__ import CHECKS, equivalents, killed_by
from tools.mutation.mutants import Key, module_names, mutants_of, sampled
from tools.mutation.scores import SURVIVORS, TABLE, with_scores

LATE = ("spec.record", "is_lock_over", "record.deadline <= now", "record.deadline < now", 0)
ENDLESS = ("spec.window", "first_unfinished", "if after == offset:", "if False:", 0)
UNCOUNTED = ("spec.record", "acquire", "record.delivery_count + 1", "record.delivery_count - 1", 0)
QUICK = ("lockstep", "recorded events", "own tests")


def whole(module: str) -> Key:
    return module, "", "", "", 0


def killed(key: Key, kept: Path, *checks: str) -> tuple[str, str]:
    return killed_by(key, mutants_of(key[0])[key](), checks, str(kept))


@pytest.mark.slow
def test_failures_and_endless_loops_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert killed(whole("spec.lag"), tmp_path, "lockstep", "own tests") == ("", "")
    by, detail = killed(LATE, tmp_path, *QUICK)
    assert (by, "the implementation answers" in detail) == ("lockstep", True)
    monkeypatch.setitem(CHECKS, "lockstep", (5, *CHECKS["lockstep"][1:]))
    assert killed(ENDLESS, tmp_path, *QUICK) == ("lockstep", "exit status -24")


@pytest.mark.long
@pytest.mark.slow
def test_theorems_alone_notice_a_mutant(tmp_path: Path) -> None:
    assert killed(whole("spec.record"), tmp_path, "theorems") == ("", "")
    by, detail = killed(UNCOUNTED, tmp_path, "theorems")
    assert (by, "acquire " in detail) == ("theorems", True)


@pytest.mark.long
@pytest.mark.slow
def test_a_fixed_sample_is_killed_and_listed_equivalents_survive(tmp_path: Path) -> None:
    listed = equivalents()
    for package, number in ("spec", 2), ("impl", 1):
        assert killed(whole(f"{package}.acquire"), tmp_path, "recorded events") == ("", "")
        every = [key for name in module_names(package) for key in mutants_of(name) if any(key[1:])]
        telling = sampled((key for key in every if key not in listed), number, 3)
        missed = [key for key in telling if not killed(key, tmp_path, *CHECKS)[0]]
        assert missed == [], "neither noticed nor listed as equivalent"
        alike = sampled((key for key in every if key in listed), 1, 3)
        refuted = [key for key in alike if killed(key, tmp_path, *QUICK)[0]]
        assert refuted == [], "listed as equivalent, and yet noticed"


@pytest.mark.slow
def test_a_module_that_a_test_imports_again_is_the_mutant_again(tmp_path: Path) -> None:
    key = next(key for key in mutants_of("impl.validity") if key[1] == "are_events")
    assert killed(key, tmp_path, "own tests")[0] == "own tests"


def test_every_listed_equivalent_is_a_mutant_once_and_has_its_reason() -> None:
    listed = equivalents()
    groups = json.loads(Path(command.__file__).with_name("equivalent.json").read_text())
    assert sum(len(group["mutants"]) for group in groups) == len(listed)
    assert all(listed.values())
    assert set(listed) <= {
        key for module in {key[0] for key in listed} for key in mutants_of(module)
    }


MUTANTS = [*mutants_of("spec.lag")][1:]


def mutate(monkeypatch: pytest.MonkeyPatch, survivor: Key, *listed: Key) -> Result:
    """Let checks stand in that notice every mutant but one, or fail on the unchanged module."""

    def notice(key: Key, _source: str, checks: object, kept: str) -> tuple[str, str]:
        assert checks
        assert kept
        alive = key == survivor or (not any(key[1:]) and any(survivor[1:]))
        return ("", "") if alive else ("lockstep", "noticed")

    monkeypatch.setattr(command, "killed_by", notice)
    monkeypatch.setattr(command, "equivalents", lambda: dict.fromkeys(listed, "reason"))
    return CliRunner().invoke(command.mutate_command, ["spec.lag"])


def test_only_a_survivor_that_is_not_listed_and_a_listed_one_that_is_killed_exit_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = MUTANTS[3], MUTANTS[4]
    survives = mutate(monkeypatch, one)
    assert (survives.exit_code, "survived" in survives.output) == (1, True)
    assert f"{len(MUTANTS)} mutants, 1 of them wrong" in survives.output
    assert mutate(monkeypatch, one, one).exit_code == 0
    listed = mutate(monkeypatch, one, one, other)
    assert (listed.exit_code, listed.output.count("WRONG")) == (1, 1)


def test_checks_that_fail_without_a_mutant_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = ("", "", "", "", 0)
    assert "without a mutant, lockstep fails" in mutate(monkeypatch, nobody).output


def test_scores_count_kills_by_numbered_properties_apart_and_keep_reasons() -> None:
    empty = "".join(f"<!-- begin: {part} --><!-- end: {part} -->" for part in (TABLE, SURVIVORS))
    numbered, other, alike, alive = MUTANTS[:4]
    said = {numbered: "AssertionError: (50, 7) name", other: "AssertionError: () name"}
    fates = {key: ("theorems" if key in said else "", said.get(key, "")) for key in MUTANTS[:4]}
    given = fates, {"spec.lag": 33}, [alike], ("abc", "2026-11-27")
    page = with_scores(empty, *given)
    assert "| `spec.lag` | 33 | 4 | 1 | 1 | 1 | 1 | 33.3 % | abc | 2026-11-27 |" in page
    assert f"`{alive[1]}`" in page
    told = page.replace("Not looked into.", "A reason.")
    assert with_scores(told, *given) == told
    assert "| all | 66 | 8 | 2 | 2 | 2 | 2 | 33.3 % |" in with_scores(
        told.replace("`spec.lag`", "`spec.log`"), *given
    )
