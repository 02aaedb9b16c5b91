"""Nothing of a run stays in the temporary folder, though it was killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from report.scratch import LOCK, PREFIX, scratch_folder

KILLED = """
import sys
from pathlib import Path
from report.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (Path(folder) / "part").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_removed_at_the_end_and_after_an_error(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        assert Path(folder).parent == tmp_path
        (Path(folder) / "part").write_text("x")
    with pytest.raises(ValueError, match="odd"), scratch_folder(tmp_path):
        raise ValueError("odd")
    assert list(tmp_path.iterdir()) == []


def test_folders_of_killed_processes_are_removed_and_those_in_use_stay(tmp_path: Path) -> None:
    other = tmp_path / f"{PREFIX}of-somebody"
    other.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        with scratch_folder(tmp_path) as mine, scratch_folder(tmp_path):
            assert Path(mine).is_dir()
            assert (folder / "part").exists()
        process.send_signal(signal.SIGKILL)
    assert folder.exists()
    with scratch_folder(tmp_path):
        assert not folder.exists()
        assert other.exists()


def test_a_link_to_a_folder_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / LOCK).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(target)
    with scratch_folder(tmp_path):
        assert (target / LOCK).exists()
    assert [path.name for path in target.iterdir()] == [LOCK]
