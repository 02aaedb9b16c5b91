import json
from pathlib import Path

import pytest

from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.trace import TraceEvent
from operations.explain import (
    ExplainError,
    Wanted,
    partition_events,
    step_json,
    step_text,
    steps,
    window_text,
)
from tests.replay.samples import (
    Row,
    aborted_rows,
    draft_rows,
    kafka_rows,
    renamed,
    write_lines,
    write_trace,
)

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


def _printed(
    rows: list[Row], tmp_path: Path, profile: Profile = KAFKA, *, full: bool = False
) -> str:
    events = partition_events(write_lines(tmp_path / "t.jsonl", rows), None)
    return "\n".join(step_text(frame, 80, full=full) for frame in steps(events, profile))


def test_a_step_shows_what_it_changed_and_full_the_whole_window(tmp_path: Path) -> None:
    rows = kafka_rows(partition=1, count=7)
    text = _printed(rows, tmp_path)
    for part in (
        "acquire by m4, batch_optimized, at most 20",
        "answer    NONE, 0–5 (1)",
        "window    SPEO 0 → 6",
        "new → ACQUIRED(1) m4: 0–5",
        "ACQUIRED(1) m4 → below the start offset: 0–4",
        "0–4 accept, 5 renew",
        "lag       ",
    ):
        assert part in text
    assert "\n              5 ACQUIRED(1) m4" not in text
    assert "\n              5 ACQUIRED(1) m4" in _printed(rows, tmp_path, full=True)


def test_a_step_that_changes_nothing_repeats_nothing(tmp_path: Path) -> None:
    shown = list(steps(_events(kafka_rows(count=20), tmp_path), KAFKA))
    unchanged = [frame for frame in shown if frame.before == frame.state]
    assert 0 < len(unchanged) < len(shown)
    texts = "".join(step_text(frame, 80) for frame in unchanged)
    assert "    records " not in texts
    assert "    window " not in texts


def test_lines_are_narrow_and_no_word_is_broken(tmp_path: Path) -> None:
    rows = kafka_rows(count=30)
    wide, narrow = (
        "\n".join(step_text(frame, width) for frame in steps(_events(rows, tmp_path), KAFKA))
        for width in (10_000, 80)
    )
    assert wide.split() == narrow.split()
    assert max(map(len, narrow.splitlines())) <= 80 < max(map(len, wide.splitlines()))


def test_the_steps_to_show_are_chosen_by_seq_and_number(tmp_path: Path) -> None:
    rows = kafka_rows(count=20)
    rows[15]["after"]["end_offset"] += 1
    shown = list(steps(_events(rows, tmp_path), KAFKA))

    def chosen(wanted: Wanted) -> list[int]:
        return [frame.event.seq for frame in wanted.chosen(shown)]

    assert chosen(Wanted(3, 5)) == [3, 4, 5, 15]
    assert chosen(Wanted(count=3)) == [13, 14, 15]
    assert chosen(Wanted(count=99)) == list(range(16))
    assert chosen(Wanted(14)) == [14, 15]


def test_a_step_is_an_object_with_its_changes(tmp_path: Path) -> None:
    rows = kafka_rows(count=20)
    rows[15]["after"]["end_offset"] += 1
    objects = [step_json(frame) for frame in steps(_events(rows, tmp_path), KAFKA)]
    assert json.loads(json.dumps(objects)) == objects
    assert [each["seq"] for each in objects] == list(range(16))
    taken = {"state": "ACQUIRED", "delivery_count": 1, "member": "m1", "pending": False}
    assert objects[2]["changes"] == [{"first": 0, "last": 3, "before": None, "after": taken}]
    assert objects[15]["divergence"]["name"] == "END_OFFSET"
    assert objects[14]["divergence"] is None
    frame = list(steps(_events(rows, tmp_path), KAFKA))[2]
    assert step_json(frame, full=True)["records"] == [{"first": 0, "last": 3, **taken}]


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


def _events(rows: list[Row], tmp_path: Path) -> list[TraceEvent]:
    return partition_events(write_lines(tmp_path / "t.jsonl", rows), None)


def test_records_in_progress_and_dead_letters_are_shown(tmp_path: Path) -> None:
    text = _printed(draft_rows(), tmp_path, DRAFT_RESOLVED)
    for part in (
        "acquisition 0",
        "IN_PROGRESS(1) m1: 0–1",
        "ARCHIVING(1)",
        "INVALID_REQUEST",
        "dead letters end: 0",
    ):
        assert part in text
    events = partition_events(tmp_path / "t.jsonl", None)
    assert not any(step.finding for step in steps(events, DRAFT_RESOLVED))


def test_records_withheld_as_aborted_are_shown(tmp_path: Path) -> None:
    text = _printed(aborted_rows(), tmp_path)
    for part in (
        "of aborted transactions: 2–4",
        "ARCHIVED(1): 2–4",
        "isolation_level read_committed",
    ):
        assert part in " ".join(text.split())
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
