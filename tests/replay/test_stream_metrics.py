"""Metrics after a batch, as Prometheus reads them."""

import re
from pathlib import Path

import attrs

from replay.judged import Counts
from replay.stream import Batch, metrics_text, write_metrics
from replay.stream_file import Left, Summary
from tests.replay.test_state_file import STATES

SUMMARY = Summary(7, Counts(checked=100), 3, 1, 2, 5, 0.5, 1.25)
LEFT = Left(
    "s",
    {each.partition: each for each in STATES},
    total=Counts(10, 20, 30, 40, 50, 60),
    alarms=4,
    seen={"a": Counts(90, passed=10), "b": Counts(0, passed=9), "c": Counts(5, passed=9)},
)


def test_every_number_is_a_metric(tmp_path: Path) -> None:
    path = tmp_path / "watch.prom"
    write_metrics(path, Batch(SUMMARY, LEFT), 1000.5)
    lines = path.read_text().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert {name.removeprefix("sharespec_watch_"): value for name, value in values.items()} == {
        "events_checked_total": "10",
        "events_late_total": "20",
        "events_twice_total": "30",
        "events_passed_total": "40",
        "events_unreadable_total": "50",
        "gaps_total": "60",
        "divergences_total": "4",
        "partitions": "2",
        "partitions_diverged": "1",
        "partitions_unknown": "1",
        "waiting_events": "5",
        "batch": "7",
        "batch_events_per_second": "200.0",
        "lag_seconds": "1.25",
        "last_batch_timestamp_seconds": "1000.5",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["watch.prom"]
    for name in values:
        assert any(re.match(rf"# TYPE {name} (counter|gauge)$", line) for line in lines)


def test_a_lag_that_nothing_tells_is_no_metric() -> None:
    batch = Batch(attrs.evolve(SUMMARY, lag_seconds=None), LEFT)
    assert "lag_seconds" not in metrics_text(batch, 0)
