import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from model.trace_json import line_from_row
from replay.plan import Plan
from replay.verdict import PartitionVerdict, Replay, Verdict
from tests.replay.samples import FAST, replayed, rows_of, write_lines, write_parquet, write_trace


def named(replay: Replay) -> dict[str, PartitionVerdict]:
    return {verdict.partition: verdict for verdict in replay.verdicts}


def _swap(index: int, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [*lines[:index], new, *lines[index + 1 :]]


LINES = [line_from_row(row) for row in rows_of(0)]


@pytest.mark.parametrize(
    ("change", "line", "message", "checked"),
    [
        (_swap(20, b'{"partition":"core:orders:0","m":"\xff"}\n'), 21, "UTF-8", 20),
        (_swap(20, LINES[20].replace(b'"time_ms"', b'"time"')), 21, "event.time", 20),
        (_swap(20, LINES[20].replace(b'"op":"', b'"op":"un')), 21, "op is 'un", 20),
        (_swap(20, LINES[20].replace(b'"seq":20', b'"seq":1e3')), 21, "event.seq", 20),
        (_swap(20, LINES[20].replace(b'"seq":20', b'"seq":19')), 21, "seq 19 occurs twice", 19),
        (lambda lines: [*lines[:20], *lines[21:]], 21, "seq 20 is missing", 20),
        (lambda lines: lines[1:], 1, "seq 0 is missing", 0),
        (lambda lines: [*lines, b'{"partition":"core:orders:0"'], 41, "one JSON object", 40),
    ],
)
def test_a_bad_line_makes_its_share_partition_unreadable_and_no_other(
    tmp_path: Path,
    change: Callable[[list[bytes]], list[bytes]],
    line: int,
    message: str,
    checked: int,
) -> None:
    path = tmp_path / "t.jsonl"
    others = [line_from_row(row) for row in rows_of(1)]
    path.write_bytes(b"".join([*change(list(LINES)), b"\n", *others]))
    found = replayed(path, plan=FAST)
    verdict = named(found)["core:orders:0"]
    assert (verdict.verdict, verdict.checked) == (Verdict.UNREADABLE, checked)
    assert verdict.problem
    assert (verdict.problem.source, verdict.problem.line) == (str(path), line)
    assert message in verdict.problem.message
    assert named(found)["core:orders:1"].verdict is Verdict.CONFORMS
    assert (found.counts.unreadable, found.counts.conforms) == (1, 1)


def test_files_that_cannot_be_read_are_counted_and_the_rest_is_replayed(tmp_path: Path) -> None:
    write_lines(tmp_path / "good.jsonl", rows_of(0))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "schema.parquet").write_bytes(
        (write_parquet(tmp_path / "x.parquet", rows_of(1))).read_bytes()
    )
    table = pq.read_table(tmp_path / "x.parquet").drop_columns(["after"])
    pq.write_table(table, tmp_path / "schema.parquet")
    (tmp_path / "x.parquet").unlink()
    packed = gzip.compress(b"".join(line_from_row(row) for row in rows_of(2, count=400)))
    (tmp_path / "torn.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    found = replayed(tmp_path, plan=FAST)
    messages = {Path(p.source).name: p.message for p in found.problems}
    assert messages["empty.jsonl"] == "holds no events"
    assert "column after is 'missing'" in messages["schema.parquet"]
    assert "the file ends too early" in messages["torn.jsonl.gz"]
    assert named(found)["core:orders:0"].verdict is Verdict.CONFORMS
    assert named(found)["core:orders:2"].checked > 50
    assert found.counts.unreadable >= 3


@pytest.mark.parametrize("name", ["b.jsonl", "b.parquet"])
def test_a_share_partition_in_two_files_is_unreadable_and_the_others_are_not(
    tmp_path: Path, name: str
) -> None:
    write_parquet(tmp_path / "a.parquet", rows_of(0, 1))
    write_trace(tmp_path / name, rows_of(1, 2))
    found = named(replayed(tmp_path, plan=FAST))
    assert found["core:orders:0"].verdict is found["core:orders:2"].verdict is Verdict.CONFORMS
    verdict = found["core:orders:1"]
    assert (verdict.verdict, verdict.checked) == (Verdict.UNREADABLE, 0)
    assert verdict.problem
    assert verdict.problem.source == str(tmp_path / "a.parquet")
    assert f"also in {tmp_path / name}, line 1" in verdict.problem.message


def test_what_the_sample_leaves_out_is_counted(tmp_path: Path) -> None:
    rows = rows_of(0, 1, 2, 3, 4, 5, count=10)
    for path in (
        write_lines(tmp_path / "a.jsonl", rows),
        write_parquet(tmp_path / "b.parquet", rows),
    ):
        plan = Plan(against=("impl",), sample=0.5)
        found = replayed(path, plan=plan)
        assert 0 < found.counts.unchecked < 6
        assert found.counts.events == 60
        assert found.counts.checked == 60 - 10 * found.counts.unchecked
        reasons = {v.reason for v in found.verdicts if v.verdict is Verdict.UNCHECKED}
        assert reasons == {"not in the sample"}


def test_results_of_an_earlier_replay_are_replaced(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", rows_of(0, 1))
    out = tmp_path / "out"
    (out / "lag").mkdir(parents=True)
    shutil.copy(path, out / "lag" / "part-99999.parquet")
    replayed(path, plan=FAST, out=out)
    assert pq.read_table(out / "lag").num_rows == 80
