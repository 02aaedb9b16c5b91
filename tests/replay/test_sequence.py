"""Rows of leaders that succeed each other: their order, and a gap wherever one may be missing."""

import random
from typing import Any

import attrs
import pytest

from replay.state_file import Carried
from replay.tables import in_sequence
from tests.replay.samples import Row, kafka_rows, placed, present
from tests.whole_states import FULL

Place = tuple[int, int, int]


def row(leader: int, instance: int, seq: int, op: str = "produce", source: str = "a") -> Row:
    made: Row = {**kafka_rows(count=2)[1], "leader_epoch": leader, "instance": instance}
    return {**made, "seq": seq, "op": op, "source": source, "line": 7}


def _place(of: Row) -> Place:
    return of["leader_epoch"], of["instance"], of["seq"]


def leadership(leader: int, rows: int, instance: int = 0, source: str = "a") -> list[Row]:
    first = row(leader, instance, 0, "initialize", source)
    return [first, *(row(leader, instance, seq, source=source) for seq in range(1, rows))]


def ordered(rows: list[Row], *unfinished: str) -> tuple[list[tuple[Any, ...]], str | None]:
    table = placed(rows)
    table = table.set_column(
        table.schema.get_field_index("source"), "source", [[r["source"] for r in rows]]
    )
    keys = [(name, "ascending") for name in ("leader_epoch", "instance", "seq")]
    result, problem = in_sequence("p", table.sort_by(keys), frozenset(unfinished))
    columns = ("leader_epoch", "instance", "seq", "op", "lost")
    found = zip(*(result.column(name).to_pylist() for name in columns), strict=True)
    return list(found), problem.message if problem else None


def ops(rows: list[Row], *unfinished: str) -> list[tuple[Any, ...]]:
    found, problem = ordered(rows, *unfinished)
    assert problem is None
    return [
        (epoch, seq, lost) if op == "gap" else (epoch, seq) for epoch, _, seq, op, lost in found
    ]


def test_leaderships_follow_each_other_by_epoch_and_instance_whatever_the_files() -> None:
    rows = [*leadership(4, 2), *leadership(4, 1, 1), *leadership(5, 3, source="b")]
    random.Random(1).shuffle(rows)  # noqa: S311 - a test, no secret
    assert ops(rows) == [(4, 0), (4, 1), (4, 0), (5, 0), (5, 1), (5, 2)]


def test_a_leadership_that_is_missing_is_a_gap() -> None:
    rows = [*leadership(4, 1), *leadership(6, 1), *leadership(6, 1, instance=2)]
    assert ops(rows) == [(4, 0), (6, 0, None), (6, 0), (6, 0, None), (6, 0)]


def test_answers_are_overtaken_by_the_read_of_the_next_object_of_a_leader_epoch() -> None:
    def answered(leader: int, instance: int, seq: int, time_ms: int) -> Row:
        return {**row(leader, instance, seq, "complete_write"), "time_ms": time_ms}

    begins = [{**row(*at, 0, "initialize"), "time_ms": 50} for at in ((4, 0), (4, 1), (5, 0))]
    times = (49, 50, 51)
    rows = [answered(*at, seq, ms) for at in ((4, 0), (4, 1)) for seq, ms in enumerate(times, 1)]
    table, problem = in_sequence("p", placed(sorted([*begins, *rows], key=_place)))
    assert problem is None
    told = zip(
        *(table.column(n).to_pylist() for n in ("instance", "seq", "overtaken")), strict=True
    )
    assert [place for *place, overtaken in told if overtaken] == [[0, 2], [0, 3]]


def test_a_leadership_of_which_the_end_may_be_missing_is_followed_by_a_gap() -> None:
    rows = [*leadership(4, 2), *leadership(5, 1, source="b")]
    assert ops(rows, "a") == [(4, 0), (4, 1), (5, 0, None), (5, 0)]
    assert ops(rows, "b") == [(4, 0), (4, 1), (5, 0)]


def test_a_recorder_that_was_off_meanwhile_begins_behind_a_gap() -> None:
    again = leadership(4, 2, instance=1)
    again[0]["op"] = "checkpoint"
    assert ops([*leadership(4, 2), *again]) == [(4, 0), (4, 1), (4, 0, None), (4, 0), (4, 1)]


def test_rows_that_are_missing_are_a_gap_up_to_the_next_whole_state() -> None:
    rows = leadership(4, 9)
    rows[6]["op"] = "checkpoint"
    assert ops([r for r in rows if r["seq"] not in (2, 3)]) == [
        *((4, 0), (4, 1)),
        *((4, 6, 4), (4, 6), (4, 7), (4, 8)),
    ]
    assert ops([r for r in rows if r["seq"] != 7]) == [*((4, n) for n in range(7)), (4, 8, 2)]


def test_rows_of_which_the_beginning_is_missing_begin_at_the_next_whole_state() -> None:
    rows = leadership(4, 9)
    rows[5]["op"] = "checkpoint"
    assert ops(rows[3:]) == [(4, 5, 5), (4, 5), (4, 6), (4, 7), (4, 8)]
    assert ops(rows[5:7]) == [(4, 5, 5), (4, 5), (4, 6)]


def test_a_gap_that_the_recorder_tells_is_one_gap() -> None:
    rows = leadership(4, 4)
    rows[2].update(op="gap", lost=8)
    rows[3].update(op="checkpoint")
    assert ops(rows) == [(4, 0), (4, 1), (4, 2, 8), (4, 3)]


def test_a_first_row_that_occurs_twice_leaves_nothing_to_use() -> None:
    rows = leadership(1, 3)
    used, problem = ordered([*rows, {**rows[0], "source": "b"}])
    assert used == []
    assert present(problem).startswith("seq 0 occurs twice; the other event is in ")


def test_a_row_that_occurs_twice_ends_what_is_used() -> None:
    rows = leadership(4, 4)
    found, problem = ordered([*rows, row(4, 0, 2, source="b")])
    assert [seq for _, _, seq, _, _ in found] == [0, 1]
    assert present(problem).startswith("seq 2 occurs twice; the other event is in ")


def left(*, ready: bool = True, unfinished: bool = False) -> Carried:
    """Return that an earlier replay came up to seq 1 of leader 4."""
    state = attrs.evolve(FULL, seq=2, state=attrs.evolve(FULL.state, ready=ready))
    return Carried("p", state, leader_epoch=4, instance=0, unfinished=unfinished)


@pytest.mark.parametrize(
    ("rows", "before", "places"),
    [
        ([row(4, 0, 2), row(4, 0, 3)], left(), [(4, 2), (4, 3)]),
        ([row(4, 0, 3), row(4, 0, 4, "checkpoint")], left(), [(4, 4, 2), (4, 4)]),
        ([row(4, 0, 2), row(4, 0, 3, "checkpoint")], left(ready=False), [(4, 3, 1), (4, 3)]),
        ([row(4, 0, 2, "checkpoint")], left(ready=False), [(4, 2)]),
        (leadership(5, 1), left(), [(5, 0)]),
        (leadership(5, 1), left(unfinished=True), [(5, 0, None), (5, 0)]),
        ([row(5, 0, 0, "checkpoint")], left(), [(5, 0, None), (5, 0)]),
        (leadership(6, 1), left(), [(6, 0, None), (6, 0)]),
        ([row(4, 0, 2), *leadership(5, 1)], left(unfinished=True), [(4, 2), (5, 0)]),
    ],
)
def test_rows_go_on_where_an_earlier_replay_left_off(
    rows: list[Row], before: Carried, places: list[tuple[Any, ...]]
) -> None:
    result, problem = in_sequence("p", placed(rows), frozenset(), before)
    assert problem is None
    columns = (result.column(n).to_pylist() for n in ("leader_epoch", "seq", "op", "lost"))
    assert [
        (epoch, seq, lost) if op == "gap" else (epoch, seq)
        for epoch, seq, op, lost in zip(*columns, strict=True)
    ] == places


@pytest.mark.parametrize("place", [(4, 0, 1), (3, 7, 9)])
def test_rows_of_before_an_earlier_replay_left_off_are_refused(place: Place) -> None:
    result, problem = in_sequence("p", placed([row(*place)]), frozenset(), left())
    assert result.num_rows == 0
    assert problem
    assert problem.message == f"seq {place[2]} is of an earlier replay, after which seq 2 is next"
