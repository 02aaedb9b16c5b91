from pathlib import Path

import pytest

from judge.view import snapshot
from model.outcome import Outcome
from model.profile import KAFKA
from model.trace import TraceEvent
from operations.walk import TraceTime, Walked, walk
from replay.pieces import PartitionRows
from replay.tables import BEGINS_LATE
from spec.partition import SharePartition
from tests.judge.test_written import refusing
from tests.replay.samples import Row, events, kafka_rows, placed

ROWS = kafka_rows()


def walked(rows: list[Row], moment: TraceTime = TraceTime()) -> Walked:  # noqa: B008 - cannot change
    return walk(PartitionRows("core:orders:0", placed(rows), len(rows), None), KAFKA, moment)


@pytest.mark.parametrize("seq", [0, 7, 30, 59])
def test_the_state_is_the_one_recorded_then(seq: int) -> None:
    recorded = events(ROWS)[seq].after
    found = walked(ROWS, TraceTime(seq=seq))
    assert (found.events, found.problem) == (seq + 1, None)
    assert snapshot(found.state).end_offset == recorded.end_offset
    assert snapshot(found.state).delivery_complete_count == recorded.delivery_complete_count


def test_a_time_in_ms_includes_all_events_up_to_it() -> None:
    time = ROWS[40]["time_ms"]
    last = max(row["seq"] for row in ROWS if row["time_ms"] <= time)
    assert walked(ROWS, TraceTime(time)).events == last + 1
    assert walked(ROWS, TraceTime(time - 1)).state.now < time


def test_each_event_is_noted_with_its_expected_outcome() -> None:
    seen: list[tuple[int, Outcome, int]] = []

    def note(event: TraceEvent, outcome: Outcome, after: SharePartition) -> None:
        seen.append((event.seq, outcome, after.window.end_offset))

    walk(PartitionRows("p", placed(ROWS), 60, None), KAFKA, TraceTime(seq=9), note)
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
def test_a_problem_before_the_end_is_reported_with_its_place(
    rows: list[Row], line: int, message: str, followed: int
) -> None:
    found = walked(rows)
    assert found.problem
    assert (found.problem.source, found.problem.line) == ("trace.jsonl", line)
    assert message in found.problem.message
    assert found.events == followed
    if followed:
        assert walked(rows, TraceTime(seq=followed - 1)).problem is None


def test_a_problem_after_the_end_is_ignored(tmp_path: Path) -> None:
    rows = kafka_rows(count=20)
    late = PartitionRows("p", placed(rows), 20, walked(ROWS[1:]).problem)
    assert walk(late, KAFKA, TraceTime()).problem is late.problem
    assert walk(late, KAFKA, TraceTime(seq=10)).problem is None
    assert not list(tmp_path.iterdir())


def test_a_leader_may_renew_nothing_where_it_refuses() -> None:
    keeps_one, keeps_none = (walked(refusing((kept, False))) for kept in (True, False))
    assert keeps_one.problem
    assert keeps_none.problem is None
    assert keeps_none.events == len(refusing((False, False)))
