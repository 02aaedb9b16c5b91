"""Two users of one folder of states: neither takes from the other what it has found."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from model.profile import KAFKA
from replay.state_file import NAME, Carried, StateError, locked, read_states, write_states
from report.scratch import DRAFT
from sharespec.exit import Exit
from tests.replay.samples import kafka_rows, write_lines

USERS = 4
HOLDER = """
import sys, time
from pathlib import Path
from replay.state_file import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def begun(*arguments: str) -> subprocess.Popen[str]:
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True)


def test_what_users_of_one_folder_found_at_the_same_time_is_not_forgotten(tmp_path: Path) -> None:
    states, running = tmp_path / "states", []
    for number in range(USERS):
        rows = kafka_rows(partition=number, count=40)
        rows[30]["after"]["start_offset"] += number % 2  # Every other one diverges.
        day = write_lines(tmp_path / f"{number}.jsonl", rows)
        command = ("-m", "sharespec", "replay", str(day), "--state", str(states))
        running.append((rows[0]["partition"], begun(*command)))
    ends = [(name, *each.communicate(), each.returncode) for name, each in running]
    left = read_states(states, KAFKA)
    for number, (name, out, error, status) in enumerate(ends):
        if status == Exit.COULD_NOT_RUN:
            assert re.fullmatch(r"sharespec: .*states is in use by another process.*\n", error)
        else:
            earlier = "in an earlier replay" in " ".join(out.split())  # Of one that had ended.
            told = number % 2 or earlier
            assert status == (Exit.WRONG if told else Exit.WELL), out + error
            assert (left[name].divergence is not None) == (number % 2 == 1)
    assert left
    assert len(left) == sum(status != Exit.COULD_NOT_RUN for *_, status in ends)


def test_a_user_that_dies_keeps_nobody_out_and_its_draft_goes(tmp_path: Path) -> None:
    holder = begun("-c", HOLDER, str(tmp_path))
    assert holder.stdout
    assert holder.stdout.readline() == "locked\n"
    (tmp_path / f"{NAME}.half{DRAFT}").touch()
    with pytest.raises(StateError, match="is in use by another process"), locked(tmp_path):
        pass
    holder.kill()
    holder.communicate()
    with locked(tmp_path):
        assert list(tmp_path.glob(f"*{DRAFT}")) == []


def test_a_draft_that_cannot_be_finished_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _: bytes) -> None:
        path.touch()
        raise OSError(28, "No space left on device")

    write_states(tmp_path, KAFKA, [Carried("a", None)])
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space"):
            write_states(tmp_path, KAFKA, [])
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert list(read_states(tmp_path, KAFKA)) == ["a"]
