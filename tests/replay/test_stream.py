"""A stream: every divergence is one alarm, whatever comes late or twice, and whoever is killed."""

import signal
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere with Spark

from model.errors import InvalidValueError
from replay.judged import Patience
from replay.plan import Plan
from replay.state_file import StateError
from replay.stream import Batch, check_stream, is_done, reason_of, run_batch
from replay.stream_file import Left, read_stream
from replay.stream_source import folder_stream
from tests.replay.outside import run as run_outside
from tests.replay.samples import Row, kafka_rows, renamed, write_lines, write_parquet
from tests.replay.streams import (
    DYING,
    POINTS,
    STREAM,
    alarms,
    arrived,
    batches,
    judged,
    place_in,
    plan_in,
    problems,
    run,
)

pytestmark = pytest.mark.xdist_group("spark")

ALARMS = [("b", 15), ("e", 27)]
PROBLEMS = [("a", "seq is missing")]
CHECKED = 30 + 16 + 20 + 30 + 28
"""Events of a to e: b and e are checked up to the event that diverges."""


def outcome(folder: Path, left: Left) -> tuple[Any, ...]:
    """All that a stream leaves, without times."""
    states = {name: each.state and each.state.seq for name, each in left.carried.items()}
    return left.total, left.alarms, states, alarms(folder), problems(folder)


def test_each_divergence_is_one_alarm_and_all_else_is_counted(tmp_path: Path) -> None:
    told: list[Batch] = []
    left = run(tmp_path, batches(), told.append)
    assert alarms(tmp_path) == ALARMS
    assert problems(tmp_path) == PROBLEMS
    assert [each.summary.alarms for each in told] == [0, 1, 1]
    assert [each.summary.waiting for each in told] == [0, 8, 0]
    total = left.total
    assert (total.checked, total.late, total.twice, total.unreadable) == (
        30 + 16 + 20 + 30 + 28,
        3,
        1,
        1,
    )
    assert (total.passed, left.alarms) == (14 + 2, 2)
    assert {name for name, each in left.carried.items() if each.divergence} == {"b", "e"}


def test_batches_of_any_size_leave_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.replay.streams.PATIENCE", Patience(100, 1000))
    rows = [row for batch in batches() for row in batch]
    whole = run(tmp_path / "1", [rows])
    parts = run(tmp_path / "2", in_parts(rows, 11))
    assert alarms(tmp_path / "1") == alarms(tmp_path / "2") == ALARMS
    assert whole.carried.keys() == parts.carried.keys()
    for name, each in whole.carried.items():
        assert each.state == parts.carried[name].state
    assert whole.total.checked == parts.total.checked


def in_parts(rows: list[Row], size: int) -> list[list[Row]]:
    return [rows[i : i + size] for i in range(0, len(rows), size)]


@pytest.mark.parametrize(
    "point", ["done", *(pytest.param(p, marks=pytest.mark.slow) for p in POINTS if p != "done")]
)
def test_who_is_killed_and_started_again_raises_the_same_alarms(tmp_path: Path, point: str) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    killed.mkdir()
    whole.mkdir()
    done = run_outside(sys.executable, "-m", "tests.replay.streams", killed, point)
    assert done.returncode == -signal.SIGKILL
    assert (killed / "noted").read_text() == "0"
    told: list[Batch] = []
    assert outcome(killed, run(killed, batches(), told.append)) == outcome(
        whole, run(whole, batches())
    )
    assert [each.again for each in told] == [point == "done", False]
    assert alarms(killed) == ALARMS


def test_a_batch_that_is_done_is_not_checked_again_and_says_the_same(tmp_path: Path) -> None:
    left = run(tmp_path, batches())
    told: list[Batch] = []
    place = place_in(tmp_path, told.append)
    assert run_batch(2, STREAM, left, lambda _: ([], 1 // 0), place) is left
    (again,) = told
    assert (again.again, again.summary) == (True, left.last)
    assert alarms(tmp_path) == ALARMS


def test_states_of_another_stream_or_of_a_later_batch_are_refused(tmp_path: Path) -> None:
    left = attrs.evolve(Left(), stream="s", last=attrs.evolve(Left().last, batch=5))
    assert is_done(5, "s", left, tmp_path)
    assert not is_done(6, "s", left, tmp_path)
    assert not is_done(0, "another", left, tmp_path)
    with pytest.raises(StateError, match=r"are of batch 5, and this is batch 4 of spark/$"):
        is_done(4, "s", left, tmp_path)
    with pytest.raises(StateError, match="are of another stream, and this is batch 6"):
        is_done(6, "another", left, tmp_path)


def test_a_stream_that_begins_anew_checks_nothing_twice(tmp_path: Path) -> None:
    left = run(tmp_path, batches())
    place = place_in(tmp_path)
    for number, rows in enumerate(batches()):
        table = arrived(rows)
        judge = lambda before, table=table: judged(table, place.plan, before)  # noqa: E731 - short
        left = run_batch(number, "another", left, judge, place)
    assert alarms(tmp_path) == ALARMS
    assert left.alarms == 2
    assert left.total.checked == CHECKED


def test_what_cannot_be_checked_is_refused_before_anything_runs(spark: SparkSession) -> None:
    frame, plan = spark.readStream.format("rate").load(), Plan(state_folder="nowhere")
    with pytest.raises(InvalidValueError, match=r"plan\.state_folder"):
        check_stream(frame, Plan())
    with pytest.raises(InvalidValueError, match="column partition"):
        check_stream(frame, plan)
    with pytest.raises(InvalidValueError, match="frame is 'a static DataFrame'"):
        check_stream(spark.range(1), plan)


def test_the_cause_of_an_error_is_one_line() -> None:
    trace = "Traceback:\n  File\nreplay.state_file.StateError: the states are of batch 5\nat java"
    assert reason_of(ValueError(trace)) == "the states are of batch 5"
    assert reason_of(ValueError("x\nCaused by: java.Exception: y")) == "java.Exception: y"


@pytest.mark.slow
def test_spark_gives_a_batch_again_that_was_cut_off(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    rows = batches()
    write_lines(folder / "a b.jsonl", rows[0])
    done = run_outside(sys.executable, "-c", DYING, tmp_path, folder)
    assert done.returncode == -signal.SIGKILL
    assert not list(tmp_path.glob("states/spark/commits/0"))
    assert read_stream(tmp_path / "states", Plan().rules).last.batch == 0
    spoiled = b'{"partition": "a", "seq": 1'
    told: list[Batch] = []

    def go_on() -> None:
        query = check_stream(
            folder_stream(spark, folder),
            plan_in(tmp_path),
            tmp_path / "out",
            each=told.append,
            trigger={"availableNow": True},
        )
        query.awaitTermination()

    go_on()
    assert [(each.summary.batch, each.again) for each in told] == [(0, True)]
    write_lines(folder / "b.jsonl.gz", rows[1][:-2])
    (folder / "c.ndjson").write_bytes(spoiled)
    (folder / ".d.jsonl").write_bytes(spoiled)
    (folder / "e.txt").write_bytes(spoiled)
    (folder / "f.jsonl").write_bytes(b"\n")
    go_on()
    write_parquet(folder / "g.parquet", rows[2])
    go_on()
    assert [each.summary.batch for each in told] == [0, 1, 2]
    assert alarms(tmp_path) == ALARMS
    assert min(message for _, message in problems(tmp_path)) == "holds no events"
    assert len(problems(tmp_path)) == 2
    assert told[2].left.total.checked == CHECKED
    assert told[2].summary.lag_seconds is not None


@pytest.mark.slow
def test_any_stream_with_the_columns_is_checked(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    table = spark.read.parquet(str(write_parquet(folder / "t.parquet", batches()[1][:40])))
    other = table.drop("leader_epoch", "due_ms").withColumn("seq", F.col("seq").cast("int"))
    other.write.parquet(str(tmp_path / "other"))
    frame = spark.readStream.schema(other.schema).parquet(str(tmp_path / "other"))
    told: list[Batch] = []
    plan = plan_in(tmp_path)
    trigger = {"availableNow": True}
    check_stream(frame, plan, each=told.append, trigger=trigger, source="lake").awaitTermination()
    (batch,) = told
    assert (batch.summary.waiting, batch.summary.counts.checked) == (40, 0)
    assert set(batch.left.held.column("source").to_pylist()) == {"lake"}
    states = read_stream(tmp_path / "states", plan.rules)
    assert states.held.num_rows == 40
    (tmp_path / "states" / "states.txt").unlink()
    query = check_stream(frame, plan, trigger=trigger)
    query.awaitTermination()
    write_lines(tmp_path / "x.jsonl", renamed(kafka_rows(count=1), "z"))
    other.limit(1).write.mode("append").parquet(str(tmp_path / "other"))
    with pytest.raises(PySparkException) as caught:
        check_stream(frame, plan, trigger=trigger).awaitTermination()
    assert "are of another stream, and this is batch 1 of spark/" in reason_of(caught.value)


def test_a_state_that_a_batch_leaves_as_it_was_is_the_same_object(tmp_path: Path) -> None:
    """So that its line is there."""
    told: list[Batch] = []
    left = run(tmp_path, batches(), told.append)
    assert told[1].left.carried["b"] is left.carried["b"]
