import gzip
import json
from typing import Any

import attrs
import pytest

from model.profile import KAFKA
from operations.describe import Offsets, described, offsets_text
from operations.local import SharePartitionName
from operations.walk import TraceTime
from spec.coordinator import Durable
from spec.log import Log
from spec.partition import SharePartition
from tests.replay.samples import TRACES, walked_trace

NAME = SharePartitionName("group", "orders", 3)


def _described(start: int, complete: int, end: int = 120) -> Offsets:
    durable = Durable(start, complete, leader_epoch=4)
    return described(NAME, SharePartition(KAFKA, log=Log(0, end), durable=durable))


def test_start_offset_and_lag_are_those_of_the_durable_state() -> None:
    assert _described(100, 7) == Offsets(NAME, 4, 100, 13, 120)


@pytest.mark.parametrize(
    ("start", "complete", "shown"),
    [(-1, -1, (None, None, None)), (100, -1, (4, 100, None)), (119, 2, (4, 119, None))],
    ids=["no start offset", "no count", "negative"],
)
def test_what_is_not_known_is_not_shown(
    start: int, complete: int, shown: tuple[int | None, ...]
) -> None:
    assert attrs.astuple(_described(start, complete), recurse=False)[1:4] == shown


def test_the_table_is_the_one_that_kafka_prints() -> None:
    lines = [
        Offsets(SharePartitionName("my-share-group", "topic1", 10), 5, 4, 0),
        Offsets(SharePartitionName("my-share-group", "topic1", 9), None, None, None),
        Offsets(SharePartitionName("a-group-with-long-name", "a-topic-with-a-name", 0), 1, 2, 3),
    ]
    assert (
        offsets_text(lines)
        == """
GROUP                  TOPIC               PARTITION  START-OFFSET  LAG
a-group-with-long-name a-topic-with-a-name 0          2             3

GROUP           TOPIC           PARTITION  START-OFFSET  LAG
my-share-group  topic1          9          -             -
my-share-group  topic1          10         4             0
"""
    )
    assert (
        offsets_text(lines[:1], verbose=True)
        == """
GROUP           TOPIC           PARTITION  LEADER-EPOCH  START-OFFSET  LAG
my-share-group  topic1          10         5             4             0
"""
    )
    assert offsets_text([]) == ""


def test_text_of_a_trace_cannot_move_the_cursor() -> None:
    line = Offsets(SharePartitionName("g\x1b[2J", "t\n", 0), 0, 0, 0)
    assert "g\\x1b[2J" in offsets_text([line])
    assert "\x1b" not in offsets_text([line])


@pytest.mark.slow
def test_what_kafka_recorded_by_an_independent_count() -> None:
    """A trace with new leaders, writes that fail and writes that are answered late."""
    found = walked_trace("write-faults", TraceTime())
    for partition, (end, start, complete) in _counted("write-faults").items():
        shown = described(NAME, found[partition].state)
        lag = None if start == -1 else end - start - complete
        assert (shown.start_offset, shown.lag) == (None if start == -1 else start, lag)


def _counted(name: str) -> dict[str, tuple[int, int, int]]:
    """Return end of the log, durable start offset and count, from the lines as they stand."""
    state: dict[str, tuple[int, int, int]] = {}
    late: dict[tuple[str, int], tuple[int, int]] = {}
    with gzip.open(TRACES / f"kafka-{name}.jsonl.gz") as lines:
        for row in map(json.loads, lines):
            p: str = row["partition"]
            end, *durable = state.get(p, (0, -1, -1))
            pair = (durable[0], durable[1])
            if row["op"] == "initialize":
                persisted: dict[str, Any] = row["persisted"]
                pair = persisted["start_offset"], persisted["delivery_complete_count"]
            if row["op"] == "complete_write" and row["result"]["status"] == "NONE":
                pair = max(pair, late[p, row["id"]])
            for write in row["writes"]:
                given = write["start_offset"], write["delivery_complete_count"]
                late[p, write["id"]] = given
                pair = max(pair, given) if write["status"] == "NONE" else pair
            read = [last + 1 for _, last in row.get("log_batches") or ()]
            state[p] = max(end, row.get("log_end_offset") or 0, *read, 0), *pair
    return state
