"""What rests on the sections of the KIPs is what the inventory and the docstrings say."""

import ast
import json
from pathlib import Path

import pytest

from tools.documents import resting
from tools.documents.resting import table

ROOT = Path(__file__).parents[3]
ROWS = {(row["source"], row["section"]): row for row in json.loads(table())}


def test_every_function_test_and_decision_exists() -> None:
    for row in ROWS.values():
        for function in row["functions"]:
            module, _, name = function.rpartition(".")
            tree = ast.parse(ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text())
            assert name in {getattr(node, "name", None) for node in ast.walk(tree)} or any(
                isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree)
            ), function
        for test in row["tests"]:
            path, _, name = test.partition("::")
            assert f"def {name}(" in (ROOT / path).read_text()
    decisions = {number for row in ROWS.values() for number in row["decisions"]}
    assert decisions
    assert max(decisions) < 500


def test_functions_are_those_of_the_inventory_and_of_docstrings() -> None:
    row = ROWS["KIP-932", "In-flight records"]
    assert "model.states.RecordState" in row["functions"]  # of the inventory
    assert "spec.writes.make_write" in ROWS["KIP-1226", "Persistence"]["functions"]  # a docstring
    assert all(kip and section for kip, section in ROWS)


def test_a_decision_rests_on_the_section_that_it_names_or_that_its_test_is_about(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "spec").mkdir()
    (tmp_path / "docs" / "decisions.md").write_text(
        "| 301 | KIP-932, Error codes: which? | This. | `tests/spec/test_x.py::test_none` |\n"
        "| 302 | Which? | That. | `tests/rules/test_lag.py::"
        "test_a_durable_lag_counts_from_the_durable_start_offset` |\n"
        "| 303 | Which? | None. | `tests/spec/test_x.py::test_none` |\n"
    )
    monkeypatch.setattr(resting, "_ROOT", tmp_path)
    rows = {(row["source"], row["section"]): row["decisions"] for row in json.loads(table())}
    assert rows["KIP-932", "Error codes"] == [301]
    assert rows["KIP-1226", "Future work"] == [302]
    assert not any(303 in of for of in rows.values())
