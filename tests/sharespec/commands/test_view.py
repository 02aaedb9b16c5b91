from pathlib import Path

import pytest

from sharespec.commands.view import file_name
from tests.replay.samples import RECORDED, kafka_rows, write_lines
from tests.sharespec.running import runner

run = runner("view")


def test_a_page_is_written_under_the_name_of_the_share_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=30))
    done = run(path)
    assert done.exit_code == 0
    assert done.stdout == "core-orders-0.html: conforms, 30 events\n"
    assert "<h1>core:orders:0, t.jsonl</h1>" in (tmp_path / "core-orders-0.html").read_text()


def test_a_divergence_exits_with_1_and_cites_its_source(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    done = run(RECORDED / "agent-4.4.0-records-deleted.jsonl.gz", "--html", page)
    assert done.exit_code == 1
    text = page.read_text()
    assert "KIP-932, ShareFetch; KIP-932, ShareAcknowledge" in text
    assert "spec/writes.py:" in text


def test_a_page_is_as_small_as_asked_for(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=400))
    page = tmp_path / "p.html"
    assert run(path, "--html", page).exit_code == 0
    assert page.stat().st_size > 250_000
    assert run(path, "--html", page, "--max-bytes", 250_000).exit_code == 0
    assert page.stat().st_size <= 250_000


def test_which_of_two_share_partitions_is_drawn_must_be_said(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [*kafka_rows(count=3), *kafka_rows(partition=1)])
    assert "--partition is needed" in run(path).stderr


def test_a_name_makes_a_name_of_a_file() -> None:
    assert file_name("g:t:0") == "g-t-0"
    assert file_name("../../etc/passwd:t:0") == "etc-passwd-t-0"
    assert file_name("::") == "share-partition"
    assert len(file_name("x" * 999)) == 100
