from model.profile import KAFKA
from operations.frames import frames, lag_after, reported_lag_after
from tests.replay.samples import events, kafka_rows
from tests.replay.samples import recorded as recorded_rows


def test_every_frame_of_a_conforming_trace_is_the_specifications() -> None:
    shown = list(frames(events(kafka_rows(count=60)), KAFKA))
    assert len(shown) == 60
    assert all(frame.is_checked and frame.finding is None for frame in shown)
    assert [f.state for f in shown[:-1]] == [f.before for f in shown[1:]]
    assert (lag_after(shown[45]), reported_lag_after(shown[45])) == (51, 51)


def test_after_a_divergence_the_recorded_states_go_on() -> None:
    rows = kafka_rows(count=30)
    rows[12]["after"]["end_offset"] += 1
    shown = list(frames(events(rows), KAFKA))
    assert [frame.event.seq for frame in shown if frame.finding] == [12]
    assert [frame.is_checked for frame in shown] == [True] * 13 + [False] * 17
    assert shown[13].before == shown[12].state == shown[12].event.after
    assert shown[20].state == shown[20].event.after
    assert lag_after(shown[20]) is reported_lag_after(shown[20]) is None


def test_an_event_that_makes_no_sense_is_a_problem_and_the_rest_goes_on() -> None:
    rows = kafka_rows(count=10)
    rows[4]["time_ms"] += 7
    shown = list(frames(events(rows), KAFKA))
    assert [f.problem is not None for f in shown] == [False] * 4 + [True] + [False] * 5
    assert not any(frame.is_checked for frame in shown[4:])


def test_the_reported_lag_follows_the_durable_state_and_not_the_leaders() -> None:
    [rows] = recorded_rows("agent-4.4.0-records-deleted").values()
    shown = list(frames(events(rows), KAFKA))
    pairs = {(lag_after(frame), reported_lag_after(frame)) for frame in shown}
    assert any(None not in pair and pair[0] != pair[1] for pair in pairs)
