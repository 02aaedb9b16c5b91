"""The examples of docs/operations.md print what the document shows."""

import re
from itertools import takewhile

import pytest
from click.testing import CliRunner

from sharespec.cli import cli
from tests.test_documents import ROOT

DOCUMENT = (ROOT / "docs" / "operations.md").read_text()
EXAMPLES = re.findall(r"^    \$ sharespec (.+)\n((?:    .*\n|\n)+)", DOCUMENT, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[c for c, _ in EXAMPLES])
def test_an_example_prints_what_the_document_shows(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    printed = CliRunner().invoke(cli, command.split()).stdout.rstrip().splitlines()
    lines = [line[4:].rstrip() for line in shown.rstrip().splitlines()]
    expected = list(takewhile("...".__ne__, lines))
    if expected == lines:
        assert len(printed) == len(lines)
    assert [line.rstrip() for line in printed[: len(expected)]] == expected
    assert len(expected) > 3


def test_each_command_has_an_example() -> None:
    names = [command.split()[0] for command, _ in EXAMPLES]
    assert names == ["describe", "in-flight", "explain", "explain"]
