from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.documents import __main__ as command
from tools.documents.generated import DOCUMENTS, Rewrite, changed


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_current(name: str) -> None:
    assert list(changed({name: DOCUMENTS[name]})) == [], "run: python -m tools.documents"


def test_the_command_lists_and_writes_only_what_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, current = tmp_path / "old.md", tmp_path / "current.md"
    documents: dict[str, Rewrite] = {"old.md": str.upper, "current.md": str}
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "changed", lambda _all: changed(documents, tmp_path))
    for path in (old, current):
        path.write_text("text")
    check = CliRunner().invoke(command.main, ["--check"])
    assert (check.exit_code, check.output, old.read_text()) == (1, "old.md\n", "text")
    write = CliRunner().invoke(command.main, [])
    assert (write.exit_code, write.output, old.read_text()) == (0, "old.md\n", "TEXT")
    assert CliRunner().invoke(command.main, ["--check"]).exit_code == 0
