import attrs
import pytest
from immutables import Map

from model.share_messages import (
    MAX_EPOCH,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    TopicPartition,
)
from spec.share_session import (
    SessionPartition,
    Sessions,
    ShareSession,
    begin,
    rotated,
)
from tests.spec.share_worlds import P0, P1, acked, asked, fetching

KEY = ("g", "m")
LIVE: Sessions = Map({KEY: ShareSession(3, "c", (SessionPartition(P0), SessionPartition(P1)))})
RENEWAL = ShareFetch(
    "g", "m", 3, max_records=0, max_bytes=0, min_bytes=0, max_wait_ms=0, is_renew_ack=True
)


def began(request: ShareRequest, sessions: Sessions = LIVE, most: int = 10) -> tuple[str, Sessions]:
    error, after = begin(sessions, request, "c", most)
    return error.name, after


def test_epoch_0_opens_a_session_that_expects_1() -> None:
    error, after = began(fetching("n", 0, asked(P1)))
    assert error == "NONE"
    assert after["g", "n"] == ShareSession(1, "c", (SessionPartition(P1),))
    assert after[KEY] == LIVE[KEY]


def test_a_session_begins_again_at_1_after_the_largest_epoch() -> None:
    last = LIVE.set(KEY, attrs.evolve(LIVE[KEY], epoch=MAX_EPOCH))
    error, after = began(fetching("m", MAX_EPOCH), last)
    assert (error, after[KEY].epoch) == ("NONE", 1)
    assert began(fetching("m", 1), after)[0] == "NONE"


@pytest.mark.parametrize("epoch", [2, 4, 1, MAX_EPOCH, -2])
def test_any_other_epoch_is_wrong_and_changes_nothing(epoch: int) -> None:
    for request in (fetching("m", epoch, asked(P0)), acked("m", epoch)):
        assert began(request) == ("INVALID_SHARE_SESSION_EPOCH", LIVE)


def test_an_acknowledgement_cannot_open_a_session() -> None:
    for member in ("m", "n"):
        assert began(acked(member, 0)) == ("INVALID_SHARE_SESSION_EPOCH", LIVE)


def test_a_session_beyond_the_limit_is_refused() -> None:
    assert began(fetching("n", 0), most=1) == ("SHARE_SESSION_LIMIT_REACHED", LIVE)


def test_partitions_are_added_once_and_then_forgotten() -> None:
    third = TopicPartition("t", 2)
    request = ShareFetch("g", "m", 3, (asked(P1), asked(third)), (P0, TopicPartition("u", 0)))
    _, after = began(request)
    assert after[KEY].partitions == (SessionPartition(P1), SessionPartition(third, answer_due=True))


def test_a_renewal_came_with_version_2() -> None:
    assert began(attrs.evolve(RENEWAL, version=1)) == ("INVALID_REQUEST", LIVE)
    one = ShareAcknowledge("g", "m", 3, is_renew_ack=True, version=1)
    assert began(one) == ("INVALID_REQUEST", LIVE)
    assert began(attrs.evolve(one, version=2))[0] == "NONE"


def test_a_malformed_renewal_is_reported_before_a_wrong_session() -> None:
    wrong = attrs.evolve(RENEWAL, max_records=1, session_epoch=9, member_id="n")
    assert began(wrong)[0] == "INVALID_REQUEST"


def test_each_partition_is_first_in_its_turn() -> None:
    session = LIVE[KEY]
    assert [rotated(session, epoch) for epoch in (0, 1, 2)] == [(P0, P1), (P1, P0), (P0, P1)]
    assert rotated(ShareSession(1, "c"), 5) == ()
