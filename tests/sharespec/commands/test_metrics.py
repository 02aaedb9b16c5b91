import json
from pathlib import Path
from typing import Any

import pytest

from operations.metrics import METRICS, NOT_DETERMINED
from tests.replay.samples import ABORTED, kafka_rows, renamed, write_lines
from tests.sharespec.running import runner

run = runner("metrics")


def figures(*arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]


@pytest.fixture(name="path")
def trace(tmp_path: Path) -> Path:
    rows = [row for p in range(2) for row in kafka_rows(partition=p, count=100)]
    return write_lines(tmp_path / "t.jsonl", rows)


def test_groups_are_the_sum_of_their_share_partitions(path: Path) -> None:
    first, second, group = figures(path, "--partitions")
    assert (first["group"], first["topic"], first["partition"]) == ("core", "orders", 0)
    assert set(group) == {"group", "recorded", "expected"}
    assert group["recorded"]["num-partitions"] == 2
    for name in ("write-total", "record-acknowledgement-count{ack-type=accept}"):
        counts = [line["recorded"][name] for line in (first, second, group)]
        assert counts[0] + counts[1] == counts[2] > 0
        assert group["expected"][name] == counts[2]
    assert [group] == figures(path)


def test_records_withheld_as_aborted_write_nothing() -> None:
    (group,) = figures(ABORTED)
    counts = ("write-total", "AcquisitionLockTimeout count", "InFlightMessageCount")
    for side in ("recorded", "expected"):
        assert [group[side][name] for name in counts] == [2, 0, 5]


def test_an_interval_in_ms(path: Path) -> None:
    name = "TotalShareAcknowledgementRequests count"
    time = kafka_rows(count=100)[50]["time_ms"]
    rows = [row for p in range(2) for row in kafka_rows(partition=p, count=100)]
    early = sum(row["op"] == "acknowledge" and row["time_ms"] <= time for row in rows)
    late = sum(row["op"] == "acknowledge" and row["time_ms"] > time for row in rows)
    assert figures(path, "--at", time)[0]["recorded"][name] == early
    assert figures(path, "--from", time + 1)[0]["expected"][name] == late
    assert early
    assert late


def test_the_table_lists_every_metric_and_those_no_trace_determines(path: Path) -> None:
    text = run(path).stdout
    assert all(metric.name in text for metric in METRICS)
    assert all(name in text and reason in text for name, reason in NOT_DETERMINED.items())
    assert "group-count 1." in text
    line = next(line for line in text.splitlines() if line.startswith("write-total"))
    assert line.split() == ["write-total", str(figures(path)[0]["recorded"]["write-total"])]


def test_of_what_diverges_both_count_the_events_before(tmp_path: Path) -> None:
    rows = kafka_rows()
    rows[30]["after"]["end_offset"] += 1
    done = run(write_lines(tmp_path / "t.jsonl", rows), "--partitions")
    assert done.exit_code == 1
    assert "core:orders:0: " in done.stderr
    assert "diverges at seq 30" in done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("write-total"))
    followed = sum(len(row["writes"]) for row in rows[:30])
    assert line.split() == ["write-total", str(followed)], "and so neither differs"


def test_a_line_that_holds_no_event_ends_the_count_and_is_reported(tmp_path: Path) -> None:
    rows = renamed(kafka_rows(count=20), "g:t:0")
    rows[9]["op"] = "conquer"
    path = write_lines(tmp_path / "t.jsonl", rows)
    done = run(path, "--json")
    assert done.exit_code == 1
    assert "op is 'conquer'" in done.stderr
    requests = json.loads(done.stdout)["recorded"]["TotalShareAcknowledgementRequests count"]
    assert requests == sum(row["op"] == "acknowledge" for row in rows[:9])
