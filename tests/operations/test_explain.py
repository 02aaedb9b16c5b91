import io
from pathlib import Path

import pytest
from rich.console import Console

from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from operations.explain import ExplainError, partition_events, steps, table_of
from tests.replay.samples import (
    aborted_rows,
    draft_rows,
    kafka_rows,
    renamed,
    write_lines,
    write_parquet,
)

ROWS = [*kafka_rows(count=30), *kafka_rows(partition=1, count=10)]


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.parquet"])
def test_the_events_of_a_share_partition_are_read_from_any_form(tmp_path: Path, name: str) -> None:
    write = write_parquet if name.endswith("parquet") else write_lines
    path = write(tmp_path / name, ROWS[::-1])
    found = partition_events(path, "core:orders:0")
    assert [event.seq for event in found] == list(range(30))
    with pytest.raises(ExplainError, match=r"--partition is needed; there are 2: core:orders:1"):
        partition_events(path, None)
    with pytest.raises(ExplainError, match=r"nobody is not in .*; there are: core:orders:1"):
        partition_events(path, "nobody")


def test_the_only_share_partition_need_not_be_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=5))
    assert len(partition_events(path, None)) == 5


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("t.jsonl", [*ROWS[:3], *ROWS[4:]], "t.jsonl:4: seq 3 is missing: the next is 4"),
        ("t.jsonl", [*ROWS[:3], {**ROWS[3], "op": "conquer"}], "op is 'conquer'"),
        ("t.parquet", [*ROWS[:3], {**ROWS[3], "result": None}], "t.parquet:4: result is None"),
    ],
)
def test_an_error_is_one_line(
    tmp_path: Path, name: str, rows: list[dict[str, object]], message: str
) -> None:
    write = write_parquet if name.endswith("parquet") else write_lines
    with pytest.raises(ExplainError, match=message):
        partition_events(write(tmp_path / name, rows), "core:orders:0")


def test_a_bad_line_of_another_share_partition_is_ignored(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=5))
    path.write_bytes(path.read_bytes() + b'{"partition":"other"}\n{"partition":"core:orders:0"}\n')
    with pytest.raises(ExplainError, match=r"t\.jsonl:7: event\.seq is None"):
        partition_events(path, "core:orders:0")
    with pytest.raises(ExplainError, match=r"t\.jsonl:6"):
        partition_events(path, "other")
    path.write_bytes(path.read_bytes() + b"{\n")
    with pytest.raises(ExplainError, match=r"t\.jsonl:8: line is "):
        partition_events(path, "core:orders:0")


def _printed(rows: list[dict[str, object]], tmp_path: Path, profile: Profile = KAFKA) -> str:
    events = partition_events(write_lines(tmp_path / "t.jsonl", rows), None)
    output = io.StringIO()
    Console(file=output, width=200).print(table_of(steps(events, profile)))
    return output.getvalue()


def test_the_table_has_the_columns_of_the_kips_tables(tmp_path: Path) -> None:
    text = _printed(kafka_rows(partition=1, count=7), tmp_path)
    for cell in (
        "SPSO",
        "SPEO",
        "acquire by m4, batch_optimized, at most 20",
        "NONE, 0–5 (1)",
        "0–4 accept, 5 renew",
        "5 ACQUIRED(1) m4",
        "6–38 ACQUIRED(1) m3",
    ):
        assert cell in text


def test_records_in_progress_and_dead_letters_are_shown(tmp_path: Path) -> None:
    text = _printed(draft_rows(), tmp_path, DRAFT_RESOLVED)
    for cell in (
        "acquisition 0",
        "0–1 IN_PROGRESS(1) m1",
        "0 ARCHIVING(1)",
        "INVALID_REQUEST",
        "dead letters end: 0",
    ):
        assert cell in text
    events = partition_events(tmp_path / "t.jsonl", None)
    assert not any(step.finding for step in steps(events, DRAFT_RESOLVED))


def test_records_withheld_as_aborted_are_shown(tmp_path: Path) -> None:
    text = _printed(aborted_rows(), tmp_path)
    for cell in (
        "of aborted transactions: 2–4",
        "2–4 ARCHIVED(1)",
        "isolation_level read_committed",
    ):
        assert cell in text
    events = partition_events(tmp_path / "t.jsonl", None)
    assert not any(step.finding for step in steps(events, KAFKA))


def test_it_stops_at_a_divergence_and_shows_nothing_unescaped(tmp_path: Path) -> None:
    rows = renamed(kafka_rows(count=30), "p")
    for row in rows:
        if row.get("member"):
            row["member"] = "\x1b[31m[red]" + row["member"]
        for record in row["after"]["records"]:
            record["member"] = record["member"] and "\x1b[31m[red]" + record["member"]
    rows[12]["after"]["end_offset"] += 1
    text = _printed(rows, tmp_path)
    assert "\x1b" not in text
    assert "\\x1b[31m[red]" in text.replace("\n", "").replace(" ", "")
    events = partition_events(write_lines(tmp_path / "t.jsonl", rows), None)
    *_, last = steps(events, KAFKA)
    assert last.finding
    assert last.event.seq == last.finding.seq == 12
