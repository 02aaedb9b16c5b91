"""What of the events that came can be checked, what waits, and what came before."""

import random

import pyarrow as pa
import pytest

from impl.kernel import replay_partition
from model.profile import KAFKA
from model.trace_arrow import SCHEMA, table_from_rows
from replay.judged import Arrival, Patience, Waiting, arrival, without
from replay.state_file import Carried
from tests.replay.samples import Row, kafka_rows
from tests.replay.streams import arrived

PATIENT = Patience(batches=2, events=30)
NEW = Waiting()
ROWS = kafka_rows(count=20)


def came(
    rows: list[Row],
    before: Carried | None = None,
    waiting: Waiting = NEW,
    patience: Patience = PATIENT,
) -> Arrival:
    return arrival(arrived(rows), before, waiting, patience)


def seqs(table: pa.Table) -> list[int]:
    numbers: list[int] = table.column("seq").to_pylist()
    return numbers


def left_after(rows: list[Row]) -> Carried:
    """Where the kernel stands after some rows."""
    kernel = replay_partition(table_from_rows(rows, SCHEMA), KAFKA, None, len(rows))
    last = rows[-1]
    place = last.get("leader_epoch"), last.get("instance")
    return Carried(
        last["partition"], kernel.states[-1][1], leader_epoch=place[0], instance=place[1]
    )


def led(*places: tuple[int, int, int]) -> list[Row]:
    """Events of leaders, by leader epoch, instance and seq."""
    rows = []
    for epoch, instance, seq in places:
        rows.append({**ROWS[seq], "leader_epoch": epoch, "instance": instance, "seq": seq})
    return rows


def test_rows_in_any_order_are_sorted_and_ready() -> None:
    rows = ROWS.copy()
    random.Random(1).shuffle(rows)  # noqa: S311 - the same in every run
    result = came(rows)
    assert seqs(result.ready) == list(range(20))
    assert result.ready.drop(["line"]).equals(arrived(ROWS).drop(["line"]))
    assert (result.held.num_rows, result.late, result.twice, result.problems) == (0, 0, 0, ())


def test_what_was_checked_is_late_and_what_is_next_follows() -> None:
    before = left_after(ROWS[:8])
    result = came(ROWS[5:12], before)
    assert (seqs(result.ready), result.late) == ([8, 9, 10, 11], 3)
    again = came(ROWS[:8], before)
    assert (again.ready.num_rows, again.held.num_rows, again.late) == (0, 0, 8)


def test_rows_of_an_earlier_leader_are_late() -> None:
    before = left_after(led((4, 0, 0), (4, 0, 1)))
    result = came(led((3, 0, 5), (4, 0, 1), (4, 0, 2), (5, 0, 0)), before)
    assert (seqs(result.ready), result.late) == ([2, 0], 2)


def test_one_event_twice_is_one_and_two_that_differ_are_none() -> None:
    result = came([*ROWS[:6], *ROWS[2:4], ROWS[3]])
    assert (seqs(result.ready), result.twice, result.problems) == (list(range(6)), 3, ())
    other = {**ROWS[4], "time_ms": ROWS[4]["time_ms"] + 1}
    result = came([*ROWS[:6], other])
    assert (seqs(result.ready), seqs(result.held), result.twice) == ([0, 1, 2, 3], [5], 0)
    assert [p.message for p in result.problems] == ["seq 4 occurs twice, and the two differ"]


def test_what_lies_behind_a_hole_waits_and_is_ready_when_it_is_filled() -> None:
    first = came([*ROWS[:5], *ROWS[7:10]])
    assert (seqs(first.ready), seqs(first.held)) == ([0, 1, 2, 3, 4], [7, 8, 9])
    assert first.waiting == Waiting(1)
    second = came([*ROWS[7:10], *ROWS[5:7]], left_after(ROWS[:5]), first.waiting)
    assert (seqs(second.ready), second.held.num_rows) == ([5, 6, 7, 8, 9], 0)
    assert second.waiting == NEW


def test_without_leaders_it_stops_when_the_wait_is_over_and_says_so_once() -> None:
    before, waiting = left_after(ROWS[:5]), NEW
    for batch in (1, 2):
        result = came(ROWS[7:10], before, waiting)
        assert (seqs(result.held), result.waiting, result.problems) == (
            [7, 8, 9],
            Waiting(batch),
            (),
        )
        waiting = result.waiting
    result = came(ROWS[7:10], before, waiting)
    text = "seq 5 is missing: the next is 7"
    assert (result.held.num_rows, result.passed, result.waiting) == (0, 3, Waiting(0, text))
    assert [(p.message, p.line) for p in result.problems] == [(text, 1)]
    later = came(ROWS[10:14], before, result.waiting)
    assert (later.passed, later.problems, later.waiting) == (4, (), result.waiting)
    mended = came(ROWS[5:14], before, later.waiting)
    assert (mended.ready.num_rows, mended.waiting) == (9, NEW)


def test_with_leaders_one_hole_after_another_is_given_up() -> None:
    before = left_after(led((4, 0, 0), (4, 0, 1)))
    rows = led((4, 0, 4), (4, 0, 5), (4, 0, 8))
    result = came(rows, before, Waiting(2))
    assert (seqs(result.ready), seqs(result.held)) == ([4, 5], [8])
    assert (result.waiting, result.problems, result.passed) == (Waiting(1), (), 0)


def test_a_gap_that_the_recorder_tells_is_no_hole() -> None:
    before = left_after(led((4, 0, 0), (4, 0, 1)))
    rows = led((4, 0, 4), (4, 0, 5))
    rows[0] |= {"op": "gap", "lost": 2}
    assert seqs(came(rows, before).ready) == [4, 5]


def test_no_more_than_so_many_events_wait() -> None:
    rows = kafka_rows(count=60)
    assert came([*rows[:5], *rows[20:50]]).held.num_rows == 30
    result = came([*rows[:5], *rows[20:51]])
    assert (result.ready.num_rows, result.held.num_rows, result.passed) == (5, 0, 31)
    assert result.waiting.stopped == "seq 5 is missing: the next is 20"


def test_a_row_without_a_value_is_told_and_its_place_is_a_hole() -> None:
    rows = [*ROWS[:4], {**ROWS[4], "time_ms": None}, *ROWS[5:8]]
    result = came(rows)
    assert (seqs(result.ready), seqs(result.held)) == ([0, 1, 2, 3], [5, 6, 7])
    assert [p.message for p in result.problems] == ["time_ms is None; allowed: a value"]
    assert result.waiting == Waiting(1)


@pytest.mark.parametrize(
    ("spoiled", "message"),
    [
        ({"seq": None}, "seq is missing"),
        ({"seq": -1}, "seq is below 0; allowed: 0 or more"),
        ({"unreadable": "line is cut"}, "line is cut"),
        ({"leader_epoch": 3}, "rows with and without a leader_epoch do not follow each other"),
    ],
)
def test_a_row_without_a_place_is_told(spoiled: Row, message: str) -> None:
    result = came([*ROWS[:3], {**ROWS[3], **spoiled}])
    assert seqs(result.ready) == [0, 1, 2]
    assert [(p.message, p.line) for p in result.problems] == [(message, 4)]


def test_a_row_that_turns_out_to_hold_no_event_ends_what_is_ready() -> None:
    result = without(came(ROWS), 12, "op is 'conquer'")
    assert (seqs(result.ready)[-1], seqs(result.held)[0], result.waiting) == (11, 13, Waiting(1))
    assert [(p.message, p.line) for p in result.problems] == [("op is 'conquer'", 13)]


def test_nothing_is_no_trouble() -> None:
    waiting = Waiting(0, "seq 5 is missing: the next is 7")
    assert came([], left_after(ROWS[:5]), waiting).waiting == waiting
    assert came([]).ready.num_rows == 0
