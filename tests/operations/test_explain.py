import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from model.profile import KAFKA
from model.trace import TraceEvent
from operations.explain import (
    ExplainError,
    chosen_steps,
    partition_events,
    step_json,
    step_text,
    steps,
    window_text,
)
from operations.frames import Frame
from tests.replay.samples import Row, kafka_rows, present, renamed, write_lines, write_trace

ROWS = [*kafka_rows(count=30), *kafka_rows(partition=1, count=10)]


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.parquet"])
def test_the_events_of_a_share_partition_are_read_from_any_form(tmp_path: Path, name: str) -> None:
    path = write_trace(tmp_path / name, ROWS[::-1])
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
    with pytest.raises(ExplainError, match=message):
        partition_events(write_trace(tmp_path / name, rows), "core:orders:0")


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


def _events(rows: list[Row], tmp_path: Path) -> list[TraceEvent]:
    return partition_events(write_lines(tmp_path / "t.jsonl", rows), None)


def _printed(shown: Iterable[Frame], width: int = 80, *, full: bool = False) -> str:
    return "\n".join(step_text(frame, width, full=full) for frame in shown)


def test_a_step_in_full_shows_the_whole_window(tmp_path: Path) -> None:
    shown = list(steps(_events(kafka_rows(partition=1, count=7), tmp_path), KAFKA))
    held = "\n              5 ACQUIRED(1) m4"
    assert [held in _printed(shown, full=full) for full in (False, True)] == [False, True]


def test_a_step_that_changes_nothing_repeats_nothing(tmp_path: Path) -> None:
    shown = list(steps(_events(kafka_rows(count=20), tmp_path), KAFKA))
    unchanged = [frame for frame in shown if frame.before == frame.state]
    assert 0 < len(unchanged) < len(shown)
    texts = _printed(unchanged)
    assert "    records " not in texts
    assert "    window " not in texts


def test_lines_are_narrow_and_no_word_is_broken(tmp_path: Path) -> None:
    shown = list(steps(_events(kafka_rows(count=30), tmp_path), KAFKA))
    wide, narrow = (_printed(shown, width) for width in (10_000, 80))
    assert wide.split() == narrow.split()
    assert max(map(len, narrow.splitlines())) <= 80 < max(map(len, wide.splitlines()))


def test_the_steps_to_show_are_chosen_by_seq_and_number(tmp_path: Path) -> None:
    rows = kafka_rows(count=20)
    rows[15]["after"]["end_offset"] += 1
    shown = list(steps(_events(rows, tmp_path), KAFKA))

    def chosen(first: int = 0, last: int | None = None, count: int | None = None) -> list[int]:
        return [frame.event.seq for frame in chosen_steps(shown, first, last, count)]

    assert chosen(3, 5) == [3, 4, 5, 15]
    assert chosen(count=3) == [13, 14, 15]
    assert chosen(count=99) == list(range(16))
    assert chosen(14) == [14, 15]


def test_a_step_is_an_object_with_its_changes(tmp_path: Path) -> None:
    rows = kafka_rows(count=20)
    rows[15]["after"]["end_offset"] += 1
    shown = list(steps(_events(rows, tmp_path), KAFKA))
    objects = [step_json(frame) for frame in shown]
    assert json.loads(json.dumps(objects)) == objects
    assert [each["seq"] for each in objects] == list(range(16))
    taken = {"state": "ACQUIRED", "delivery_count": 1, "member": "m1", "pending": False}
    assert objects[2]["changes"] == [{"first": 0, "last": 3, "before": None, "after": taken}]
    assert objects[15]["divergence"]["name"] == "END_OFFSET"
    assert objects[14]["divergence"] is None
    assert step_json(shown[2], full=True)["records"] == [{"first": 0, "last": 3, **taken}]


def test_the_window_before_the_first_step_is_listed_by_state(tmp_path: Path) -> None:
    *_, last = steps(_events(kafka_rows(count=46), tmp_path), KAFKA)
    text = window_text(last.before, 80)
    assert text.startswith("    before    SPSO 24, SPEO 99\n")
    assert "ACQUIRED(1) m1: 40–43, 65–69\n" in text


def test_an_operation_that_makes_no_sense_is_one_line(tmp_path: Path) -> None:
    rows = kafka_rows(count=6)
    rows[4]["time_ms"] += 7
    with pytest.raises(ExplainError, match="seq 4: time_ms is 7"):
        list(steps(_events(rows, tmp_path), KAFKA))


def test_it_stops_at_a_divergence_and_shows_nothing_unescaped(tmp_path: Path) -> None:
    rows = renamed(kafka_rows(count=30), "p")
    for row in rows:
        if row.get("member"):
            row["member"] = "\x1b[31m[red]" + row["member"]
        for record in row["after"]["records"]:
            record["member"] = record["member"] and "\x1b[31m[red]" + record["member"]
    rows[12]["after"]["end_offset"] += 1
    shown = list(steps(_events(rows, tmp_path), KAFKA))
    text = _printed(shown)
    assert "\x1b" not in text
    assert "\\x1b[31m[red]" in text.replace("\n", "").replace(" ", "")
    assert present(shown[-1].finding).seq == shown[-1].event.seq == 12
