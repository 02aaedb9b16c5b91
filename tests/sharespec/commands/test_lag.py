import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sharespec.commands.lag import lag_command
from tests.operations.test_lag_plot import write


def run(*arguments: object) -> Result:
    return CliRunner().invoke(lag_command, [str(argument) for argument in arguments])


def test_the_plot_is_written_beside_the_lag_or_where_asked_for(tmp_path: Path) -> None:
    folder = write(tmp_path, ("g:t:0", [1, 4]), ("g:t:1", [2, 2]))
    done = run(folder)
    assert (done.exit_code, done.stdout) == (0, f"{folder}/lag.svg: 2 of 2 share-partitions\n")
    assert (folder / "lag.svg").read_text().startswith("<svg")
    file = tmp_path / "one.svg"
    assert run(folder, "--partition", "g:t:1", "--file", file).exit_code == 0
    assert "g:t:1" in file.read_text()
    assert "g:t:0" not in file.read_text()


def test_what_cannot_be_drawn_is_one_line(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "has no lag" in done.stderr
    (tmp_path / "part-0.parquet").write_bytes(b"nothing")
    done = run(tmp_path)
    assert done.exit_code == 2
    assert done.stderr.startswith("sharespec: ")
    assert run(tmp_path / "nowhere").exit_code == 2


def test_the_ending_of_the_name_says_how_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    folder = write(tmp_path, ("g:t:0", [1, 4]))
    for name in ("a.png", "b.PNG"):
        file = tmp_path / name
        done = run(folder, "--file", file)
        assert (done.exit_code, done.stdout) == (0, f"{file}: 1 of 1 share-partitions\n")
        assert file.read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("name", ["lag.gif", "picture", "png"])
def test_another_ending_is_refused(tmp_path: Path, name: str) -> None:
    done = run(write(tmp_path, ("g:t:0", [1, 4])), "--file", tmp_path / name)
    assert done.exit_code == 2
    assert "allowed: a name that ends in .svg or .png" in done.stderr
    assert not (tmp_path / name).exists()


def test_svg_needs_no_plotting_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(write(tmp_path, ("g:t:0", [1, 4]))).exit_code == 0
