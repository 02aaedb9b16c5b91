import numpy as np
import pytest

from impl import layout
from impl.layout import HEAD, RUN_COLUMNS, TAIL
from impl.rows import Ints
from impl.state import State, copy_of, has_room, new_state, rows_needed, with_room
from model.profile import KAFKA


def test_room_is_made_once_and_nothing_is_lost() -> None:
    state = new_state(KAFKA)
    state.header[HEAD], state.header[TAIL] = 10, 60
    state.runs[10:60] = np.arange(50 * RUN_COLUMNS).reshape(50, RUN_COLUMNS)
    rows = rows_needed(state.header, 1000)
    assert rows == 2 * 50 + 4 * 1000 + 16
    wide = with_room(state, rows)
    assert wide.header[TAIL] - wide.header[HEAD] == 50
    assert wide.runs[wide.header[HEAD], 0] == 0
    assert wide.runs[wide.header[TAIL] - 1, -1] == 50 * RUN_COLUMNS - 1
    assert has_room(wide, rows)
    assert with_room(wide, rows) is wide


@pytest.mark.parametrize(
    ("array", "tail", "needed_each"),
    [
        ("holes", "HOLES_TAIL", 1),
        ("outstanding", "OUTSTANDING_TAIL", 1),
        ("pending", "PENDING_TAIL", 1),
        ("durable", "DURABLE_TAIL", 2),
        ("durable", "JOURNAL_TAIL", 2),
        ("journal", "JOURNAL_TAIL", 1),
    ],
)
def test_room_is_told_to_the_row(array: str, tail: str, needed_each: int) -> None:
    state = new_state(KAFKA)
    wide = {name: np.zeros((900, rows.shape[1]), np.int64) for name, rows in fields(state)}
    narrow = wide[array][:200]
    state = state._replace(**{**wide, array: narrow, "header": state.header})
    state.header[getattr(layout, tail)] = 200 // needed_each - 60
    assert has_room(state, 60)
    assert not has_room(state, 61)
    wider = with_room(state, 61)
    assert len(getattr(wider, array)) == 2 * (200 + needed_each)
    assert has_room(wider, 61)


def test_room_for_runs_is_told_to_the_row() -> None:
    state = new_state(KAFKA)
    wide = {name: np.zeros((900, rows.shape[1]), np.int64) for name, rows in fields(state)}
    state = state._replace(**{**wide, "runs": wide["runs"][:200], "header": state.header})
    state.header[TAIL] = 140
    assert has_room(state, 60)
    assert not has_room(state, 61)
    assert len(with_room(state, 61).runs) == 2 * (140 + 2 * 61)


@pytest.mark.parametrize("array", ["acquired", "writes", "batches", "ranges"])
def test_room_for_answers_is_told_to_the_row(array: str) -> None:
    state = new_state(KAFKA)
    wide = {name: np.zeros((900, rows.shape[1]), np.int64) for name, rows in fields(state)}
    state = state._replace(**{**wide, array: wide[array][:200], "header": state.header})
    assert has_room(state, 200)
    assert not has_room(state, 201)
    assert len(getattr(with_room(state, 201), array)) == 402


def fields(state: State) -> list[tuple[str, Ints]]:
    """The arrays of rows and their names."""
    return [(name, rows) for name, rows in state._asdict().items() if name != "header"]


def test_a_copy_shares_nothing() -> None:
    state = new_state(KAFKA)
    copy_of(state).header[TAIL] = 7
    assert state.header[TAIL] == 0
