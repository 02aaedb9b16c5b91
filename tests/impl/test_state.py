import numpy as np

from impl.layout import HEAD, RUN_COLUMNS, TAIL
from impl.state import copy_of, has_room, new_state, rows_needed, with_room
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


def test_a_copy_shares_nothing() -> None:
    state = new_state(KAFKA)
    copy_of(state).header[TAIL] = 7
    assert state.header[TAIL] == 0
