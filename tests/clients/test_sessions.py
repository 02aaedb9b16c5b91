from clients.sessions import Session
from model.share_messages import FINAL_EPOCH, MAX_EPOCH


def after(*exchanges: tuple[int, int]) -> Session:
    """Return the session after requests (epoch, error)."""
    session = Session()
    for number, (epoch, error) in enumerate(exchanges):
        session.asked(number, epoch)
        session.answered(number, error)
    return session


def test_a_session_begins_at_0_counts_up_and_ends_at_minus_1() -> None:
    assert Session().allowed() == {0}
    assert after((0, 0)).allowed() == {1, FINAL_EPOCH}
    assert after((0, 0), (1, 0)).allowed() == {2, FINAL_EPOCH}
    assert after((0, 0), (MAX_EPOCH, 0)).allowed() == {1, FINAL_EPOCH}
    ended = after((0, 0), (FINAL_EPOCH, 0))
    assert ended.allowed() == {0, FINAL_EPOCH}
    assert not ended.is_open


def test_another_error_leaves_open_whether_the_epoch_moved() -> None:
    session = after((0, 0), (1, 42))
    assert session.allowed() == {0, 1, 2, FINAL_EPOCH}
    assert not session.is_open


def test_a_cut_leaves_open_whether_the_request_was_served() -> None:
    session = after((0, 0))
    session.asked(9, 1)
    session.cut(9)
    assert session.allowed() == {0, 1, 2, FINAL_EPOCH}
    assert not session.is_open


def test_a_client_whose_member_is_gone_may_open_another_session_once() -> None:
    session = after((0, 0), (1, 0))
    session.abandoned = True
    assert session.allowed() == {0, 2, FINAL_EPOCH}
    session.asked(9, 0)
    session.answered(9, 0)
    assert session.allowed() == {1, FINAL_EPOCH}


def test_a_client_whose_broker_starts_again_may_give_up_one_session_more() -> None:
    session = after((0, 0))
    session.disconnected(restarts=True)
    session.disconnected()
    for number, expected in enumerate(({0, 1, FINAL_EPOCH}, {1, FINAL_EPOCH})):
        session.asked(number, 0)
        session.answered(number, 0)
        assert session.allowed() == expected


def test_the_end_of_a_connection_says_nothing_of_a_session_that_never_was() -> None:
    session = Session()
    session.disconnected()
    assert session.allowed() == {0, FINAL_EPOCH}
    opened = after((0, 0))
    opened.disconnected()
    assert opened.allowed() == {0, 1, FINAL_EPOCH}


def test_a_client_that_hangs_up_as_it_closes_may_send_the_final_epoch_before_or_after() -> None:
    before, after_ = after((0, 0)), after((0, 0))
    before.asked(9, FINAL_EPOCH)
    for session in (before, after_):
        session.disconnected(hung_up=True)
    assert (before.hung_up, after_.hung_up) == (False, True)
    after_.asked(9, FINAL_EPOCH)
    assert not after_.hung_up


def test_a_throttle_time_ends_with_the_connection() -> None:
    session = Session()
    session.throttle.told(1000, 500)
    session.disconnected()
    assert session.throttle.haste("a request", 1200) is None


def test_a_session_that_was_given_up_is_open_again_once_a_member_goes_on_with_it() -> None:
    session = after((0, 0), (1, 0))
    session.abandoned = session.given_up = True
    session.asked(7, 2, is_member=False)  # It was under way.
    assert not session.is_open
    session.asked(8, 3)
    assert session.is_open
