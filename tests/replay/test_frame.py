"""A DataFrame is checked as files are, in whatever order and types its rows come."""

import json
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere with Spark

from impl.kernel import FlatEvents, flatten
from model.errors import InvalidValueError
from model.trace_arrow import table_from_rows
from replay.frame import _judged, _lag, check
from replay.java import find_java
from replay.plan import Plan
from replay.result_schema import DIVERGENCES, VERDICTS
from tests.replay.outside import ROOT, printed, run
from tests.replay.samples import Row, kafka_rows, renamed, write_parquet
from tests.replay.streams import wrong

pytestmark = pytest.mark.xdist_group("spark")

FAST = Plan(against=("impl",), invariants_every=0)


def frame_of(spark: SparkSession, folder: Path, rows: list[Row]) -> DataFrame:
    return spark.read.parquet(str(write_parquet(folder / "table.parquet", rows, 50)))


def told(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: row["partition"])


def five_kinds() -> list[Row]:
    """Share-partitions that conform, diverge, lack an event, lack the first, and hold a bad row.

    The first has two of its events once more, which changes nothing.
    """
    rows = [renamed(kafka_rows(count=30), name) for name in "abcde"]
    rows[0][7:9] = [rows[0][7]] * 3 + [rows[0][8]] * 2
    rows[1][20] = wrong(rows[1][20])
    del rows[2][10]
    del rows[3][0]
    rows[4][5] = {**rows[4][5], "time_ms": None}
    return [row for part in rows for row in part]


def test_verdicts_and_divergences_of_rows_in_any_order(spark: SparkSession, tmp_path: Path) -> None:
    checked = check(frame_of(spark, tmp_path, five_kinds()[::-1]), FAST, "lake.events")
    verdicts = told(checked.verdicts)
    assert checked.verdicts.columns == VERDICTS.names
    assert [(v["partition"], v["verdict"], v["events"], v["checked"]) for v in verdicts] == [
        ("a", "conforms", 30, 30),
        ("b", "diverges", 30, 21),
        ("c", "unreadable", 29, 10),
        ("d", "unreadable", 29, 0),
        ("e", "unreadable", 30, 5),
    ]
    assert verdicts[2]["problem"] == "seq 10 is missing: the next is 11"
    assert verdicts[4]["problem"] == "time_ms is None; allowed: a value"
    (divergence,) = told(checked.divergences)
    assert checked.divergences.columns == DIVERGENCES.names
    place = divergence["partition"], divergence["seq"], divergence["source"], divergence["line"]
    assert place == ("b", 20, "lake.events", 21)
    assert divergence["name"] == "START_STOPS_AT_UNFINISHED"


@pytest.mark.slow
def test_of_one_number_two_events_may_not_differ_and_it_may_not_be_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    twice, null = (renamed(kafka_rows(count=30), name) for name in "ab")
    twice.append(wrong(twice[7]))
    null[20] = {**null[20], "seq": None}
    verdicts = told(check(frame_of(spark, tmp_path, [*null, *twice]), FAST, "t").verdicts)
    assert [(v["verdict"], v["events"], v["checked"], v["problem"]) for v in verdicts] == [
        ("unreadable", 31, 7, "seq 7 occurs twice; the other event is in line 8"),
        ("unreadable", 30, 20, "seq is None; allowed: a value"),
    ]


def batches_of(rows: list[Row], size: int) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = table_from_rows(rows).to_batches(max_chunksize=size)
    return batches


@pytest.mark.parametrize("against", [("impl",), ("spec", "impl")])
def test_share_partitions_are_judged_the_same_however_they_lie_in_batches(
    against: tuple[str, ...],
) -> None:
    plan = Plan(against=against)
    rows = five_kinds()
    long = attrs.evolve(plan, piece_events=7)
    ways = [(plan, size) for size in (1000, 149, 30, 29, 7, 1)] + [(long, 3)]
    one, *others = (
        pa.Table.from_batches(_judged(each, "t", batches_of(rows, size))) for each, size in ways
    )
    assert one.column("partition").to_pylist() == list("abcde")
    assert one.column("diverging")[1].as_py()[0]["line"] == 21
    assert others == [one] * len(others)
    lags = [pa.Table.from_batches(_lag(each, "t", batches_of(rows, 3))) for each in (plan, long)]
    assert lags[0].num_rows
    assert lags[1].equals(lags[0])


def test_share_partitions_of_one_batch_become_arrays_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flattened: list[int] = []

    def counted(rows: pa.Table) -> FlatEvents:
        flattened.append(rows.num_rows)
        return flatten(rows)

    monkeypatch.setattr("impl.kernel.flatten", counted)
    rows = [row for name in "abcdefgh" for row in renamed(kafka_rows(count=10), name)]
    plan = Plan(against=("impl",))
    (judged,) = _judged(plan, "t", batches_of(rows, 1000))
    assert judged.column("verdict").to_pylist() == ["conforms"] * 8
    assert flattened == [80]


@pytest.mark.slow
def test_spark_connect_gives_the_same(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio: install sharespec[connect]")
    address = f"file:{write_parquet(tmp_path / 'events.parquet', five_kinds(), 50)}"
    names = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
    told = printed(sys.executable, "-m", "tests.replay.connect", address, **names)
    verdicts, *lag = json.loads(told.splitlines()[-1])
    assert verdicts == [
        ["a", "conforms", 30],
        ["b", "diverges", 21],
        ["c", "unreadable", 10],
        ["d", "unreadable", 0],
        ["e", "unreadable", 5],
    ]
    assert lag == [65, 65]


@pytest.mark.slow
@pytest.mark.parametrize("shipped", [True, False])
def test_the_notebook_gives_workers_the_code_that_they_lack(tmp_path: Path, shipped: bool) -> None:  # noqa: FBT001 - a case
    """Their Python has the packages of this one, and nothing of this project."""
    packages = sysconfig.get_path("purelib")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={packages} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    script = ROOT.joinpath("docs", "notebook.py").read_text()
    here = tmp_path / "notebook.py"
    here.write_text(script if shipped else script.replace("sharespec.ship(session)", ""))
    home = {"JAVA_HOME": str(find_java())}
    names = {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable}
    table = write_parquet(tmp_path / "events.parquet", five_kinds(), 50)
    names |= {"PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
    done = run(sys.executable, here, table, cwd=tmp_path, **home, **names)
    lacks = "a worker of Spark lacks the module replay: call sharespec.ship(session) first"
    assert (done.returncode == 0, lacks in done.stderr) == (shipped, not shipped), done.stderr
    assert ("b        |20 |START_STOPS_AT_UNFINISHED|" in done.stdout) is shipped, done.stdout


@pytest.mark.slow
def test_rows_without_a_share_partition_are_one_problem(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = kafka_rows(count=3)
    spoiled = [{**row, "partition": None} for row in rows]
    found = told(check(frame_of(spark, tmp_path, [*spoiled, *rows]), FAST).verdicts)
    assert [(v["partition"], v["verdict"], v["problem"]) for v in found] == [
        ("", "unreadable", "partition is None; allowed: a value"),
        (rows[0]["partition"], "conforms", None),
    ]


@pytest.mark.slow
def test_nothing_in_is_nothing_out(spark: SparkSession, tmp_path: Path) -> None:
    checked = check(frame_of(spark, tmp_path, []), FAST)
    assert told(checked.verdicts) == told(checked.divergences) == []
    assert checked.lag.count() == 0


@pytest.mark.slow
def test_columns_may_be_narrower_absent_or_more(spark: SparkSession, tmp_path: Path) -> None:
    frame = frame_of(spark, tmp_path, kafka_rows(count=5))
    other = (
        frame.withColumn("seq", F.col("seq").cast("int"))
        .drop("leader_epoch", "due_ms")
        .withColumn("day", F.lit("2026-01-01"))
    )
    assert [v["verdict"] for v in told(check(other, FAST).verdicts)] == ["conforms"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: f.drop("seq"), r"^column seq is 'missing'; allowed: one of int64$"),
        (lambda f: f.toPandas(), r"^frame is 'pandas.DataFrame'; allowed: a DataFrame of Spark"),
        (lambda f: f.withColumn("seq", F.lit("1")), r"^column seq is 'string'; allowed: int64$"),
        (
            lambda f: f.withColumn("after", F.struct(F.lit(1).alias("end"))),
            r"^column after is 'struct<end: int32 not null>'; allowed: struct<start_offset: ",
        ),
        (
            lambda f: f.withColumn("writes", F.lit(1)),
            r"^column writes is 'int32'; allowed: list<item: struct<",
        ),
    ],
)
def test_a_column_that_no_trace_has_is_refused_before_anything_runs(
    spark: SparkSession, tmp_path: Path, spoil: Callable[[DataFrame], DataFrame], message: str
) -> None:
    with pytest.raises(InvalidValueError, match=message):
        check(spoil(frame_of(spark, tmp_path, kafka_rows(count=2))))
