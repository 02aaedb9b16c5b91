"""A cluster whose nodes share nothing but HDFS answers as one process does."""

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import pyarrow.parquet as pq
import pytest

from replay.report import verdict_lines
from tests.replay.hdfs_cluster import Hdfs, hdfs
from tests.replay.outside import COMMAND, Ended
from tests.replay.outside import run as run_outside
from tests.replay.samples import kafka_rows, renamed, replayed, write_lines, write_parquet
from tests.replay.scattered import PLAN
from tests.replay.standalone import ROOT, VENV, Standalone, settings, standalone

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("hdfs")]

_SECONDS = 900


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with hdfs(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


def traces_in(folder: Path) -> Path:
    """Many share-partitions in files of each form; two diverge, one is unreadable."""
    folder.mkdir()
    rows = [
        row for n in range(16) for row in renamed(kafka_rows(partition=n % 3, count=30), f"g:t:{n}")
    ]
    rows[45]["after"]["delivery_complete_count"] += 1
    rows[213]["after"]["start_offset"] += 1
    rows[250]["seq"] += 1000
    write_lines(folder / "a b.jsonl", rows[:150])
    write_lines(folder / "c.jsonl.gz", rows[150:300])
    write_parquet(folder / "d.parquet", rows[300:])
    return folder


@attrs.frozen
class Stored:
    """Traces in a folder and in the cluster, and what one process writes and says of them."""

    folder: Path
    there: str
    here: Path
    expected: list[str]


@pytest.fixture(scope="module")
def stored(storage: Hdfs, tmp_path_factory: pytest.TempPathFactory) -> Stored:
    top = tmp_path_factory.mktemp("stored")
    folder, here = traces_in(top / "traces"), top / "here"
    there = storage.put(folder, "traces")
    result = replayed(folder, plan=PLAN, out=here)
    assert (result.counts.diverged, result.counts.unreadable) == (2, 1)
    lines = [line.replace(str(folder), there) for line in verdict_lines(result, lambda _: "")]
    return Stored(folder, there, here, lines)


def run(command: Sequence[str | Path]) -> Ended:
    return run_outside(*command, **settings(), PYTHONPATH=str(ROOT))


@pytest.mark.long
def test_the_commands_read_and_write_where_nodes_meet(
    tmp_path: Path, storage: Hdfs, cluster: Standalone, stored: Stored
) -> None:
    folder, there, results = stored.folder, stored.there, f"{storage.address}/2"
    on_cluster = ("--master", cluster.master)
    done = run([COMMAND, "replay", there, *on_cluster, "--out", f"{results}/out", "--json"])
    assert done.returncode == 1, done.stderr
    *verdicts, totals = done.stdout.splitlines()
    assert verdicts == stored.expected
    assert json.loads(totals)["runner"] == f"Spark {cluster.master}"
    storage.get("2/out", tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "divergences").num_rows == 2
    submit = Path(sys.executable).with_name("spark-submit")
    script = (submit, *on_cluster, ROOT / "sharespec" / "__main__.py", "replay", "--json")
    table = ("--table", f"{there}/d.parquet", "--out", f"{results}/table")
    done = run([*script, *table])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["events"] == 180
    storage.get("2/table", tmp_path / "table")
    assert pq.read_table(tmp_path / "table" / "verdicts").num_rows == 6
    done = run([COMMAND, "replay", folder, *on_cluster])
    (line,) = done.stderr.splitlines()
    assert (done.returncode, line.startswith("sharespec: Spark gave up: ")) == (2, True)
    assert str(folder) in line, "no worker sees the folder"
    done = run([COMMAND, "replay", there, *on_cluster, "--out", tmp_path / "local"])
    assert done.returncode == 2
    assert "on a cluster --out is an address" in done.stderr


def test_the_answer_is_that_of_one_process_though_a_node_dies(
    tmp_path: Path, storage: Hdfs, cluster: Standalone, stored: Stored
) -> None:
    """Behind the others: the cluster lacks a worker from then on."""
    there, out = stored.there, f"{storage.address}/1/out"
    ours = [stored.folder, ROOT / "replay", VENV.parent / "replay"]
    ours = [path for path in ours if path.is_dir()]
    victim = str(cluster.workers[0].pid)
    script = [sys.executable, "-m", "tests.replay.scattered", cluster.master, there, out, victim]
    done = run([*script, *ours])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    for code, seen in told["where"]:
        assert "sharespec.zip" in code
        assert seen == [], "folders of the driver that a worker sees"
    done_tasks, tasks = told["killed"]
    assert 0 < done_tasks < tasks
    assert cluster.workers[0].wait(_SECONDS) == -signal.SIGKILL
    assert told["verdicts"] == stored.expected
    storage.get("1/out", tmp_path / "out")
    keys = [("partition", "ascending"), ("seq", "ascending")]
    lag = pq.read_table(tmp_path / "out" / "lag").sort_by(keys)
    assert lag.to_pylist() == pq.read_table(stored.here / "lag").sort_by(keys).to_pylist()
