from pathlib import Path

import pyarrow.parquet as pq
import pytest

from model.errors import InvalidValueError
from replay.gather import GatherTask, bucket_of, gather
from replay.load import BucketTask, GatheredPart, OrderedTask, PartitionRows, load
from replay.sources import Form, Source, find_sources
from replay.survey import PartitionRun, survey
from replay.verdict import Problem
from tests.replay.samples import Row, kafka_rows, write_lines, write_parquet


def loaded(tmp_path: Path, rows: list[Row], **options: object) -> dict[str, PartitionRows]:
    """Return what is loaded after rows went through the first stage in one bucket."""
    (source,) = find_sources([write_lines(tmp_path / "t.jsonl", rows)]).files
    found = gather(GatherTask(0, source, 0, None, 1, str(tmp_path / "out")))
    part = GatheredPart(found.task.target, found.row_groups[bucket_of("any", 1)], 100)
    task = BucketTask(0, (part,), {}, {}, frozenset(found.partitions))
    for name, value in options.items():
        object.__setattr__(task, name, value)
    return {rows.partition: rows for rows in load(task)}


def test_events_are_in_order_with_the_line_each_was_read_from(tmp_path: Path) -> None:
    rows = [*kafka_rows(count=30)[::-1], *kafka_rows(partition=1, count=20)]
    found = loaded(tmp_path, rows)
    first, second = found["core:orders:0"], found["core:orders:1"]
    assert first.table.column("seq").to_pylist() == list(range(30))
    assert first.place(0) == (str(tmp_path / "t.jsonl"), 130)
    assert second.place(0) == (str(tmp_path / "t.jsonl"), 131)
    assert (first.events, first.problem) == (30, None)


@pytest.mark.parametrize(
    ("seqs", "usable", "line", "message"),
    [
        ([0, 1, 2, 2, 3], 2, 104, "seq 2 occurs twice; the other event is in line 103"),
        ([0, 1, 3, 4], 2, 103, "seq 2 is missing: the next is 3"),
        ([1, 2], 0, 101, "seq 0 is missing: the next is 1"),
        ([-1, 0], 0, 101, "seq is -1; allowed: 0 or more"),
    ],
)
def test_events_before_an_error_in_seq_are_kept(
    tmp_path: Path, seqs: list[int], usable: int, line: int, message: str
) -> None:
    row = kafka_rows(count=1)[0]
    found = loaded(tmp_path, [{**row, "seq": seq} for seq in seqs])["core:orders:0"]
    assert (found.table.num_rows, found.events) == (usable, len(seqs))
    assert found.problem == Problem(str(tmp_path / "t.jsonl"), line, message, "core:orders:0")


def test_conflicts_are_not_loaded_and_bad_lines_are_problems(tmp_path: Path) -> None:
    problem = Problem("a", 1, "text", "core:orders:0")
    rows = kafka_rows(count=10)
    found = loaded(tmp_path, rows, conflicts={"core:orders:0": problem})["core:orders:0"]
    assert (found.table.num_rows, found.events, found.problem) == (0, 10, problem)
    found = loaded(tmp_path, rows, bad={"core:orders:0": problem})["core:orders:0"]
    assert (found.table.num_rows, found.problem) == (10, problem)
    assert loaded(tmp_path, rows, chosen=frozenset()) == {}


@pytest.mark.parametrize("rows_per_group", [7, 20, 1000])
def test_a_file_in_order_is_read_run_by_run(tmp_path: Path, rows_per_group: int) -> None:
    rows = [row for p in range(4) for row in kafka_rows(partition=p, count=25)]
    path = write_parquet(tmp_path / "t.parquet", rows, rows_per_group)
    seen = survey(Source(str(path), Form.PARQUET, 1))
    assert seen.runs
    runs = (seen.runs[0], seen.runs[3])
    groups = tuple(
        g
        for g in range(len(seen.row_groups))
        if g * rows_per_group < 25 or (g + 1) * rows_per_group > 75
    )
    found = list(load(OrderedTask(0, str(path), groups, runs)))
    assert [(f.partition, f.events, f.table.num_rows) for f in found] == [
        ("core:orders:0", 25, 25),
        ("core:orders:3", 25, 25),
    ]
    assert found[1].place(2) == (str(path), 78)
    assert found[1].table.column("seq").to_pylist() == list(range(25))


def test_a_row_with_a_missing_value_ends_the_events(tmp_path: Path) -> None:
    rows = [*kafka_rows(count=25), *kafka_rows(partition=1, count=25)]
    rows[30]["result"] = None
    path = write_parquet(tmp_path / "t.parquet", rows)
    runs = (PartitionRun("core:orders:0", 0, 25), PartitionRun("core:orders:1", 25, 25))
    whole, cut = load(OrderedTask(0, str(path), (0,), runs))
    assert whole.problem is None
    assert (cut.table.num_rows, cut.events) == (5, 25)
    assert cut.problem == Problem(
        str(path), 31, "result is None; allowed: a value", "core:orders:1"
    )


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", kafka_rows(count=25))
    with pytest.raises(InvalidValueError, match="does not change"):
        list(load(OrderedTask(0, str(path), (0,), (PartitionRun("core:orders:0", 0, 99),))))


@pytest.mark.parametrize("turned", [False, True], ids=["in order", "to be sorted"])
def test_a_file_of_an_earlier_version_is_read(tmp_path: Path, turned: bool) -> None:  # noqa: FBT001
    rows = kafka_rows(count=20)
    path = write_parquet(tmp_path / "t.parquet", rows[::-1] if turned else rows, 7)
    pq.write_table(pq.read_table(path).drop_columns(["progress_batches", "ranges"]), path)
    (source,) = find_sources([path]).files
    if not turned:
        (found,) = load(OrderedTask(0, str(path), (0,), survey(source).runs or ()))
    else:
        gathered = gather(GatherTask(0, source, 0, None, 1, str(tmp_path / "out")))
        part = GatheredPart(gathered.task.target, gathered.row_groups[bucket_of("any", 1)], 0)
        (found,) = load(BucketTask(0, (part,), {}, {}, frozenset(gathered.partitions)))
    assert [row["seq"] for row in found.table.to_pylist()] == list(range(20))
    assert found.problem is None
