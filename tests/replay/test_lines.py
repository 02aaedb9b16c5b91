import gzip
from pathlib import Path

import pytest

from model.errors import InvalidValueError
from model.trace_json import line_from_row
from replay.sources import Bad, Line, partition_hint, read_lines, strict_row
from tests.replay.samples import kafka_rows

GOOD = line_from_row(kafka_rows(count=1)[0])


def read(path: Path, **options: int) -> list[Line | Bad]:
    return list(read_lines(str(path), compressed=path.suffix == ".gz", **options))


def test_lines_are_numbered_and_the_last_needs_no_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"one\n\ntwo")
    assert read(path) == [Line(1, b"one"), Line(2, b""), Line(3, b"two", whole=False)]


@pytest.mark.parametrize("size", range(1, 21))
def test_parts_of_a_file_hold_each_line_once(tmp_path: Path, size: int) -> None:
    path = tmp_path / "t.jsonl"
    content = b"\n \none\n\r\n\n\t\nthree\nfour"
    path.write_bytes(content)
    parts = [read(path, start=at, end=at + size) for at in range(0, len(content), size)]
    lines = [line for part in parts for line in part if isinstance(line, Line)]
    assert [line.content for line in lines if line.content] == [b"one", b"three", b"four"]
    # Line numbers go on: those of a part count from where it begins.
    assert sum(part[-1].number or 0 for part in parts if part) == 8


def test_very_many_blank_lines_take_no_time_each(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD + b"\n \r\n" * 1_000_000 + GOOD, 1))
    first, *blank, last = read(path)
    assert (first, last) == (Line(1, GOOD[:-1]), Line(2_000_002, GOOD[:-1]))
    assert len(blank) < 100


def test_a_truncated_gzip_gives_all_lines_before_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    packed = gzip.compress(GOOD * 2000)
    path.write_bytes(packed[: len(packed) // 2])
    *lines, bad = read(path)
    assert len(lines) > 100
    assert all(isinstance(line, Line) and line.content == GOOD.strip() for line in lines)
    assert isinstance(bad, Bad)
    assert bad.number == len(lines) + 1
    assert bad.message.startswith("the file ends too early or is damaged")
    assert bad.partition in (None, "core:orders:0")


def test_a_damaged_gzip_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    packed = bytearray(gzip.compress(GOOD * 3))
    packed[-6] ^= 0xFF
    path.write_bytes(packed)
    *lines, bad = read(path)
    assert len(lines) == 3
    assert isinstance(bad, Bad)


def test_a_line_beyond_the_limit_is_skipped_and_the_next_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(
        gzip.compress(b'{"partition":"p:q:0","x":"' + b"y" * 5_000_000 + b'"}\nafter\n')
    )
    bad, after = read(path, limit=1000)
    assert isinstance(bad, Bad)
    assert (bad.number, bad.partition) == (1, "p:q:0")
    assert bad.message == "line is 5000029 bytes; allowed: at most 1000 bytes"
    assert after == Line(2, b"after")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (b'{"partition":"a:b:0","seq"', "a:b:0"),
        (b'{"partition" : "a\\"b"', 'a"b'),
        (b'{"partition":"\xff"}', None),
        (b'{"partition":"\\ud800"}', None),
        (b'{"partition":7}', None),
        (b"", None),
    ],
)
def test_the_share_partition_that_a_bad_line_seems_to_belong_to(
    line: bytes, hint: str | None
) -> None:
    assert partition_hint(line) == hint


def test_a_row_that_cannot_be_stored_is_rejected() -> None:
    assert strict_row(GOOD)["seq"] == 0
    with pytest.raises(InvalidValueError, match="half characters"):
        strict_row(GOOD.replace(b"core:orders:0", b"\\ud800"))
    with pytest.raises(InvalidValueError, match="not empty"):
        strict_row(GOOD.replace(b"core:orders:0", b""))
    assert strict_row(GOOD.replace(b"core", b"\\u00e4"))["partition"] == "ä:orders:0"
