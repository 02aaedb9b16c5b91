import json
from pathlib import Path

import pytest

from tests.replay.samples import ABORTED, Row, kafka_rows, renamed, write_lines
from tests.sharespec.running import runner

run = runner("in-flight")


@pytest.fixture(name="path")
def trace(tmp_path: Path) -> Path:
    rows = [*kafka_rows(count=100), *kafka_rows(partition=1, count=100)]
    return write_lines(tmp_path / "t.jsonl", rows)


@pytest.mark.parametrize("seq", [10, 57, 99])
def test_the_records_in_flight_are_the_recorded_ones(path: Path, seq: int) -> None:
    done = run(path, "--seq", seq, "--json", "--partition", "core:orders:0")
    assert done.exit_code == 0
    found = {
        offset: (shown["state"], shown["delivery_count"], shown["member"], shown["pending"])
        for shown in map(json.loads, done.stdout.splitlines())
        for offset in range(shown["first"], shown["last"] + 1)
    }
    after = kafka_rows(count=100)[seq]["after"]
    assert found == {
        offset: (r["state"], r["delivery_count"], r["member"], r["pending"])
        for r in after["records"]
        for offset in range(r["first"], r["last"] + 1)
        if offset >= after["start_offset"]
    }


def test_nobody_holds_records_withheld_as_aborted() -> None:
    done = run(ABORTED, "--seq", 2, "--json")
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    found = [(r["first"], r["state"], r["member"], r["held_ms"]) for r in shown]
    assert found == [
        (0, "ACQUIRED", "m1", 0),
        (2, "ARCHIVED", None, None),
        (6, "ACQUIRED", "m1", 0),
    ]


def test_the_time_held_equals_an_independent_count(path: Path) -> None:
    """A record is held since the last acquisition that named it."""
    rows = kafka_rows(count=100)
    since: dict[int, int] = {}
    for row in rows:
        acquired = (row["result"].get("acquired") or ()) if row["op"] == "acquire" else ()
        since |= {o: row["time_ms"] for r in acquired for o in range(r["first"], r["last"] + 1)}
    done = run(path, "--json", "--only-state", "ACQUIRED", "--partition", "core:orders:0")
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert shown
    for record in shown:
        for offset in range(record["first"], record["last"] + 1):
            assert record["held_ms"] == rows[-1]["time_ms"] - since[offset]
            assert 0 <= record["progress_age_ms"] <= record["held_ms"]


def test_the_table_marks_what_is_stale(path: Path) -> None:
    done = run(path, "--progress-stale-longer-than-ms", 0)
    head, *lines = done.stdout.splitlines()
    assert head.split()[:4] == ["GROUP", "TOPIC", "PARTITION", "OFFSETS"]
    assert lines
    assert all(line.endswith("STALE") for line in lines)
    longest = max(int(line.split()[-3]) for line in lines)
    assert run(path, "--held-longer-than-ms", longest).stdout.split() == head.split()
    assert "STALE" not in run(path).stdout


def test_text_of_a_trace_is_escaped_and_problems_are_reported(tmp_path: Path) -> None:
    rows: list[Row] = renamed(kafka_rows(count=5), "g\x1b[2J:orders:0")
    for row in rows:
        if row.get("member"):
            row["member"] = "m\x1b[2J"
        for record in row["after"]["records"]:
            record["member"] = record["member"] and "m\x1b[2J"
    done = run(write_lines(tmp_path / "t.jsonl", rows))
    assert "\x1b" not in done.output
    assert "m\\x1b[2J" in done.stdout
    assert done.exit_code == 0
    done = run(write_lines(tmp_path / "t.jsonl", rows[1:]))
    assert done.exit_code == 1
    assert "seq 0 is missing" in done.stderr
