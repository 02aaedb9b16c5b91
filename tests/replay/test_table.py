"""A table, or Parquet at an address, is replayed as files are."""

from pathlib import Path

import attrs
import pytest
from pyspark.sql import SparkSession

from judge.finding import FindingPlace
from replay.frame import replay_table
from replay.plan import Plan
from replay.processes import SessionError
from replay.report import json_line
from replay.run import replay_sources
from replay.session import SparkRunner
from replay.sources import NoSuchTraceError, find_sources
from replay.verdict import PartitionVerdict, Replay
from tests.replay.samples import write_parquet
from tests.replay.test_frame import five_kinds

pytestmark = pytest.mark.xdist_group("spark")

SPEC = Plan(against=("spec",), invariants_every=0)


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"file:{write_parquet(tmp_path / 'events.parquet', five_kinds(), 50)}"


def unplaced(replay: Replay) -> list[PartitionVerdict]:
    """The verdicts without where files and rows are."""
    return [
        attrs.evolve(
            v,
            divergence=v.divergence and attrs.evolve(v.divergence, place=FindingPlace()),
            problem=v.problem and attrs.evolve(v.problem, source="", line=None),
        )
        for v in replay.verdicts
    ]


@pytest.mark.slow
def test_the_verdicts_are_those_of_the_file(spark: SparkSession, address: str) -> None:
    table = replay_table(spark, address, SPEC)
    file = address.removeprefix("file:")
    files = replay_sources(SparkRunner(spark), find_sources([file]), SPEC)
    assert unplaced(table) == unplaced(files)
    assert table.counts == files.counts
    assert table.seconds > 0
    assert '"partitions": 5' in json_line(table)


@pytest.mark.slow
def test_what_is_asked_for_is_written_and_written_again(
    spark: SparkSession, address: str, tmp_path: Path
) -> None:
    spark.read.parquet(address).createOrReplaceTempView("events")
    out = f"file:{tmp_path / 'out'}"
    for _ in range(2):
        replay_table(spark, "events", SPEC, out)
    counts = {n: spark.read.parquet(f"{out}/{n}").count() for n in ("verdicts", "divergences")}
    assert counts == {"verdicts": 5, "divergences": 1}
    assert spark.read.parquet(f"{out}/lag").count() > 30


@pytest.mark.parametrize("table", ["no_such_table", "file:/no/such/place", "nothing://at/all"])
def test_a_table_that_is_not_there_is_one_line(spark: SparkSession, table: str) -> None:
    with pytest.raises(NoSuchTraceError, match=rf"^{table}: [^\n]+$"):
        replay_table(spark, table, SPEC)


def test_a_table_of_something_else_is_one_line(spark: SparkSession) -> None:
    spark.range(3).createOrReplaceTempView("numbers")
    message = "^numbers: column partition is None; allowed: a column of string$"
    with pytest.raises(NoSuchTraceError, match=message):
        replay_table(spark, "numbers", SPEC)


@pytest.mark.slow
def test_an_out_that_cannot_be_written_is_one_line(spark: SparkSession, address: str) -> None:
    with pytest.raises(SessionError, match=r"^Spark gave up: [^\n]+$"):
        replay_table(spark, address, SPEC, "nothing://at/all")
