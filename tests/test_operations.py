"""The examples of docs/operations.md print what the document shows."""

import re
from itertools import takewhile

import click
import pytest
from click.testing import CliRunner

from sharespec.cli import cli
from sharespec.commands.describe import describe_command
from sharespec.commands.in_flight import in_flight_command
from sharespec.commands.metrics import metrics_command
from tests.test_documents import ROOT

COMMANDS: dict[str, click.Command] = {
    "describe": describe_command,
    "in-flight": in_flight_command,
    "metrics": metrics_command,
}
DOCUMENT = (ROOT / "docs" / "operations.md").read_text()
EXAMPLES = re.findall(r"^    \$ sharespec (.+)\n((?:    .*\n|\n)+)", DOCUMENT, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[c.split()[0] for c, _ in EXAMPLES])
def test_an_example_prints_what_is_shown(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    name, *arguments = command.split()
    printed = CliRunner().invoke(COMMANDS[name], arguments).stdout.rstrip().splitlines()
    lines = [line[4:].rstrip() for line in shown.rstrip().splitlines()]
    expected = list(takewhile("...".__ne__, lines))
    if expected == lines:
        assert len(printed) == len(lines)
    assert [line.rstrip() for line in printed[: len(expected)]] == expected
    assert len(expected) > 3


def test_each_command_has_an_example() -> None:
    assert [command.split()[0] for command, _ in EXAMPLES] == list(COMMANDS)
    assert {name: cli.commands[name] for name in COMMANDS} == COMMANDS
