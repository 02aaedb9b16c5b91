"""What is read of a long share-partition in pieces is what is read of it whole, in order."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay.gather import gather
from replay.load import BucketTask, OrderedTask, loaded
from replay.pieces import Pieces, collected, joined, long_ones, with_last
from replay.sources import find_sources
from replay.survey import PartitionRun
from replay.tasks import check_tasks, gather_tasks, inputs_of
from tests.replay.samples import Row, kafka_rows, placed, renamed, write_lines, write_parquet

NAME = "core:orders:0"


def gathered(folder: Path, files: list[list[Row]]) -> BucketTask:
    """Return the task over these files, which are all in one bucket."""
    for number, rows in enumerate(files):
        write_lines(folder / f"{number}.jsonl", rows)
    tasks = gather_tasks(find_sources([folder]).files, 1, str(folder), 0)
    inputs = inputs_of([gather(task) for task in tasks], [])
    (task,) = check_tasks(inputs, inputs.places, 1)
    assert isinstance(task, BucketTask)
    return task


def of_leaders(count: int) -> list[Row]:
    return [row | {"leader_epoch": 0} for row in kafka_rows(count=count)]


def seqs(pieces: Pieces) -> list[list[int]]:
    return [piece.table.column("seq").to_pylist() for piece in pieces.rows()]


def flat(parts: list[list[int]]) -> list[int]:
    return [seq for part in parts for seq in part]


def test_a_file_in_order_is_read_in_pieces_whatever_its_row_groups_are(tmp_path: Path) -> None:
    rows = [*renamed(kafka_rows(count=5), "a:b:0"), *kafka_rows(count=60)]
    run = PartitionRun(NAME, 5, 60)
    for per_group in (7, 1000):
        path = write_parquet(tmp_path / f"{per_group}.parquet", rows, per_group)
        groups = tuple(range(pq.ParquetFile(path).metadata.num_row_groups))
        task = OrderedTask(0, str(path), groups, (PartitionRun("a:b:0", 0, 5), run))
        rest, (pieces,) = long_ones(task, 20)
        assert isinstance(rest, OrderedTask)
        assert [each.partition for each in rest.runs] == ["a:b:0"]
        read = list(pieces.rows())
        (whole,) = (each for each in loaded(task) if each.partition == NAME)
        assert pa.concat_tables([piece.table for piece in read]).equals(whole.table)
        assert [piece.place(0) for piece in read] == [
            (str(path), 6 + piece.table.column("seq")[0].as_py()) for piece in read
        ]
        assert 3 >= len(read) > 1
        assert max(piece.table.num_rows for piece in read) < 40


def test_row_groups_are_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Read together, those of a file of 100 million events took 5 GB; small ones show nothing.
    path = write_parquet(tmp_path / "t.parquet", kafka_rows(count=60), 7)
    asked: list[object] = []
    batches = pq.ParquetFile.iter_batches

    def noted(file: pq.ParquetFile, *arguments: object, **options: object) -> object:
        asked.append(arguments[1])
        return batches(file, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    task = OrderedTask(0, str(path), tuple(range(9)), (PartitionRun(NAME, 0, 60),))
    _rest, (pieces,) = long_ones(task, 20)
    assert flat(seqs(pieces)) == list(range(60))
    assert asked == [[group] for group in range(9)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_files_one_after_another_are_read_one_after_another(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    rows = of_leaders(60)
    task = gathered(tmp_path, [rows[20 * i : 20 * i + 20] for i in order])
    rest, (pieces,) = long_ones(task, 20)
    assert isinstance(rest, BucketTask)
    assert not rest.chosen
    assert list(loaded(rest)) == []
    parts = seqs(pieces)
    assert flat(parts) == list(range(60))
    assert [len(part) for part in parts] == [19, 20, 20, 1], "the last of a piece may be one of two"


def test_row_groups_that_overlap_are_read_together(tmp_path: Path) -> None:
    rows = of_leaders(60)
    task = gathered(tmp_path, [rows[:20:2], rows[1:20:2], rows[20:]])
    _, (pieces,) = long_ones(task, 10)
    assert flat(seqs(pieces)) == list(range(60))
    assert len(seqs(pieces)[0]) == 19


def test_rows_with_one_key_stay_together() -> None:
    rows = [row for row in kafka_rows(count=9) for _ in range(1 + (row["seq"] == 4))]
    tables = [placed(rows).slice(i, 1) for i in range(10)]
    for most in range(1, 11):
        parts = [table.column("seq").to_pylist() for table in collected(tables, most)]
        assert flat(parts) == [0, 1, 2, 3, 4, 4, 5, 6, 7, 8]
        assert [part.count(4) for part in parts if 4 in part] == [2]
        assert len(parts) > 1 or most > 4


def test_two_share_partitions_are_not_mixed(tmp_path: Path) -> None:
    rows = [
        row
        for pair in zip(of_leaders(30), renamed(of_leaders(30), "b"), strict=True)
        for row in pair
    ]
    task = gathered(tmp_path, [rows])
    rest, (pieces,) = long_ones(task, None, frozenset({NAME}))
    assert {piece.partition for piece in pieces.rows()} == {NAME}
    assert [(each.partition, each.events) for each in loaded(rest)] == [("b", 30)]


def test_what_is_not_long_stays_in_the_task(tmp_path: Path) -> None:
    task = gathered(tmp_path, [of_leaders(30)])
    assert long_ones(task, 30) == (task, [])
    assert long_ones(task, None) == (task, [])


@pytest.mark.parametrize("damage", ["shorter", "gone"])
def test_a_file_that_changes_meanwhile_is_a_problem(tmp_path: Path, damage: str) -> None:
    path = write_parquet(tmp_path / "t.parquet", kafka_rows(count=40), 10)
    task = OrderedTask(0, str(path), (0, 1, 2, 3), (PartitionRun(NAME, 0, 40),))
    _, (pieces,) = long_ones(task, 10)
    write_parquet(path, kafka_rows(count=20), 10)
    if damage == "gone":
        path.unlink()
    *before, last = pieces.rows()
    assert len(before) == (3 if damage == "shorter" else 0)
    assert last.problem
    assert "cannot be read" in last.problem.message
    assert sum(piece.events for piece in (*before, last)) == 40


def test_two_pieces_become_one(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", kafka_rows(count=40), 10)
    task = OrderedTask(0, str(path), (0, 1, 2, 3), (PartitionRun(NAME, 0, 40),))
    _, (pieces,) = long_ones(task, 10)
    first, second, *_ = pieces.rows()
    both = joined(first, second)
    assert both.events == both.table.num_rows == first.events + second.events
    assert both.place(both.events - 1) == second.place(second.events - 1)


def test_the_last_is_known() -> None:
    assert list(with_last("abc")) == [("a", False), ("b", False), ("c", True)]
    assert list(with_last("")) == []
