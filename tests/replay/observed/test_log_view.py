from replay.observed.log_view import log_view
from replay.observed.observation import Kind, Observation


def seen(kind: Kind, time: float, offset: int, *, exact: bool = True) -> Observation:
    return Observation(kind, "t", 0, "log", 1, time, time + 1, offset=offset, exact=exact)


def test_a_log_starts_between_what_was_seen_before_and_after() -> None:
    view = log_view(
        [seen(Kind.LOG_START, 100, 5), seen(Kind.LOG_START, 200, 9), seen(Kind.LOG_START, 300, 9)],
        margin=10,
    )
    assert [view.start_at_least(time) for time in (90, 101, 102, 250)] == [0, 0, 5, 9]
    assert [view.start_at_most(time) for time in (90, 91, 190, 290, 291)] == [5, 9, 9, 9, None]


def test_only_the_leader_knows_where_a_log_starts_at_most() -> None:
    view = log_view([seen(Kind.LOG_START, 100, 5, exact=False)], margin=0)
    assert view.start_at_most(50) is None
    assert view.start_at_least(150) == 5


def test_a_log_ends_where_the_next_batch_is_appended() -> None:
    view = log_view(
        [seen(Kind.APPENDED, 100, 0), seen(Kind.APPENDED, 200, 7), seen(Kind.LOG_END, 300, 12)],
        margin=0,
    )
    assert [view.end_at_most(time) for time in (50, 150, 250, 350)] == [0, 7, 12, None]
    assert (view.base_after(0), view.base_of(6), view.base_of(9)) == (7, 0, 7)
    assert view.base_after(7) is None


def test_a_batch_of_a_transaction_may_be_aborted() -> None:
    view = log_view([seen(Kind.APPENDED, 1, 0, exact=False), seen(Kind.APPENDED, 2, 4)], margin=0)
    assert view.plain_in(0, 3) is None
    assert view.plain_in(0, 9) == 4


def test_a_log_that_shrank_has_no_known_end() -> None:
    view = log_view([seen(Kind.APPENDED, 100, 9), seen(Kind.APPENDED, 200, 5)], margin=0)
    assert view.shrank
    assert view.end_at_most(50) is None
    assert not log_view(
        [seen(Kind.APPENDED, 100, 9), seen(Kind.APPENDED, 100.5, 5)], margin=0
    ).shrank
