import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sharespec.cli import cli
from sharespec.commands import drift as command
from tests.conformance.test_drift import LIMIT, text_of


@pytest.fixture
def nothing_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare no sections: the texts of most tests have just the sentences that are quoted."""
    monkeypatch.setattr(command, "pinned", lambda: ())


def shown(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["drift", *map(str, arguments)])
    return result.exit_code, result.output


def written(folder: Path, text: str) -> Path:
    path = folder / "kip.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.usefixtures("nothing_pinned")
def test_an_unchanged_text_needs_one_line_and_no_number(tmp_path: Path) -> None:
    status, output = shown(written(tmp_path, text_of(1226)))
    assert status == 0
    assert output.startswith("KIP-1226: 5 sentences are quoted; 5 stand, 0 changed, 0 are not in")


@pytest.mark.usefixtures("nothing_pinned")
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
        ("", ("--kip", "848"), "KIP-848 is not quoted; allowed: 932, 1191, 1206"),
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


OLD = "KIP-1\n\nPersistence\n\nThe count is written. It is an integer.\n\nTest Plan\n\nTests.\n"


def test_the_sections_of_two_texts_are_compared(tmp_path: Path) -> None:
    quoted = text_of(1226)
    old = written(tmp_path, OLD + quoted)
    new = tmp_path / "new.txt"
    new.write_text(OLD.replace("an integer", "a long") + quoted, encoding="utf-8")
    status, output = shown(new, "--kip", "1226", "--since", old, "--heading", "Test Plan")
    assert status == 1
    assert "1 changed, 0 are not in the text, 0 are new" in output
    assert "changed: section Persistence: 1 sentences stand, 1 do not, 1 are new" in output
    assert "line 5: It is a long." in output
    assert "functions: spec.writes.make_write" in output
    status, output = shown(old, "--kip", "1226", "--since", old)
    assert status == 0
    assert "0 changed, 0 are not in the text, 0 are new" in output
    *_, line = shown(new, "--kip", "1226", "--since", old, "--json")[1].splitlines()
    found = json.loads(line)
    assert (found["section"], found["stand"], found["gone"]) == ("Persistence", 1, 1)
    assert found["new"] == [{"line": 5, "text": "It is a long."}]


def test_digests_stand_for_the_text_that_they_are_of(tmp_path: Path) -> None:
    text = OLD + text_of(1226)
    status, digests = shown(written(tmp_path, text), "--kip", "1226", "--pin")
    assert status == 0
    assert "written" not in digests
    pins = tmp_path / "pins.json"
    pins.write_text(digests)
    assert shown(written(tmp_path, text), "--kip", "1226", "--since", pins)[0] == 0
    shorter = written(tmp_path, text.replace(" It is an integer.", ""))
    status, output = shown(shorter, "--kip", "1226", "--since", pins)
    assert status == 1
    assert "changed: section Persistence: 1 sentences stand, 1 do not, 0 are new" in output
    pins.write_text("{}")
    status, output = shown(shorter, "--kip", "1226", "--since", pins)
    assert status == 2
    assert output.startswith("sharespec: these are no digests; allowed: a text, or what")


def test_a_page_that_lacks_pinned_sections_says_so(tmp_path: Path) -> None:
    status, output = shown(written(tmp_path, text_of(932)))
    assert status == 1
    assert "changed: section Examples with share-group state" in output
    assert "vectors: the-table-of-kip-932" in output
    assert "Of the older text not all is known" in output


def test_a_text_of_too_many_sentences_is_one_line(tmp_path: Path) -> None:
    status, output = shown(written(tmp_path, text_of(932) + "a\n" * 10_001))
    assert status == 2
    assert output.count("\n") == 1
    assert "sentences; allowed: at most 10,000" in output
