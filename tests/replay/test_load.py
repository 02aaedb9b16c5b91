"""What is read of share-partitions is in order, whole or in pieces, with its places."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay.gather import gather
from replay.pieces import PartitionRows, UnreadError, collected, joined, partitions
from replay.sources import find_sources
from replay.tasks import (
    CheckTask,
    check_tasks,
    facts_of,
    gather_tasks,
    inputs_of,
    read_sorted,
    whole_rows,
)
from tests.replay.samples import Row, kafka_rows, placed, renamed, write_lines, write_parquet

NAME = "core:orders:0"


def gathered(folder: Path, *files: list[Row]) -> CheckTask:
    """Return the task over these files of lines, which are all in one bucket."""
    for number, rows in enumerate(files):
        write_lines(folder / f"{number}.jsonl", rows)
    return read(folder)


def read(path: Path, *names: str) -> CheckTask:
    """Return the task over some share-partitions of a file or folder."""
    folder = path if path.is_dir() else path.parent
    inputs = inputs_of(list(gather(gather_tasks(find_sources([path]).files, 1, str(folder)))))
    (task,) = check_tasks(inputs, names or inputs.places, 1, facts_of(inputs))
    return task


def pieces_of(task: CheckTask, most: int) -> Iterator[PartitionRows]:
    for tables in read_sorted(task, most):
        yield from (piece for _, pieces in partitions(tables, most) for piece in pieces)


def seqs(pieces: Iterator[PartitionRows]) -> list[list[int]]:
    return [piece.table.column("seq").to_pylist() for piece in pieces]


def of_leaders(count: int) -> list[Row]:
    return [row | {"leader_epoch": 0} for row in kafka_rows(count=count)]


@pytest.mark.parametrize("per_group", [7, 20, 1000])
@pytest.mark.parametrize("most", [20, 1000])
def test_a_file_in_order_is_read_whatever_its_row_groups_are(
    tmp_path: Path, per_group: int, most: int
) -> None:
    rows = [row for p in range(4) for row in kafka_rows(partition=p, count=25)]
    path = write_parquet(tmp_path / "t.parquet", rows, per_group)
    task = read(path, NAME, "core:orders:3")
    pieces = list(pieces_of(task, most))
    assert sum(piece.events for piece in pieces) == 50
    assert max(piece.events for piece in pieces) < 2 * most
    for number, whole in zip((0, 3), whole_rows(task), strict=True):
        mine = [piece for piece in pieces if piece.partition == f"core:orders:{number}"]
        assert pa.concat_tables([piece.table for piece in mine]).equals(whole.table)
        assert whole.place(2) == (str(path), 25 * number + 3)
        assert whole.table.column("seq").to_pylist() == list(range(25))


def test_row_groups_are_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Read together, those of a file of 100 million events took 5 GB; small ones show nothing.
    path = write_parquet(tmp_path / "t.parquet", kafka_rows(count=60), 7)
    task = read(path)
    asked: list[object] = []
    batches = pq.ParquetFile.iter_batches

    def noted(file: pq.ParquetFile, *arguments: object, **options: object) -> object:
        asked.append(arguments[1])
        return batches(file, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    assert [*itertools.chain(*seqs(pieces_of(task, 20)))] == list(range(60))
    assert asked == [[group] for group in range(9)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_files_one_after_another_are_read_one_after_another(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    rows = of_leaders(60)
    parts = seqs(pieces_of(gathered(tmp_path, *(rows[20 * i : 20 * i + 20] for i in order)), 20))
    assert [*itertools.chain(*parts)] == list(range(60))
    assert [len(part) for part in parts] == [19, 20, 20, 1], "the last of a piece may be one of two"


def test_row_groups_that_overlap_are_read_together(tmp_path: Path) -> None:
    rows = of_leaders(60)
    parts = seqs(pieces_of(gathered(tmp_path, rows[:20:2], rows[1:20:2], rows[20:]), 10))
    assert [*itertools.chain(*parts)] == list(range(60))
    assert len(parts[0]) == 19


def test_a_long_share_partition_and_a_short_one_are_not_mixed(tmp_path: Path) -> None:
    rows = [*of_leaders(30), *renamed(of_leaders(9), "b")]
    mixed = sorted(rows, key=lambda row: (row["seq"], row["partition"]))
    first, *others = pieces_of(gathered(tmp_path, mixed), 10)
    assert (first.partition, first.events) == ("b", 9)
    assert {piece.partition for piece in others} == {NAME}
    assert sum(piece.events for piece in others) == 30


def test_rows_with_one_key_stay_together() -> None:
    rows = [row for row in kafka_rows(count=9) for _ in range(1 + (row["seq"] == 4))]
    tables = [placed(rows).slice(i, 1) for i in range(10)]
    for most in range(1, 11):
        parts = [table.column("seq").to_pylist() for table in collected(tables, most)]
        assert [*itertools.chain(*parts)] == [0, 1, 2, 3, 4, 4, 5, 6, 7, 8]
        assert [part.count(4) for part in parts if 4 in part] == [2]
        assert len(parts) > 1 or most > 4


@pytest.mark.parametrize("damage", ["shorter", "gone"])
def test_a_file_that_changes_meanwhile_is_a_problem(tmp_path: Path, damage: str) -> None:
    path = write_parquet(tmp_path / "t.parquet", kafka_rows(count=40), 10)
    task = read(path)
    write_parquet(path, kafka_rows(count=20), 10)
    if damage == "gone":
        path.unlink()
        with pytest.raises(UnreadError, match="cannot be read"):
            list(pieces_of(task, 10))
    else:
        *_, last = pieces_of(task, 10)
        assert last.problem
        assert last.problem.partition == NAME
        assert "does not change while it is read" in last.problem.message
    (rows,) = whole_rows(task)
    assert rows.problem
    assert "cannot be read" in rows.problem.message


def test_a_row_with_a_missing_value_ends_the_events(tmp_path: Path) -> None:
    rows = [*kafka_rows(count=25), *kafka_rows(partition=1, count=25)]
    rows[30]["result"] = None
    path = write_parquet(tmp_path / "t.parquet", rows)
    whole, cut = whole_rows(read(path))
    assert whole.problem is None
    assert (cut.table.num_rows, cut.events) == (5, 25)
    assert cut.problem
    assert (cut.problem.line, cut.problem.message) == (31, "result is None; allowed: a value")


@pytest.mark.parametrize("turned", [False, True], ids=["in order", "to be sorted"])
def test_a_file_of_an_earlier_version_or_narrower_is_read(tmp_path: Path, turned: bool) -> None:  # noqa: FBT001
    rows = kafka_rows(count=20)
    path = write_parquet(tmp_path / "t.parquet", rows[::-1] if turned else rows, 7)
    table = pq.read_table(path).drop_columns(["progress_batches", "ranges"])
    narrow = table.column("seq").cast("int32")
    pq.write_table(table.set_column(table.column_names.index("seq"), "seq", narrow), path)
    task = read(path)
    assert bool(task.first_rows) is not turned
    (found,) = whole_rows(task)
    assert [row["seq"] for row in found.table.to_pylist()] == list(range(20))
    assert found.problem is None


def test_two_pieces_become_one(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", kafka_rows(count=40), 10)
    first, second, *_ = pieces_of(read(path), 10)
    both = joined(first, second)
    assert both.events == both.table.num_rows == first.events + second.events
    assert both.place(both.events - 1) == second.place(second.events - 1)
