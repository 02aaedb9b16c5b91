from replay.observed.observation import Kind, Observation, SessionChange, SessionEvent
from replay.observed.requests import Sessions, moment_of, sessions_of

OPENED, CLOSED, LEFT = SessionChange.OPENED, SessionChange.CLOSED, SessionChange.LEFT
KEY = ("m", "b")


def asked(time: float, epoch: int) -> Observation:
    return Observation(
        Kind.ACQUIRE, "t", 0, "log", 1, time, time + 1, "g", "b", member="m", epoch=epoch
    )


def event(change: SessionChange, time: float) -> SessionEvent:
    return SessionEvent("g", "m", "b", change, time, time + 1)


def sessions(*events: SessionEvent, requests: tuple[Observation, ...]) -> Sessions:
    return sessions_of(events, requests, margin=5)


def test_a_session_is_open_until_its_last_request() -> None:
    requests = (asked(100, 0), asked(200, 1), asked(300, 0))
    known = sessions(event(OPENED, 100), event(OPENED, 300), requests=requests)
    assert known.alive_until(KEY, moment_of(requests[0])) == 195
    assert not known.closed(KEY, moment_of(requests[0]))


def test_a_session_that_was_closed_was_open_until_then() -> None:
    requests = (asked(100, 0),)
    known = sessions(event(OPENED, 100), event(CLOSED, 400), requests=requests)
    assert known.alive_until(KEY, moment_of(requests[0])) == 395
    assert known.closed(KEY, moment_of(requests[0]))
    assert known.lost(10_000) == 0


def test_who_leaves_the_group_ends_the_session() -> None:
    requests = (asked(100, 0), asked(300, 1))
    known = sessions(event(OPENED, 100), event(LEFT, 150), requests=requests)
    assert known.alive_until(KEY, moment_of(requests[0])) == 145


def test_a_request_may_be_lost_after_the_last_of_a_session_whose_end_was_not_seen() -> None:
    requests = (asked(100, 0), asked(200, 1), asked(300, 0))
    known = sessions(event(OPENED, 100), event(OPENED, 300), requests=requests)
    assert [known.lost(time) for time in (150, 200, 290, 300)] == [0, 1, 1, 2]
