import bz2
import lzma
import os
from pathlib import Path

import pytest

from replay.sources import Form, NoSuchTraceError, find_sources
from tests.replay.samples import kafka_rows, write_lines, write_parquet


def test_folders_are_searched_by_name_and_content_gives_the_form(tmp_path: Path) -> None:
    rows = kafka_rows(count=2)
    for name in ("a.jsonl", "b.jsonl.gz"):
        write_lines(tmp_path / name, rows)
    (tmp_path / "deep").mkdir()
    write_parquet(tmp_path / "deep" / "c.parquet", rows)
    for name in ("README.md", ".hidden.jsonl", "_SUCCESS", "_u.jsonl", "d.JSONL", "e.jsonl.1"):
        (tmp_path / name).write_text("")
    found = find_sources([tmp_path, tmp_path / "a.jsonl"])
    assert [(Path(s.path).name, s.form) for s in found.files] == [
        ("a.jsonl", Form.LINES),
        ("b.jsonl.gz", Form.GZIP),
        ("c.parquet", Form.PARQUET),
    ]
    passed_over = [Path(name).name for name in found.passed_over]
    assert passed_over == ["README.md", "d.JSONL", "e.jsonl.1", "_u.jsonl"]
    assert find_sources([tmp_path / "README.md"]).files[0].form is Form.LINES


def test_a_missing_path_and_a_folder_without_traces_are_errors(tmp_path: Path) -> None:
    with pytest.raises(NoSuchTraceError, match="nowhere does not exist"):
        find_sources([tmp_path / "nowhere"])
    with pytest.raises(NoSuchTraceError, match="there is no trace in"):
        find_sources([tmp_path])


def test_anything_but_a_regular_file_is_a_problem(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = find_sources([tmp_path])
    assert [p.message for p in found.problems] == ["cannot be read: it is not a regular file"]


@pytest.mark.parametrize(
    ("begin", "form"),
    [
        (bytes.fromhex("28b52ffd"), "zstd"),
        (lzma.compress(b"{}"), "xz"),
        (bz2.compress(b"{}"), "bzip2"),
        ("{}".encode("utf-16"), "UTF-16"),
        (b"PK\3\4", "a zip archive"),
    ],
)
def test_another_form_is_one_problem(tmp_path: Path, begin: bytes, form: str) -> None:
    (tmp_path / "t.jsonl").write_bytes(begin + b"\n" * 9)
    (problem,) = find_sources([tmp_path]).problems
    assert problem.message.startswith(f"cannot be read: it is {form}; allowed: JSON lines")


def test_a_name_that_is_not_utf_8_is_a_problem_and_others_are_read(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.jsonl"))
    odd.write_text("{}")
    odd.with_suffix(".txt").write_text("")
    (tmp_path / "t.jsonl").write_text("{}")
    found = find_sources([tmp_path])
    (problem,) = found.problems
    assert problem.source == f"{tmp_path}/odd\\xff.jsonl"
    assert problem.message.startswith("cannot be read: its path is not UTF-8, ")
    assert [name.rpartition("/")[2] for name in found.passed_over] == ["odd\\xff.txt"]
    assert [Path(source.path).name for source in found.files] == ["t.jsonl"]


def test_a_symbolic_link_to_itself_is_a_problem_and_others_are_read(tmp_path: Path) -> None:
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    (tmp_path / "t.jsonl").write_text("{}")
    found = find_sources([tmp_path])
    assert [(Path(p.source).name, p.message) for p in found.problems] == [
        ("loop.jsonl", "cannot be read: Too many levels of symbolic links")
    ]
    assert [Path(source.path).name for source in found.files] == ["t.jsonl"]
