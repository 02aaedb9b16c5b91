import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from replay.session import (
    SessionError,
    Silent,
    first_line,
    open_session,
    run_tasks,
    shipped_code,
)
from tests.replay.samples import kafka_rows, write_lines

pytestmark = pytest.mark.xdist_group("spark")

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("sharespec")


def on_cluster(
    master: str, trace: Path, kill: str, folder: Path
) -> tuple[str, dict[str, int], str]:
    """Replay in a process of its own; return where the code was, totals, and how many died."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.replay.cluster", master, str(trace), kill],
        cwd=ROOT,
        env={**os.environ, "SPARK_WORKER_DIR": str(folder), "NUMBA_DISABLE_JIT": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=200,
    )
    place, totals, killed = done.stdout.splitlines()
    return place, json.loads(totals), killed


@pytest.mark.slow
@pytest.mark.parametrize("kill", ["-", "kill"])
def test_a_cluster_gives_the_same_verdicts_even_if_a_worker_dies(tmp_path: Path, kill: str) -> None:
    rows = [row for p in range(6) for row in kafka_rows(partition=p, count=60)]
    rows[70]["after"]["delivery_complete_count"] += 1
    trace = write_lines(tmp_path / "t.jsonl", rows)
    place, totals, killed = on_cluster("local-cluster[2,1,1024]", trace, kill, tmp_path / "work")
    assert "sharespec.zip" in place
    assert killed == ("1" if kill == "kill" else "0")
    assert (totals["partitions"], totals["diverged"], totals["unreadable"]) == (6, 1, 0)
    assert (totals["events"], totals["unchecked"]) == (5 * 60 + 11, 0)


def test_a_session_that_is_active_is_used_and_not_stopped(spark: SparkSession) -> None:
    with open_session("spark://elsewhere:7077") as session:
        assert session is spark
    assert spark.sparkContext.parallelize([1]).count() == 1


@pytest.mark.slow
def test_a_master_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    trace = write_lines(tmp_path / "t.jsonl", kafka_rows(count=1))
    done = subprocess.run(
        [COMMAND, "replay", str(trace), "--master", "nonsense"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("sharespec: Spark did not start on nonsense: ")


def test_the_packages_that_workers_need_are_shipped(tmp_path: Path) -> None:
    with zipfile.ZipFile(shipped_code(tmp_path)) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"model", "spec", "impl", "judge", "replay"}
    assert all(name.endswith(".py") for name in names)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\n  two\n", "two"),
        ("", "?"),
        (
            ": IllegalStateException: no\n\tat x\nCaused by: java.io.IOException: y\n\tat z",
            "java.io.IOException: y",
        ),
    ],
)
def test_first_line_finds_the_cause(text: str, line: str) -> None:
    assert first_line(SessionError(text)) == line


class Watching:
    def __init__(self, stop_at: int | None = None) -> None:
        self.stages: list[tuple[str, int]] = []
        self.seen: list[int] = []
        self._stop_at = stop_at

    def stage(self, name: str, total: int) -> None:
        self.stages.append((name, total))

    def done(self, tasks: int, results: Sequence[Any]) -> None:  # noqa: ARG002
        self.seen.append(tasks)
        if self._stop_at is not None and tasks >= self._stop_at:
            raise KeyboardInterrupt


def test_all_results_arrive_once_and_progress_is_reported(spark: SparkSession) -> None:
    progress = Watching()
    results, whole = run_tasks(spark, "count", range(7), range, progress)
    assert whole
    assert sorted(results) == sorted(i for n in range(7) for i in range(n))
    assert progress.stages == [("count", 7)]
    assert progress.seen[-1] == 7


def test_without_tasks_there_is_no_job(spark: SparkSession) -> None:
    none: list[int] = []
    assert run_tasks(spark, "nothing", none, range, Silent()) == ([], True)


@pytest.mark.slow
def test_results_before_an_interruption_are_kept(spark: SparkSession) -> None:
    def work(task: int) -> list[int]:
        time.sleep(0.05 if task < 2 else 60)
        return [task]

    started = time.monotonic()
    results, whole = run_tasks(spark, "slow", range(4), work, Watching(stop_at=2))
    assert (sorted(results), whole) == ([0, 1], False)
    assert time.monotonic() - started < 30


@pytest.mark.slow
def test_a_task_that_fails_every_time_is_an_error_on_one_line(spark: SparkSession) -> None:
    def work(task: int) -> list[int]:
        raise ValueError(f"task {task} is broken")

    with pytest.raises(SessionError) as caught:
        run_tasks(spark, "broken", [3], work, Silent())
    assert "task 3 is broken" in str(caught.value)
    assert "\n" not in str(caught.value)
