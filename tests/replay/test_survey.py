from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import replay.gather
from model.trace_arrow import SCHEMA
from replay.gather import GENERATED, Survey, survey
from replay.sources import Form, Source
from tests.replay.samples import kafka_rows, renamed, write_parquet

ROWS = [*kafka_rows(count=50), *kafka_rows(partition=1, count=30)]


def look(path: Path) -> Survey:
    return survey(Source(str(path), Form.PARQUET, path.stat().st_size))


@pytest.mark.parametrize("rows_per_group", [7, 50, 1000])
def test_share_partitions_in_order_are_runs(tmp_path: Path, rows_per_group: int) -> None:
    found = look(write_parquet(tmp_path / "t.parquet", ROWS, rows_per_group))
    assert found.problem is None
    assert found.partitions == {"core:orders:0": (1, 50), "core:orders:1": (51, 30)}
    assert sum(found.row_groups) == 80
    assert not found.generated


@pytest.mark.parametrize("rows_per_group", [7, 1000])
@pytest.mark.parametrize(
    "rows",
    [
        ROWS[::-1],
        ROWS[1:],
        [*ROWS[:20], *ROWS[21:]],
        [*ROWS[:21], *ROWS[20:]],
        [*ROWS[:20], *ROWS[50:], *ROWS[20:50]],
        [*ROWS, *renamed(ROWS[:3], "core:orders:0")],
        [*ROWS, {**ROWS[0], "partition": None}],
        [*ROWS, {**ROWS[0], "partition": "p", "seq": None}],
    ],
)
def test_a_file_in_any_other_order_has_no_runs(
    tmp_path: Path, rows: list[dict[str, object]], rows_per_group: int
) -> None:
    found = look(write_parquet(tmp_path / "t.parquet", rows, rows_per_group))
    assert (found.partitions, found.problem) == (None, None)


def test_a_file_with_another_schema_or_empty_or_damaged_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"partition": ["p"], "seq": [0]}), path)
    assert "column time_ms is 'missing'; allowed" in str(look(path).problem)
    pq.write_table(SCHEMA.empty_table(), path)
    assert "holds no events" in str(look(path).problem)
    path.write_bytes(b"PAR1" + b"x" * 100)
    assert "allowed: a Parquet file" in str(look(path).problem)
    index = SCHEMA.get_field_index("seq")
    pq.write_table(SCHEMA.set(index, pa.field("seq", pa.string())).empty_table(), path)
    assert "column seq is 'string'; allowed: int64" in str(look(path).problem)


def test_absurd_sizes_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "t.parquet", ROWS)
    for name in ("ROWS", "VALUES", "BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(replay.gather, f"MAX_ROW_GROUP_{name}", 10)
            assert f"row group 0, {name.lower()} is" in str(look(path).problem)


def test_generated_traces_are_recognized(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", ROWS)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({GENERATED: b"{}"}), path)
    assert look(path).generated


def test_rows_that_tell_their_leader_epoch_are_put_in_order_elsewhere(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", [{**row, "leader_epoch": 3} for row in ROWS])
    assert (look(path).partitions, look(path).problem) == (None, None)


def test_a_file_is_looked_through_one_row_group_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(*_arguments: object, **_options: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pq.ParquetFile, "read", whole)
    late = [*ROWS[:-1], {**ROWS[-1], "leader_epoch": 3}]
    assert look(write_parquet(tmp_path / "plain.parquet", ROWS, 7)).partitions
    assert look(write_parquet(tmp_path / "late.parquet", late, 7)).partitions is None
