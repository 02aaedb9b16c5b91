import time
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from replay.jobs import Silent, run_tasks
from replay.session import SessionError

pytestmark = pytest.mark.xdist_group("spark")


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


def test_all_results_arrive_once_and_progress_is_told(spark: SparkSession) -> None:
    progress = Watching()
    results, whole = run_tasks(spark, "count", range(7), range, progress)
    assert whole
    assert sorted(results) == sorted(i for n in range(7) for i in range(n))
    assert progress.stages == [("count", 7)]
    assert progress.seen[-1] == 7


def test_no_tasks_are_no_job(spark: SparkSession) -> None:
    none: list[int] = []
    assert run_tasks(spark, "nothing", none, range, Silent()) == ([], True)


@pytest.mark.slow
def test_what_was_done_before_an_interruption_is_kept(spark: SparkSession) -> None:
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
