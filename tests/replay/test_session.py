import json
import re
import socket
import sys
import time
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from replay.java import prepare_environment
from replay.processes import SessionError, silent
from replay.session import (
    SparkRunner,
    check_answers,
    connected,
    first_line,
    open_session,
    printed_reason,
    shipped_code,
)
from tests.replay.outside import COMMAND, ROOT, printed, run
from tests.replay.samples import kafka_rows, write_lines, write_parquet
from tests.replay.watching import Watching

pytestmark = pytest.mark.xdist_group("spark")


def test_a_session_that_is_active_is_used_and_not_stopped(spark: SparkSession) -> None:
    with open_session("spark://elsewhere:7077") as session:
        assert session is spark
    assert spark.sparkContext.parallelize([1]).count() == 1


@pytest.mark.slow
def test_a_master_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    trace = write_lines(tmp_path / "t.jsonl", kafka_rows(count=1))
    done = run(COMMAND, "replay", trace, "--master", "nonsense")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("sharespec: Spark did not start on nonsense: ")
    assert "Master must" in line


def test_a_cluster_that_nobody_runs_is_one_line_before_java_starts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_answers(f"spark://127.0.0.1:1,127.0.0.1:{port}")
    for master in ("spark://127.0.0.1:1", "spark://[", "spark://127.0.0.1:x"):
        with pytest.raises(SessionError, match=f"^no Spark answers at {re.escape(master)}: .+"):
            check_answers(master)
    code = f"from replay.session import open_session\nwith open_session({master!r}): pass"
    done = run(sys.executable, "-c", code)
    assert "no Spark answers at" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (
            [
                "WARNING: Using incubator modules",
                'Exception in thread "main" org.apache.spark.SparkException: no YARN_CONF_DIR',
                "\tat org.apache.spark.deploy.SparkSubmitArguments.error(SparkSubmit.scala:670)",
            ],
            "org.apache.spark.SparkException: no YARN_CONF_DIR",
        ),
        (["Error: a", "ERROR: b", "Error: c"], "Error: c"),
        (["WARNING: x", "\tat x.error(y)"], None),
        ([], None),
    ],
    ids=["exception", "last", "frames", "nothing"],
)
def test_what_java_printed_is_told_without_its_stack(
    printed: list[str], reason: str | None
) -> None:
    assert printed_reason(printed) == reason


def test_the_packages_that_workers_need_are_shipped(tmp_path: Path) -> None:
    shipped = shipped_code(tmp_path)
    with zipfile.ZipFile(shipped) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {
        "model",
        "spec",
        "impl",
        "judge",
        "report",
        "replay",
    }
    code = "import replay.check, replay.distant; print(replay.check.__file__)"
    environment = {"PYTHONPATH": str(shipped), "NUMBA_DISABLE_JIT": "1"}
    told = printed(sys.executable, "-P", "-c", code, cwd=tmp_path, **environment)
    assert told.strip() == str(shipped / "replay/check.py")


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


def test_all_results_arrive_once_and_progress_is_reported(spark: SparkSession) -> None:
    runner, progress = SparkRunner(spark), Watching()
    results, whole = runner.run("count", range(7), range, progress)
    assert whole
    assert results == [i for n in range(7) for i in range(n)]
    assert (progress.stages, progress.seen[-1]) == ([("count", 7)], 7)
    none: list[int] = []
    assert runner.run("nothing", none, range, silent) == ([], True)
    assert (runner.place, runner.parallelism) == ("Spark local[2]", 2)


@pytest.mark.slow
def test_an_interruption_ends_the_tasks_and_leaves_no_results(spark: SparkSession) -> None:
    def work(task: int) -> list[int]:
        time.sleep(0.05 if task < 2 else 900)
        return [task]

    started = time.monotonic()
    results, whole = SparkRunner(spark).run(
        "slow", range(4), work, Watching(lambda tasks, _: tasks == 2)
    )
    assert (results, whole) == ([], False)
    assert time.monotonic() - started < 300


@pytest.mark.slow
def test_a_task_that_fails_every_time_is_an_error_on_one_line(spark: SparkSession) -> None:
    def work(task: int) -> list[int]:
        raise ValueError(f"task {task} is broken")

    with pytest.raises(SessionError) as caught:
        SparkRunner(spark).run("broken", [3], work, silent)
    assert "task 3 is broken" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_spark_submit_runs_the_command_in_its_own_session(tmp_path: Path) -> None:
    table = write_parquet(tmp_path / "events.parquet", kafka_rows())
    prepare_environment()
    submit = (COMMAND.with_name("spark-submit"), "--master", "local[1]")
    replay = (ROOT / "sharespec" / "__main__.py", "replay", "--table", f"file:{table}")
    # The folder has no settings for the tests: this is Spark as it comes, which compiles.
    environment = {"SPARK_CONF_DIR": str(tmp_path), "PYSPARK_PYTHON": sys.executable}
    options = ("--against", "impl", "--json")
    told = printed(*submit, *replay, *options, **environment, NUMBA_DISABLE_JIT="1")
    totals = json.loads(told.splitlines()[-1])
    assert (totals["partitions"], totals["events"], totals["diverged"]) == (1, 60, 0)


def test_a_connect_server_that_is_not_there_is_one_line_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"sc://127.0.0.1:{free.getsockname()[1]}"
        with (
            pytest.raises(SessionError, match=rf"^no session at {address}: .*refused$"),
            connected(address),
        ):
            pytest.fail("there is no server")
