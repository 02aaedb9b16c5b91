import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sharespec.cli import cli
from tests.conformance.test_drift import LIMIT, text_of


def shown(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["drift", *map(str, arguments)])
    return result.exit_code, result.output


def written(folder: Path, text: str) -> Path:
    path = folder / "kip.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_unchanged_text_needs_one_line_and_no_number(tmp_path: Path) -> None:
    status, output = shown(written(tmp_path, text_of(1226)))
    assert status == 0
    assert output.startswith("KIP-1226: 5 sentences are quoted; 5 stand, 0 changed, 0 are not in")


def test_a_changed_sentence_is_shown_with_the_new_words(tmp_path: Path) -> None:
    text = text_of(932).replace("not eligible", "never again\x1b[31m eligible")
    status, output = shown(written(tmp_path, text), "--kip", "932")
    assert status == 1
    assert "changed: In-flight records" in output
    assert "never again" in output
    assert "\x1b[31m" not in output
    assert "vectors: " in output
    status, lines = shown(written(tmp_path, text), "--json")
    (line,) = lines.splitlines()
    found = json.loads(line)
    assert (status, found["quoted"], found["fate"]) == (1, LIMIT, "changed")
    assert len(shown(written(tmp_path, text), "--json", "--all")[1].splitlines()) > 20


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("nothing of it", (), "no sentence that is quoted of a KIP stands in the text"),
        ("nothing of it", ("--kip", "932"), "no sentence that is quoted of KIP-932 stands"),
        ("", ("--kip", "848"), "KIP-848 is not quoted; allowed: 932, 1191"),
        ("x" * (9 << 20), (), "the text is longer than 8,388,608 characters"),
    ],
)
def test_a_text_of_something_else_is_one_line(
    tmp_path: Path, text: str, arguments: tuple[str, ...], message: str
) -> None:
    status, output = shown(written(tmp_path, text), *arguments)
    assert status == 2
    assert message in output
    assert len(output.splitlines()) == 1


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    status, output = shown(tmp_path / "none.txt")
    assert status == 2
    assert "No such file" in output
