import pytest

from operations.naming import SharePartitionName
from replay.load import PartitionRows
from replay.verdict import Problem
from sharespec.commands.options import in_group, named, report_problems
from tests.replay.samples import kafka_rows, placed, renamed


def test_problems_are_printed_once_in_order_up_to_a_limit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problems = [Problem("f", n, "x", f"p{n:02}") for n in range(22)]
    with pytest.raises(SystemExit) as exited:
        report_problems([*problems[::-1], *problems])
    assert exited.value.code == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "p00: f:0: x"
    assert lines[-1] == "… and 2 more places"
    assert len(lines) == 21
    report_problems([])


def test_a_group_may_hold_colons() -> None:
    assert in_group(None)("any")
    assert in_group("a:b")("a:b:orders:1")
    assert not in_group("a")("a:b:orders:1")


def test_a_name_that_is_none_is_a_problem_and_nothing_to_name_is_not() -> None:
    def rows(name: str, count: int) -> PartitionRows:
        return PartitionRows(name, placed(renamed(kafka_rows(count=count), name)), count, None)

    problems: list[Problem] = []
    assert named(rows("g:orders:1", 2), problems) == SharePartitionName("g", "orders", 1)
    assert named(rows("g:orders:1", 0), problems) is None
    assert problems == []
    assert named(rows("orders", 2), problems) is None
    message = "partition is 'orders'; allowed: group:topic:partition"
    assert problems == [Problem("trace.jsonl", 1, message, "orders")]
