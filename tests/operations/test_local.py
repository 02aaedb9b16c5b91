from pathlib import Path

import pytest

from model.errors import InvalidValueError
from operations.local import (
    SharePartitionName,
    chosen,
    named,
    opened_traces,
    parsed_name,
    share_partitions,
)
from replay.pieces import PartitionRows
from replay.sources import NoSuchTraceError
from replay.verdict import Problem
from tests.replay.samples import (
    kafka_rows,
    placed,
    present,
    renamed,
    write_lines,
    write_parquet,
    write_trace,
)

ROWS = [row for p in range(3) for row in kafka_rows(partition=p, count=20)]


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.parquet", "sorted.parquet"])
def test_each_share_partition_comes_whole_and_in_order(tmp_path: Path, name: str) -> None:
    path = write_trace(tmp_path / name, ROWS if name.startswith("sorted") else ROWS[::-1])
    with opened_traces([path]) as traces:
        found = {rows.partition: rows for rows in share_partitions(traces)}
        only = [rows.partition for rows in share_partitions(traces, "core:orders:1".__eq__)]
    assert {n: rows.table.column("seq").to_pylist() for n, rows in found.items()} == {
        f"core:orders:{p}": list(range(20)) for p in range(3)
    }
    assert only == ["core:orders:1"]
    assert traces.problems == ()


def test_a_problem_belongs_to_its_share_partition_or_to_the_traces(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", ROWS[:30])
    path.write_bytes(path.read_bytes() + b'{"partition":"core:orders:9"}\n{"partition":"x"}\n{\n')
    write_parquet(tmp_path / "b.parquet", kafka_rows(partition=1, count=5))
    with opened_traces([tmp_path]) as traces:
        found = {rows.partition: rows for rows in share_partitions(traces)}
        some = [rows.partition for rows in share_partitions(traces, "x".__ne__)]
    assert [problem.line for problem in traces.problems] == [33]
    assert found["core:orders:0"].problem is None
    for name, words in (
        ("core:orders:1", "is in 2 files"),
        ("core:orders:9", "event.seq is None"),
        ("x", "event.seq is None"),
    ):
        assert words in present(found[name].problem).message
        assert not found[name].table.num_rows
    assert set(some) == set(found) - {"x"}


def test_a_trace_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(NoSuchTraceError), opened_traces([tmp_path / "no"]):
        pass


def test_a_group_may_hold_colons() -> None:
    assert parsed_name("a:b:orders:12") == SharePartitionName("a:b", "orders", 12)


@pytest.mark.parametrize(
    "text", ["p", "orders:1", ":orders:1", "g::1", "g:orders:", "g:t:x", "g:t:-1"]
)
def test_a_malformed_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="allowed: group:topic:partition"):
        parsed_name(text)


def test_names_order_by_the_number_of_the_partition() -> None:
    names = [parsed_name(f"g:t:{n}") for n in (10, 9)]
    assert sorted(names) == names[::-1]


def test_a_share_partition_belongs_to_its_group_also_with_colons(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", renamed(kafka_rows(count=5), "a:b:orders:1"))
    with opened_traces([path]) as traces:
        assert chosen(traces, None)("any")
        assert chosen(traces, "a:b")("a:b:orders:1")
        assert not chosen(traces, "a:b")("a:orders:1")
        for group, partition, text in ((("a"), None, "of the group a"), (None, "x", "is x")):
            with pytest.raises(NoSuchTraceError, match=f"{text}; there are: a:b:orders:1"):
                chosen(traces, group, partition)


def test_a_malformed_name_is_a_problem_unless_there_are_no_events() -> None:
    def rows(name: str, count: int) -> PartitionRows:
        return PartitionRows(name, placed(renamed(kafka_rows(count=count), name)), count, None)

    problems: list[Problem] = []
    assert named(rows("g:orders:1", 2), problems) == SharePartitionName("g", "orders", 1)
    assert named(rows("g:orders:1", 0), problems) is None
    assert problems == []
    assert named(rows("orders", 2), problems) is None
    message = "partition is 'orders'; allowed: group:topic:partition"
    assert problems == [Problem("trace.jsonl", 1, message, "orders")]
