"""Events go from one form to another and back, and nothing is lost unseen."""

import gzip
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from replay.convert import convert
from replay.gather import GENERATED
from replay.generate import Request, generate_traces
from replay.sources import Source, find_sources, mark_of
from tests.replay.samples import RECORDED, kafka_rows, renamed, write_lines

FILES = sorted(RECORDED.glob("*.gz"))


def files(*paths: Path) -> tuple[Source, ...]:
    return find_sources(paths).files


def told(line: bytes) -> object:
    """Return what a line tells: a recorder writes nulls, and fields in an order of its own."""
    return json.loads(line, object_pairs_hook=lambda p: {k: v for k, v in p if v is not None})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_there_and_back_gives_the_same_lines(path: Path, tmp_path: Path) -> None:
    lines = gzip.decompress(path.read_bytes()).splitlines()
    events = [line for line in lines if mark_of(line) is None]
    converted = convert(files(path), tmp_path / "t.parquet")
    assert (converted.events, converted.problems) == (len(events), ())
    assert bool(converted.recording.headers) is (len(events) < len(lines))
    back = convert(files(tmp_path / "t.parquet"), tmp_path / "t.jsonl.gz")
    assert back.events == converted.events
    packed = gzip.decompress((tmp_path / "t.jsonl.gz").read_bytes())
    assert list(map(told, packed.splitlines())) == list(map(told, events))
    convert(files(tmp_path / "t.jsonl.gz"), tmp_path / "t.jsonl")
    assert (tmp_path / "t.jsonl").read_bytes() == packed


def test_files_follow_each_other_in_their_order(tmp_path: Path) -> None:
    second = write_lines(tmp_path / "a.jsonl", renamed(kafka_rows(count=5), "x"))
    first = write_lines(tmp_path / "b.jsonl", kafka_rows(count=5))
    convert(files(first, second), tmp_path / "both.jsonl")
    both = (tmp_path / "both.jsonl").read_bytes()
    assert both == first.read_bytes() + second.read_bytes()


def test_row_groups_are_small_whatever_the_tables_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replay.convert.ROWS_PER_GROUP", 4000)
    rows = kafka_rows(count=60) * 100
    convert(files(write_lines(tmp_path / "t.jsonl", rows)), tmp_path / "t.parquet")
    metadata = pq.read_metadata(tmp_path / "t.parquet")
    assert metadata.num_rows == len(rows)
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sizes == [4000, 2000]


def test_lines_that_hold_no_event_are_reported(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=5))
    path.write_bytes(path.read_bytes() + b'{"partition": 3}\nnothing\n')
    converted = convert(files(path), tmp_path / "t.parquet")
    assert converted.events == 5
    assert [problem.line for problem in converted.problems] == [6, 7]


def test_that_results_were_computed_stays_known(tmp_path: Path) -> None:
    assert not convert(files(FILES[0]), tmp_path / "r.parquet").generated
    generate_traces(Request(partitions=1, events=300), tmp_path / "made", 1)
    made = files(tmp_path / "made")
    assert convert(made, tmp_path / "t.parquet").generated
    assert GENERATED in (pq.read_schema(tmp_path / "t.parquet").metadata or {})
    assert convert(files(tmp_path / "t.parquet"), tmp_path / "t.jsonl").generated


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    source = files(write_lines(tmp_path / "t.jsonl", kafka_rows(count=5)))
    (tmp_path / "full.parquet").mkdir()
    with pytest.raises(OSError, match="directory"):
        convert(source, tmp_path / "full.parquet")
    assert {path.name for path in tmp_path.iterdir()} == {"t.jsonl", "full.parquet"}
