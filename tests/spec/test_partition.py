from model.states import RecordState
from spec.partition import state_of
from tests.spec.worlds import acknowledgement, fetch, run, started


def test_every_offset_has_a_state() -> None:
    moved = run(started(), fetch("c1", (0, 3)), acknowledgement("c1", (0, 1, 1), (3, 3, 1)))
    names = [state_of(moved, offset) for offset in range(6)]
    assert names[:2] == [RecordState.ARCHIVED] * 2
    assert names[2:4] == [RecordState.ACQUIRED, RecordState.ACKNOWLEDGED]
    assert names[4:] == [RecordState.AVAILABLE] * 2
