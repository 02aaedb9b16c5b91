"""A table, or Parquet at an address, is replayed as files are."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from replay.frame import replay_table
from replay.processes import SessionError
from replay.sources import NoSuchTraceError
from tests.replay.samples import FAST, write_parquet
from tests.replay.test_frame import five_kinds

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"file:{write_parquet(tmp_path / 'events.parquet', five_kinds(), 50)}"


@pytest.mark.slow
def test_what_is_asked_for_is_written_and_written_again(
    spark: SparkSession, address: str, tmp_path: Path
) -> None:
    spark.read.parquet(address).createOrReplaceTempView("events")
    out = f"file:{tmp_path / 'out'}"
    for table in ("events", address.removeprefix("file:")):
        replay_table(spark, table, FAST, out)
    counts = {n: spark.read.parquet(f"{out}/{n}").count() for n in ("verdicts", "divergences")}
    assert counts == {"verdicts": 5, "divergences": 1}
    assert spark.read.parquet(f"{out}/lag").count() > 30


@pytest.mark.parametrize(
    "table", ["no_such_table", "file:/no/such/place", "/no/such/place", "nothing://at/all"]
)
def test_a_table_that_is_not_there_is_one_line(spark: SparkSession, table: str) -> None:
    with pytest.raises(NoSuchTraceError, match=rf"^(file:)?{table}: [^\n]+$"):
        replay_table(spark, table, FAST)


def test_a_table_of_something_else_is_one_line(spark: SparkSession) -> None:
    spark.range(3).createOrReplaceTempView("numbers")
    message = "^numbers: column partition is 'missing'; allowed: one of string$"
    with pytest.raises(NoSuchTraceError, match=message):
        replay_table(spark, "numbers", FAST)


@pytest.mark.slow
def test_an_out_that_cannot_be_written_is_one_line(spark: SparkSession, address: str) -> None:
    with pytest.raises(SessionError, match=r"^Spark gave up: [^\n]+$"):
        replay_table(spark, address, FAST, "nothing://at/all")
