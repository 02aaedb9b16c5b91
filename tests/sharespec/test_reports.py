"""Where a report goes is tried first, and nothing is left of the trial."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from conformance.vectors.source import cases
from replay.check import compile_ahead
from replay.plan import Plan
from sharespec.cli import cli
from sharespec.commands import vectors
from sharespec.exit import Exit
from sharespec.reports import writable_file, write_reports
from tests.sharespec.running import diverging

TABLES = {"verdicts.parquet", "divergences.parquet", "lag/part-00000.parquet"}
WRITERS = {
    "replay --out out": {f"out/{name}" for name in TABLES},
    "replay --html page.html": {"page.html"},
    "replay --junit junit.xml": {"junit.xml"},
    "replay --markdown new.md": {"new.md"},
    "replay --write-known known.toml": {"known.toml"},
    "replay --state states": {"states/states.txt"},
    "view --html page.html": {"page.html"},
    "convert --out lines.jsonl": {"lines.jsonl"},
    "convert --out rows.parquet": {"rows.parquet"},
}
"""Commands that write, and what."""

COMMAND = click.Command("x")
OPTION = click.Option(["--html"])


@contextmanager
def full_at(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def tried(path: Path | None) -> Path | None:
    return writable_file(click.Context(COMMAND), OPTION, path)


def test_a_file_that_can_be_written_stays_as_it_is(tmp_path: Path) -> None:
    old, new, pipe = tmp_path / "old", tmp_path / "new", tmp_path / "pipe"
    old.write_text("old")
    os.mkfifo(pipe)
    for path in (None, old, new, pipe, Path(os.devnull)):
        assert tried(path) == path
    assert old.read_text() == "old"
    assert not new.exists()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/no/such/folder/x", "there is no folder /no/such/folder"),
        ("/proc/none", "/proc/none: No such file or directory"),
    ],
)
def test_a_file_that_cannot_is_refused(path: str, text: str) -> None:
    with pytest.raises(click.BadParameter, match=text):
        tried(Path(path))


def test_all_that_can_be_written_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, last = tmp_path / "first", tmp_path / "last"
    full = Path("/dev/full")
    reports = [(first, lambda: "1"), (full, lambda: "2"), (None, lambda: "3"), (last, lambda: "4")]
    assert write_reports(reports) is Exit.COULD_NOT_RUN
    assert capsys.readouterr().err == "sharespec: /dev/full: No space left on device\n"
    assert (first.read_text(), last.read_text()) == ("1", "4")
    assert write_reports(reports[:1]) is Exit.WELL


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """The disk is full: no file may grow beyond 64 KiB."""
    before, link, new = tmp_path / "before", tmp_path / "link", tmp_path / "new"
    before.write_text("old")
    link.symlink_to(before)
    long = "x" * (1 << 20)
    with full_at(1 << 16):
        status = write_reports([(path, lambda: long) for path in (before, link, new)])
    assert status is Exit.COULD_NOT_RUN
    assert before.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["before", "link"]
    assert write_reports([(link, lambda: "short")]) is Exit.WELL
    assert link.is_symlink()
    assert before.read_text() == "short"


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.parquet"])
@pytest.mark.parametrize("line", WRITERS)
def test_on_a_full_disk_a_command_ends_with_one_line_and_nothing_partial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, name: str
) -> None:
    """Lines need room before they are checked, rows of Parquet that are in order do not."""
    diverging(tmp_path / name, 30)
    monkeypatch.chdir(tmp_path)
    compile_ahead(Plan())  # It writes what it compiles.
    before = set(tmp_path.rglob("*"))
    command, *options = line.split()
    ended = set()
    for size in (0, 300, 3000, 20_000, 150_000):
        with full_at(size):
            done = CliRunner().invoke(cli, [command, name, *options])
        new = set(tmp_path.rglob("*")) - before
        left = {str(p.relative_to(tmp_path)) for p in new if p.is_file() or not list(p.iterdir())}
        is_full = "File too large" in done.stderr
        ended.add(is_full)
        assert left == (set() if is_full else WRITERS[line])
        assert not is_full or done.exit_code
        assert not is_full or len(done.stderr.splitlines()) == 1
    assert ended == {True, False}


@pytest.mark.parametrize("line", ["generate out/new --partitions 1 --events 9", "vectors out/new"])
def test_on_a_full_disk_no_folder_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(vectors, "cases", lambda: {"locks": cases()["locks"][:1]})
    with full_at(300):
        done = CliRunner().invoke(cli, line.split())
    assert done.exit_code == Exit.COULD_NOT_RUN
    assert done.stderr.endswith("File too large\n")
    assert not list(tmp_path.iterdir())
    assert CliRunner().invoke(cli, line.split()).exit_code == Exit.WELL
