import gc
import importlib.util
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from replay.processes import (
    ALLOCATIONS,
    HereRunner,
    ProcessRunner,
    Runner,
    SessionError,
    ctrl_c_blocked,
    open_processes,
    silent,
)
from report.scratch import scratch_folder
from tests.replay.outside import printed, run
from tests.replay.watching import Watching


def numbers(task: int) -> Iterator[tuple[int, int]]:
    for number in range(task):
        yield number, os.getpid()


def broken(folder: Path, task: int) -> list[int]:
    folder.joinpath(f"{task}-{time.monotonic_ns()}").touch()
    if task == 3:
        raise ValueError(f"task {task} is broken\nand more")
    return [task]


def deadly(folder: Path, times: int, task: int) -> list[int]:
    """End the process that runs task 3, so often."""
    folder.joinpath(f"{task}-{time.monotonic_ns()}").touch()
    if task == 3 and len(list(folder.glob("3-*"))) <= times:
        signal.raise_signal(signal.SIGKILL)
    return [task]


def slow(task: int) -> list[int]:
    time.sleep(0 if task < 2 else 900)
    return [task]


def stopped(task: int) -> Iterator[int]:
    yield task
    if task == 1:
        raise KeyboardInterrupt
    yield -task


def hidden(_: int) -> list[tuple[str, ...]]:
    """Return what cannot be imported; before that Arrow looks whether pandas is there."""
    assert pa.Table.from_pylist([{"number": 1}]).num_rows == 1
    assert gc.get_threshold()[0] == ALLOCATIONS
    missing = []
    for name in ("pandas", "scipy", "coverage", "numpy"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            missing.append(name)
    return [tuple(missing)]


@pytest.fixture(scope="module")
def children() -> Iterator[ProcessRunner]:
    with open_processes(2, ["tests.replay.test_processes"]) as runner:
        yield runner


def test_all_results_arrive_in_order(children: ProcessRunner) -> None:
    runners: tuple[Runner, ...] = HereRunner(), children
    for runner, is_here in zip(runners, (True, False), strict=True):
        progress = Watching()
        results, whole = runner.run("count", range(9), numbers, progress)
        assert whole
        assert [number for number, _ in results] == [n for task in range(9) for n in range(task)]
        assert (os.getpid() in {process for _, process in results}) is is_here
        assert (progress.stages, progress.seen[-1]) == ([("count", 9)], 9)
        none = Watching()
        assert runner.run("nothing", [], numbers, none) == ([], True)
        assert none.stages == []
    assert [(each.place, each.parallelism) for each in runners] == [
        ("in this process", 1),
        ("in this process and 2 children", 2),
    ]


def test_children_do_not_import_what_is_only_looked_for() -> None:
    """In a process of its own: here another test may have had children import it already."""
    code = """
from replay.processes import open_processes
from replay.processes import silent
from tests.replay.test_processes import hidden
with open_processes(2) as runner:
    print(runner.run("look", range(4), hidden, silent))
"""
    told = printed(sys.executable, "-c", code)
    assert told.strip() == f"({[('pandas', 'scipy', 'coverage')] * 4}, True)"


def test_a_task_that_fails_is_an_error_on_one_line(tmp_path: Path, children: ProcessRunner) -> None:
    message = "a task of the stage 'check' failed: ValueError: task 3 is broken"
    for runner, times in ((HereRunner(), 1), (children, 4)):
        folder = tmp_path / str(times)
        folder.mkdir()
        with pytest.raises(SessionError) as caught:
            runner.run("check", range(5), partial(broken, folder), silent)
        assert str(caught.value) == message
        assert len(list(folder.glob("3-*"))) == times


def late(task: int) -> list[str]:
    """Fail, or answer when the run has failed."""
    if task == 0:
        raise ValueError
    time.sleep(1)
    return ["of the run before"]


def test_after_a_run_that_failed_no_answer_to_it_is_taken() -> None:
    with open_processes(2, ["tests.replay.test_processes"]) as runner:
        with pytest.raises(SessionError):
            runner.run("fails", range(2), late, silent)
        assert runner.run("count", range(5), itself, silent) == (list(range(5)), True)


def itself(task: int) -> list[int]:
    time.sleep(0.5)
    return [task]


@pytest.mark.parametrize("times", [1, 3])
def test_a_child_that_dies_is_replaced_and_its_task_run_again(
    tmp_path: Path, children: ProcessRunner, times: int
) -> None:
    work = partial(deadly, tmp_path, times)
    assert children.run("check", range(6), work, silent) == (list(range(6)), True)
    assert len(list(tmp_path.glob("3-*"))) == times + 1
    assert len(list(tmp_path.iterdir())) == 6 + times


def test_a_task_that_ends_every_child_is_an_error_on_one_line(
    tmp_path: Path, children: ProcessRunner
) -> None:
    with pytest.raises(SessionError) as caught:
        children.run("check", range(6), partial(deadly, tmp_path, 9), silent)
    assert str(caught.value) == (
        "a task of the stage 'check' failed: the process that ran it ended by signal 9"
    )
    assert children.run("check", range(3), partial(deadly, tmp_path, 9), silent)[1]


def test_an_interruption_keeps_what_is_done(children: ProcessRunner) -> None:
    started = time.monotonic()
    results, whole = children.run("slow", range(4), slow, Watching(lambda tasks, _: tasks >= 2))
    assert (results, whole) == ([0, 1], False)
    assert time.monotonic() - started < 300
    assert HereRunner().run("slow", range(3), stopped, silent) == ([0, 0, 1], False)


def test_children_end_with_their_parent_and_leave_ctrl_c_to_it(tmp_path: Path) -> None:
    """And what the killed parent leaves of files is gone with the next start."""
    temporary = tmp_path.with_name("temporary")
    temporary.mkdir()
    code = f"""
import os, signal, sys
from functools import partial
from pathlib import Path
from replay.processes import open_processes
from replay.processes import silent
from tests.replay.test_processes import pids, slow
with open_processes(2) as runner:
    found, _ = runner.run("who", [Path({str(tmp_path)!r})] * 2, pids, silent)
    print(*found, flush=True)
    for pid in found:
        os.kill(pid, signal.SIGINT)
    print(runner.run("slow", [0, 1], slow, silent), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run(sys.executable, "-c", code, TMPDIR=str(temporary))
    pids_line, results = done.stdout.splitlines()
    assert results == "([0, 1], True)"
    assert done.returncode == -signal.SIGKILL
    until = time.monotonic() + 300
    alive = {int(pid) for pid in pids_line.split()}
    while alive and time.monotonic() < until:
        alive = {pid for pid in alive if Path(f"/proc/{pid}").exists()}
        time.sleep(0.05)
    assert not alive
    assert list(temporary.iterdir())
    with scratch_folder(temporary) as folder:
        assert [str(path) for path in temporary.iterdir()] == [folder]


def test_ctrl_c_that_another_thread_takes_waits_too() -> None:
    over, reached = threading.Event(), list[bool]()
    other = threading.Thread(target=over.wait)
    other.start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted() -> None:
        with ctrl_c_blocked():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)
            reached.append(True)

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()
        other.join()
    assert reached


def test_ctrl_c_does_not_reach_what_children_are_forked_from() -> None:
    code = """
from multiprocessing import forkserver
from pathlib import Path
from replay.processes import get_ready
get_ready(["json"])
print(Path(f"/proc/{forkserver._forkserver._forkserver_pid}/status").read_text())
"""
    lines = printed(sys.executable, "-c", code).splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    assert int(status["SigBlk"], 16) & 1 << (signal.SIGINT - 1)


def pids(folder: Path) -> list[int]:
    """Return this process once both children have come here."""
    folder.joinpath(str(os.getpid())).touch()
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.01)
    return [os.getpid()]
