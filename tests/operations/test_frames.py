from model.profile import KAFKA
from operations.frames import frames, lag_after, reported_lag_after
from tests.replay.samples import events, recorded


def test_the_reported_lag_follows_the_durable_state_and_not_the_leaders() -> None:
    [rows] = recorded("agent-4.4.0-records-deleted").values()
    shown = list(frames(events(rows), KAFKA))
    pairs = {(lag_after(frame), reported_lag_after(frame)) for frame in shown}
    assert any(None not in pair and pair[0] != pair[1] for pair in pairs)
