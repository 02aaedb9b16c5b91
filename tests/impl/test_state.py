from typing import Any

import attrs
import numpy as np
import pytest

from impl import layout
from impl import layout as at
from impl.rows import Ints
from impl.state import State, copy_of, has_room, new_state, rows_needed, with_room
from model.profile import DRAFT_RESOLVED, KAFKA


def test_room_is_made_once_and_nothing_is_lost() -> None:
    state = new_state(KAFKA)
    state.header[at.HEAD], state.header[at.TAIL] = 10, 60
    state.runs[10:60] = np.arange(50 * at.RUN_COLUMNS).reshape(50, at.RUN_COLUMNS)
    rows = rows_needed(state.header, 1000)
    assert rows == 2 * 50 + 6 * 1000 + 16
    wide = with_room(state, rows)
    assert wide.header[at.TAIL] - wide.header[at.HEAD] == 50
    assert wide.runs[wide.header[at.HEAD], 0] == 0
    assert wide.runs[wide.header[at.TAIL] - 1, -1] == 50 * at.RUN_COLUMNS - 1
    assert has_room(wide, rows)
    assert with_room(wide, rows) is wide


def narrowed(array: str) -> State:
    """A state with room for 900 rows in each array, but for 200 in one."""
    state = new_state(KAFKA)
    wide = {name: np.zeros((900, rows.shape[1]), np.int64) for name, rows in fields(state)}
    return state._replace(**{**wide, array: wide[array][:200], "header": state.header})


@pytest.mark.parametrize(
    ("array", "tail", "in_use", "room", "wider"),
    [
        ("holes", "HOLES_TAIL", 140, 60, 402),
        ("outstanding", "OUTSTANDING_TAIL", 140, 60, 402),
        ("pending", "PENDING_TAIL", 140, 60, 402),
        ("durable", "DURABLE_TAIL", 40, 60, 404),
        ("durable", "JOURNAL_TAIL", 40, 60, 404),
        ("journal", "JOURNAL_TAIL", 140, 60, 402),
        ("runs", "TAIL", 140, 60, 524),
        ("acquired", "TAIL", 0, 200, 402),
        ("writes", "TAIL", 0, 200, 402),
        ("batches", "TAIL", 0, 200, 402),
        ("ranges", "TAIL", 0, 200, 402),
    ],
)
def test_room_is_counted_to_the_row(
    array: str, tail: str, in_use: int, room: int, wider: int
) -> None:
    state = narrowed(array)
    state.header[getattr(layout, tail)] = in_use
    assert has_room(state, room)
    assert not has_room(state, room + 1)
    made = with_room(state, room + 1)
    assert len(getattr(made, array)) == wider
    assert has_room(made, room + 1)
    others = {name for name, _rows in fields(state)} - {array, "waiting"}
    assert all(getattr(made, name) is getattr(state, name) for name in others)


def filled(head: int, tail: int) -> State:
    """A state with runs and holes from head to tail, each numbered, in arrays of 200."""
    state = narrowed("runs")
    state = state._replace(holes=state.holes[:200])
    for rows in (state.runs, state.holes):
        rows[head:tail] = np.arange(head, tail)[:, np.newaxis]
    h = state.header
    h[at.HEAD] = h[at.HOLES_HEAD] = head
    h[at.TAIL] = h[at.HOLES_TAIL] = tail
    return state


def bounds(state: State) -> list[int]:
    """Where the runs and the holes are."""
    return [int(state.header[name]) for name in (at.HEAD, at.TAIL, at.HOLES_HEAD, at.HOLES_TAIL)]


def test_rows_with_room_behind_them_stay() -> None:
    state = filled(50, 110)
    assert has_room(state, 90)
    assert bounds(state) == [50, 110, 50, 110]
    assert (state.runs[50:110, 0] == np.arange(50, 110)).all()


@pytest.mark.parametrize(("rows", "is_room"), [(70, True), (71, False)])
def test_runs_move_to_the_front_where_that_makes_twice_the_room(
    rows: int, *, is_room: bool
) -> None:
    state = filled(90, 150)
    assert has_room(state, rows) is is_room
    assert bounds(state)[:2] == [0, 60]
    assert (state.runs[:60] == np.arange(90, 150)[:, np.newaxis]).all()


@pytest.mark.parametrize(("rows", "is_room"), [(51, True), (140, True), (141, False)])
def test_holes_move_to_the_front_where_that_makes_the_room(rows: int, *, is_room: bool) -> None:
    state = filled(90, 150)
    state.header[at.HEAD] = state.header[at.TAIL] = 0
    state = state._replace(runs=np.zeros((900, at.RUN_COLUMNS), np.int64))
    assert has_room(state, rows) is is_room
    assert bounds(state)[2:] == [0, 60]
    assert (state.holes[:60] == np.arange(90, 150)[:, np.newaxis]).all()


@pytest.mark.parametrize(
    ("name", "of_the_profile"),
    [
        ("MARKS", "in_progress"),
        ("RENEWAL_SURVIVES", "renewal_survives_refusal"),
        ("SHARED_OFFSET", "batches_may_share_an_offset"),
        ("MAY_OVERSHOOT", "window_may_overshoot"),
        ("PASSED_RELEASED", "passed_records_are_released"),
        ("FREE_GAP", "gap_at_the_end_is_free"),
        ("COUNTS_DURABLE", "coordinator_counts_complete"),
    ],
)
def test_the_header_contains_the_flags_of_the_profile(name: str, of_the_profile: str) -> None:
    none = attrs.evolve(DRAFT_RESOLVED, in_progress=False)
    one: dict[str, Any] = {of_the_profile: True}
    changed = np.flatnonzero(new_state(none).header != new_state(attrs.evolve(none, **one)).header)
    assert changed.tolist() == [getattr(layout, name)]


def test_asking_for_room_forgets_the_latest_answers_and_nothing_else() -> None:
    state = new_state(KAFKA)
    state.header[:] = np.arange(len(state.header)) % 7 + 1
    before = state.header.copy()
    assert has_room(state, 3)
    changed = np.flatnonzero(state.header != before).tolist()
    answers = (
        at.ACQUIRED_TAIL,
        at.MARKED_TAIL,
        at.WRITES_TAIL,
        at.BATCHES_TAIL,
        at.RANGES_TAIL,
        at.NUMBER,
    )
    assert changed == sorted(answers)
    assert [int(state.header[name]) for name in answers] == [0, 0, 0, 0, 0, at.NO_NUMBER]


def fields(state: State) -> list[tuple[str, Ints]]:
    """The arrays of rows and their names."""
    return [(name, rows) for name, rows in state._asdict().items() if name != "header"]


def test_a_copy_shares_nothing() -> None:
    state = new_state(KAFKA)
    copy_of(state).header[at.TAIL] = 7
    assert state.header[at.TAIL] == 0


def test_only_rows_in_use_are_copied_into_arrays_that_are_there() -> None:
    state = with_room(new_state(KAFKA), 1000)
    spare = with_room(new_state(KAFKA), 1000)
    state.header[at.HEAD], state.header[at.TAIL] = 2, 5
    state.header[at.JOURNAL_TAIL] = 1
    for _name, rows in fields(state):
        rows[:] = 1
    copied = copy_of(state, spare)
    assert all(a is b for a, b in zip(copied[1:], spare[1:], strict=True))
    used = {name: np.flatnonzero(rows.any(axis=1)).tolist() for name, rows in fields(copied)}
    assert {name: rows for name, rows in used.items() if rows} == {
        "runs": [2, 3, 4],
        "journal": [0],
    }
    assert copied.header is not state.header


def test_arrays_that_are_too_small_are_not_used() -> None:
    state, spare = with_room(new_state(KAFKA), 1000), new_state(KAFKA)
    state.header[at.TAIL] = 500
    state.runs[:500] = 7
    copied = copy_of(state, spare)
    assert copied.runs.shape == state.runs.shape
    assert (copied.runs[:500] == 7).all()
    assert not copied.runs[500:].any()
