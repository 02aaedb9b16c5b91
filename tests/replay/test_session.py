import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from replay.session import SessionError, first_line, open_session, shipped_code
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
def test_a_cluster_of_processes_gives_the_same_answer_also_when_one_dies(
    tmp_path: Path, kill: str
) -> None:
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
    assert {name.split("/")[0] for name in names} == {"model", "spec", "impl", "replay"}
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
def test_the_line_that_says_what_is_wrong(text: str, line: str) -> None:
    assert first_line(SessionError(text)) == line
