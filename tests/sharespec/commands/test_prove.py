import json
import re

import pytest

from proofs.theorems import reachable
from proofs.theorems.catalogue import theorems_about
from spec.record import Record
from tests.proofs.standing import HARD
from tests.sharespec.running import runner

run = runner("prove")


def test_one_line_for_each_transition_and_property() -> None:
    result = run("--only", "owner_iff_held")
    lines = result.output.splitlines()
    assert result.exit_code == 0
    assert lines[2].startswith("accept preserves owner_iff_held ")
    assert re.search(r" proved \d+\.", lines[2])
    assert lines[-1].startswith("18 of 18 theorems proved in 55 cases, 18 wit")


def test_controls_are_shown() -> None:
    result = run("--only", "what_is_written_stays_terminal", "--controls")
    assert result.exit_code == 0
    assert "fails, as it must, if commit makes the record AVAILABLE" in result.output
    assert "1 controls fail" in result.output


def test_json_has_one_object_a_line() -> None:
    arguments = ["--only", "accept owner_iff_held", "--json", "--controls"]
    result = run(*arguments)
    first = json.loads(result.output)
    assert (first["verdict"], first["control"]["fails"]) == ("proved", True)
    assert first["witness_after_operations"] > 0
    assert "def test_accept_owner_iff_held" in first["control"]["counterexample"]


def test_wrong_rule_exits_1_and_prints_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "spec.acknowledge.renew"
    monkeypatch.setattr(wrong, lambda record, _deadline: Record(1, record.delivery_count))
    # Also the states that witnesses come from are those of the wrong rule, and are not kept.
    monkeypatch.setattr(reachable, "run_states", reachable.run_states.__wrapped__)
    monkeypatch.setattr(reachable, "_known", lambda _kind: {})
    result = run("--only", "renew owner_iff_held")
    assert result.exit_code == 1
    assert "NOT TRUE" in result.output
    assert "def test_renew_owner_iff_held() -> None:" in result.output


def test_time_limit_exits_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharespec.commands.prove.THEOREMS", (HARD,))
    result = run("--limit-ms", "1")
    assert result.exit_code == 1
    assert "UNKNOWN" in result.output
    assert "0 of 1 theorems proved" in result.output


def test_a_number_names_its_properties() -> None:
    result = run("--list", "--only", "43")
    heads = [line for line in result.output.splitlines() if not line.startswith(" ")]
    assert result.exit_code == 0
    assert heads
    assert all(" [43]" in head.partition(":")[0] for head in heads)


@pytest.mark.parametrize("many", [2, 3])
def test_without_only_there_is_a_line_for_each_property(
    monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr("sharespec.commands.prove._MANY", many)
    two = tuple(theorems_about("owner_iff_held")[:2])
    monkeypatch.setattr("sharespec.commands.prove.THEOREMS", two)
    short, whole = (run(*more).stdout for more in ([], ["--all"]))
    assert [line.split()[0] for line in short.splitlines()] == ["owner_iff_held", "2"]
    assert [line.split()[0] for line in whole.splitlines()] == ["enter", "acquire", "2"]


def test_what_is_not_proved_is_shown_in_a_summary_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharespec.commands.prove.THEOREMS", (HARD,))
    lines = run("--limit-ms", "1").stdout.splitlines()
    assert "undecided: " in lines[1]
    assert "0 of 1    NOT PROVED: 1" in lines[-2]
