import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.replay.observed.real import altered
from tests.replay.observed.test_run import _counted_twice
from tests.sharespec.running import runner

ARGUMENTS = ("--delivery-limit", "5", "--not-compacted")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "kafka-request.log"
    file.write_text("".join(altered("SHARE_FETCH", 2, _counted_twice)))
    return file


def replayed(log: Path, *more: object) -> Result:
    return runner("replay")(log, *ARGUMENTS, *more)


def known(folder: Path, *signature: str) -> str:
    file = folder / "known.toml"
    text = f'[[deviation]]\nname = "known-here"\nreason = "r"\nsignature = {list(signature)}\n'
    file.write_text(text)
    return str(file)


def test_what_a_file_names_is_known_and_ends_well(log: Path) -> None:
    result = replayed(log, "--known", known(log.parent, "ACQUIRED", "acquire"))
    assert result.exit_code == 0
    assert "known-here" in result.output
    assert "0 new divergences, 1 known" in result.output


def test_what_is_written_is_known_to_the_next_replay(log: Path) -> None:
    file = str(log.parent / "known.toml")
    assert replayed(log, "--write-known", file).exit_code == 1
    assert replayed(log, "--known", file).exit_code == 0


def test_what_no_file_names_is_new(log: Path) -> None:
    result = replayed(log, "--known", known(log.parent, "ACQUIRED", "acknowledge"), "--json")
    *lines, totals = map(json.loads, result.stdout.splitlines())
    assert result.exit_code == 1
    assert (totals["new"], totals["known"], totals["gone"]) == (1, 0, ["known-here"])
    [divergence] = lines[0]["divergences"]
    assert divergence["signature"] == ["ACQUIRED", "acquire"]
    assert divergence["line"] == 210


def test_findings_are_in_every_document(log: Path) -> None:
    files = [log.with_name(name) for name in ("page.html", "findings.md", "findings.xml")]
    options = ("--html", "--markdown", "--junit")
    result = replayed(log, *(one for pair in zip(options, files, strict=True) for one in pair))
    assert result.exit_code == 1
    for file in files:
        assert "acquires with delivery count 3" in file.read_text()
