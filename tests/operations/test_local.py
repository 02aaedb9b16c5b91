from pathlib import Path

import pytest

from operations.local import opened_traces, share_partitions
from replay.sources import NoSuchTraceError
from tests.replay.samples import kafka_rows, write_lines, write_parquet

ROWS = [row for p in range(3) for row in kafka_rows(partition=p, count=20)]


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.parquet", "sorted.parquet"])
def test_each_share_partition_comes_whole_and_in_order(tmp_path: Path, name: str) -> None:
    write = write_parquet if name.endswith("parquet") else write_lines
    path = write(tmp_path / name, ROWS if name.startswith("sorted") else ROWS[::-1])
    with opened_traces([path]) as traces:
        found = {rows.partition: rows for rows in share_partitions(traces)}
        only = [rows.partition for rows in share_partitions(traces, "core:orders:1".__eq__)]
    assert {n: rows.table.column("seq").to_pylist() for n, rows in found.items()} == {
        f"core:orders:{p}": list(range(20)) for p in range(3)
    }
    assert only == ["core:orders:1"]
    assert traces.problems == ()


def test_what_is_wrong_is_told_with_its_share_partition_or_with_the_traces(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", ROWS[:30])
    path.write_bytes(path.read_bytes() + b'{"partition":"core:orders:9"}\n{"partition":"x"}\n{\n')
    write_parquet(tmp_path / "b.parquet", kafka_rows(partition=1, count=5))
    with opened_traces([tmp_path]) as traces:
        found = {rows.partition: rows for rows in share_partitions(traces)}
        some = [rows.partition for rows in share_partitions(traces, "x".__ne__)]
    assert [problem.line for problem in traces.problems] == [33]
    assert found["core:orders:0"].problem is None
    for name, words in (
        ("core:orders:1", "stands in 2 files"),
        ("core:orders:9", "event.seq is None"),
        ("x", "event.seq is None"),
    ):
        problem = found[name].problem
        assert problem
        assert words in problem.message
        assert not found[name].table.num_rows
    assert set(some) == set(found) - {"x"}


def test_a_trace_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoSuchTraceError), opened_traces([tmp_path / "no"]):
        pass
