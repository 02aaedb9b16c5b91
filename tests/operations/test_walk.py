from pathlib import Path

import pytest

from model.outcome import Outcome
from model.profile import KAFKA
from model.trace import TraceEvent
from operations.walk import Moment, Walked, walk
from replay.load import BEGINS_LATE, PartitionRows
from spec.partition import SharePartition
from spec.view import snapshot
from tests.replay.samples import Row, events, kafka_rows, placed

ROWS = kafka_rows()


def walked(rows: list[Row], moment: Moment = Moment()) -> Walked:  # noqa: B008 - cannot change
    return walk(PartitionRows("core:orders:0", placed(rows), len(rows), None), KAFKA, moment)


@pytest.mark.parametrize("seq", [0, 7, 30, 59])
def test_the_state_is_the_one_recorded_at_the_moment(seq: int) -> None:
    recorded = events(ROWS)[seq].after
    found = walked(ROWS, Moment(seq=seq))
    assert (found.events, found.problem) == (seq + 1, None)
    assert snapshot(found.state).end_offset == recorded.end_offset
    assert snapshot(found.state).delivery_complete_count == recorded.delivery_complete_count


def test_a_moment_in_ms_takes_in_all_that_happened_up_to_it() -> None:
    time = ROWS[40]["time_ms"]
    last = max(row["seq"] for row in ROWS if row["time_ms"] <= time)
    assert walked(ROWS, Moment(time)).events == last + 1
    assert walked(ROWS, Moment(time - 1)).state.now < time


def test_each_event_is_told_with_what_the_specification_says() -> None:
    seen: list[tuple[int, Outcome, int]] = []

    def note(event: TraceEvent, outcome: Outcome, after: SharePartition) -> None:
        seen.append((event.seq, outcome, after.window.end_offset))

    walk(PartitionRows("p", placed(ROWS), 60, None), KAFKA, Moment(seq=9), note)
    assert [seq for seq, *_ in seen] == list(range(10))
    assert [end for *_, end in seen] == [event.after.end_offset for event in events(ROWS)[:10]]
    assert [o.acquired for _, o, _ in seen] == [e.outcome.acquired for e in events(ROWS)[:10]]


def _spoiled(seq: int, **fields: object) -> list[Row]:
    rows = kafka_rows()
    rows[seq] = {**rows[seq], **fields}
    return rows


@pytest.mark.parametrize(
    ("rows", "line", "message", "followed"),
    [
        (
            _spoiled(30, after={**ROWS[30]["after"], "end_offset": 999}),
            31,
            "seq 30: END_OFFSET",
            30,
        ),
        (_spoiled(12, time_ms=1), 13, "time_ms is 1; allowed: ", 12),
        (_spoiled(8, op="conquer"), 9, "op is 'conquer'", 8),
        (ROWS[1:], 1, BEGINS_LATE, 0),
    ],
)
def test_what_keeps_it_from_the_moment_is_told_with_its_place(
    rows: list[Row], line: int, message: str, followed: int
) -> None:
    found = walked(rows)
    assert found.problem
    assert (found.problem.source, found.problem.line) == ("trace.jsonl", line)
    assert message in found.problem.message
    assert found.events == followed
    if followed:
        assert walked(rows, Moment(seq=followed - 1)).problem is None


def test_a_problem_of_the_trace_counts_only_where_it_is_reached(tmp_path: Path) -> None:
    rows = kafka_rows(count=20)
    late = PartitionRows("p", placed(rows), 20, walked(ROWS[1:]).problem)
    assert walk(late, KAFKA, Moment()).problem is late.problem
    assert walk(late, KAFKA, Moment(seq=10)).problem is None
    assert not list(tmp_path.iterdir())
