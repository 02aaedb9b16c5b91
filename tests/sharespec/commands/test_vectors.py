"""``sharespec vectors``: it writes the files that are not current, or lists them."""

import json
from pathlib import Path

import pytest

from conformance.vectors.source import Case, CaseError, cases
from sharespec.commands import vectors as cli_vectors
from tests.sharespec.running import runner


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: cases()[name][:1] for name in ("limits", "locks")}
    monkeypatch.setattr(cli_vectors, "cases", lambda: few)


run = runner("vectors")


def test_it_writes_only_files_that_are_not_current(tmp_path: Path) -> None:
    out = tmp_path / "new"
    assert run(str(out), "--check").exit_code == 2
    assert run(str(out)).output == f"2 files in {out}, 2 of them written\n"
    assert json.loads((out / "limits.json").read_text())["format"] == 1
    assert run(str(out)).output == f"2 files in {out}, 0 of them written\n"
    assert run(str(out), "--check").exit_code == 0


def test_check_lists_files_that_are_not_current(tmp_path: Path) -> None:
    run(str(tmp_path))
    (tmp_path / "limits.json").write_text("{}")
    (tmp_path / "odd.json").write_text("{}")
    result = run(str(tmp_path), "--check")
    assert result.exit_code == 1
    assert result.output == (
        f"{tmp_path}/limits.json is not current\n{tmp_path}/odd.json is not current\n"
    )


def test_an_error_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    result = run(str(tmp_path / "file" / "under"))
    assert result.exit_code == 2
    assert result.output.startswith("sharespec: ")

    def broken() -> dict[str, tuple[Case, ...]]:
        raise CaseError("limits.toml: v: no")

    monkeypatch.setattr(cli_vectors, "cases", broken)
    result = run(str(tmp_path))
    assert (result.exit_code, result.output) == (2, "sharespec: limits.toml: v: no\n")
