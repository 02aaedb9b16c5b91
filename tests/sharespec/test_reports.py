"""Where a report goes is tried first, and nothing is left of the trial."""

import os
import resource
from pathlib import Path

import click
import pytest

from sharespec.exit import Exit
from sharespec.reports import writable_file, write_reports

COMMAND = click.Command("x")
OPTION = click.Option(["--html"])


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
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        status = write_reports([(path, lambda: long) for path in (before, link, new)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert status is Exit.COULD_NOT_RUN
    assert before.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["before", "link"]
    assert write_reports([(link, lambda: "short")]) is Exit.WELL
    assert link.is_symlink()
    assert before.read_text() == "short"
