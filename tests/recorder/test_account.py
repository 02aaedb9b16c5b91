"""The account of a trace notices what is wrong with it."""

import gzip
import json
from pathlib import Path

import pytest

from tests.recorder.account import Row, Trace, numbers_that_differ, problems, read

AFTER = {"start_offset": 0, "end_offset": 1, "delivery_complete_count": 0}
WRITE = {"id": 0, "start_offset": 0, "delivery_complete_count": 0, "made_after": 1}


def row(seq: int, op: str = "alter_config", **fields: object) -> Row:
    usual = {
        "partition": "p",
        "leader_epoch": 0,
        "instance": 0,
        "seq": seq,
        "time_ms": seq,
        "op": op,
    }
    needs: Row = {"config": {}, "lost": None, "member": "m", "id": 0}
    answer = {"result": {"status": "NONE"}, "writes": [], "completed": [], "after": AFTER}
    return usual | needs | answer | fields


GOOD = [
    row(0, "checkpoint"),
    row(1, "release", writes=[WRITE]),
    row(2, "complete_write"),
    row(3, "gap"),
    row(4, "checkpoint"),
]


def test_a_good_trace_has_no_problems() -> None:
    trace = Trace([{}], [{"written": 5, "dropped": 0, "faults": 0}], GOOD)
    assert problems(trace) == []
    assert numbers_that_differ(trace) == []


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (GOOD[1:], "begins with release"),
        ([GOOD[0], GOOD[2]], "2 after 0"),
        ([*GOOD, row(5, time_ms=1)], "5: the clock goes back"),
        ([*GOOD[:4], row(4)], "4: alter_config after a gap"),
        ([row(0, "checkpoint"), row(1, "complete_write")], "answer to write 0, which nobody made"),
        ([*GOOD[:3], row(3, "complete_write")], "write 0 was answered 2 times"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named(rows: list[Row], problem: str) -> None:
    found = problems(Trace([], [], rows))
    assert any(problem in line for line in found)


def test_a_row_without_a_field_that_it_needs_is_named() -> None:
    bare = row(1, "release")
    del bare["member"]
    assert "without ['member']" in problems(Trace([], [], [row(0, "checkpoint"), bare]))[0]


def test_a_trailer_that_counts_other_rows_is_named() -> None:
    found = problems(Trace([{}], [{"written": 4, "dropped": 0, "faults": 1}], GOOD))
    assert [line.split()[0] for line in found] == ["trailers", "trailer"]


def test_numbers_of_another_row_are_named() -> None:
    wrong = row(1, "release", writes=[{**WRITE, "start_offset": 1}])
    assert len(numbers_that_differ(Trace([], [], [GOOD[0], wrong]))) == 1


def test_a_file_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = [gzip.compress(f"{json.dumps(line)}\n".encode()) for line in ({"recorder": {}}, *GOOD)]
    (tmp_path / "sharespec-1.jsonl.gz").write_bytes(b"".join(whole)[:-9])
    trace = read(tmp_path)
    assert (len(trace.headers), len(trace.rows), trace.trailers) == (1, 4, [])
