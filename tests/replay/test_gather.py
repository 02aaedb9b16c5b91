import gzip
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import replay.gather
from model.trace_json import line_from_row
from replay.gather import STORED, Gathered, GatherTask, bucket_of, gather
from replay.sources import find_sources
from replay.verdict import Recording
from tests.replay.samples import kafka_rows, write_lines, write_parquet, write_trace

ROWS = [*kafka_rows(count=50), *kafka_rows(partition=1, count=30)]
LINES = [line_from_row(row) for row in ROWS]


def gathered(path: Path, start: int = 0, end: int | None = None, buckets: int = 3) -> Gathered:
    (source,) = find_sources([path]).files
    (found,) = gather([GatherTask(0, source, start, end, buckets, f"{path}.out")])
    return found


def events_in(found: Gathered) -> int:
    return sum(events for _, events in found.partitions.values())


def stored(found: Gathered) -> list[tuple[str, int, str, int]]:
    table = pq.read_table(found.task.target)
    assert table.schema.equals(STORED)
    names = ("partition", "seq", "source", "line")
    return sorted(zip(*(table.column(name).to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.parquet"])
def test_every_event_is_stored_with_its_place_and_bucket(tmp_path: Path, name: str) -> None:
    rows = ROWS[::-1]  # What is in order stays in its Parquet file.
    path = write_trace(tmp_path / name, rows)
    found = gathered(path)
    assert (found.lines, events_in(found), found.problems) == (80, 80, [])
    assert found.partitions == {"core:orders:1": (1, 30), "core:orders:0": (31, 50)}
    expected = [(r["partition"], r["seq"], str(path), i + 1) for i, r in enumerate(rows)]
    assert stored(found) == sorted(expected)
    with pq.ParquetFile(found.task.target) as file:
        for bucket, groups in found.row_groups.items():
            names = set(file.read_row_groups(list(groups)).column("partition").to_pylist())
            assert {bucket_of(name, 3) for name in names} == {bucket}


@pytest.mark.parametrize(
    ("line", "message", "partition"),
    [
        (b'{"partition":"core:orders:0","x":"\xff"}', "allowed: UTF-8", "core:orders:0"),
        (b"{", "allowed: one JSON object", None),
        (LINES[3].replace(b'"seq"', b'"sec"'), "event.sec", "core:orders:0"),
        (LINES[3].replace(b'"seq":3,', b""), "event.seq is None", "core:orders:0"),
        (LINES[3].replace(b'"seq":3', b'"seq":3.5'), "event.seq is 3.5", "core:orders:0"),
        (LINES[3].replace(b'"seq":3', b'"seq":1e400'), "event.seq is inf", "core:orders:0"),
        (LINES[3].replace(b'"seq":3', b'"seq":' + b"9" * 30), "64 bits", "core:orders:0"),
        (b"[" * 100_000, "allowed: one JSON object", None),
        (b"null", "allowed: an object", None),
    ],
)
def test_a_bad_line_is_a_problem_and_all_others_are_stored(
    tmp_path: Path, line: bytes, message: str, partition: str | None
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join([*LINES[:3], line.rstrip(b"\n") + b"\n", *LINES[4:]]))
    found = gathered(path)
    assert events_in(found) == 79
    (problem,) = found.problems
    assert (problem.line, problem.partition) == (4, partition)
    assert message in problem.message


def test_a_truncated_gzip_and_a_missing_file_are_problems(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    packed = gzip.compress(b"".join(LINES))
    path.write_bytes(packed[:-200])
    found = gathered(path)
    assert 0 < events_in(found) < 80
    assert "ends too early" in found.problems[0].message
    path.write_bytes(packed)
    (source,) = find_sources([path]).files
    path.unlink()
    (gone,) = gather([GatherTask(0, source, 0, None, 3, f"{path}.out")])
    assert gone.problems[0].message == "cannot be read: No such file or directory"


def test_parquet_rows_without_a_share_partition_are_problems(tmp_path: Path) -> None:
    rows = kafka_rows(count=10)
    rows[3]["partition"], rows[4]["seq"], rows[5]["partition"] = None, None, ""
    found = gathered(write_parquet(tmp_path / "t.parquet", rows))
    assert [(p.line, p.message, p.partition) for p in found.problems] == [
        (4, "partition is missing", None),
        (5, "seq is missing", "core:orders:0"),
        (6, "partition is missing", None),
    ]
    assert events_in(found) == 7


def test_of_many_bad_lines_few_are_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay.gather, "MAX_PROBLEMS", 5)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"x\n" * 1000 + b'{"partition":"late"\n')
    found = gathered(path)
    assert len(found.problems) == 6
    assert found.problems[-1].partition == "late"


def test_memory_is_bounded_by_writing_in_lots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay.gather, "ROWS_AT_ONCE", 10)
    monkeypatch.setattr(replay.gather, "HOLD_BYTES", 1)
    found = gathered(write_lines(tmp_path / "t.jsonl", ROWS), buckets=1)
    assert len(found.row_groups[0]) == 8
    assert len(stored(found)) == 80


HEADER = b'{"recorder":{"version":"1"}}\n'
TRAILER = b'{"trailer":{"written":80,"dropped":3,"faults":0}}\n'
BODY = b"".join(LINES)
CUT = (HEADER + BODY)[:-30]


def test_the_header_and_the_trailer_of_a_recorder_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(HEADER + BODY + TRAILER)
    found = gathered(path)
    assert (found.lines, events_in(found), found.problems) == (82, 80, [])
    assert found.recording == Recording(headers=1, trailers=1, dropped=3)


@pytest.mark.parametrize(
    ("content", "start", "found_in"),
    [
        (CUT, 0, (range(79, 80), 0, Recording(headers=1, cut=1))),
        (gzip.compress(HEADER + BODY)[:-30], 0, (range(71, 80), 0, Recording(headers=1, cut=1))),
        (CUT, len(CUT) // 2, (range(1, 79), 0, Recording(cut=1))),
        (BODY[:-30], 0, (range(79, 80), 1, Recording())),
        (HEADER + LINES[0] + b"{\n" + LINES[1], 0, (range(2, 3), 1, Recording(headers=1))),
    ],
    ids=["cut", "cut gzip", "cut part", "begun by no recorder", "bad in the middle"],
)
def test_only_the_last_line_of_a_recording_may_be_cut(
    tmp_path: Path, content: bytes, start: int, found_in: tuple[range, int, Recording]
) -> None:
    events, problems, recording = found_in
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    found = gathered(path, start=start)
    assert (len(found.problems), found.recording) == (problems, recording)
    assert events_in(found) in events


def test_share_partitions_whose_rows_tell_their_leader_epoch_are_told(tmp_path: Path) -> None:
    rows = [{**row, "leader_epoch": 3} for row in ROWS[:50]]
    path = write_lines(tmp_path / "t.jsonl", [*rows, *ROWS[50:]])
    assert gathered(path).leaderless == {"core:orders:1"}
