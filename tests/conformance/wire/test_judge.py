"""The judge allows every legal answer and names the rule that any other breaks."""

import attrs
import pytest

from conformance.wire.judge import MOST_BELIEFS, Judge
from conformance.wire.target import BatchOrigin, Described, Exchange
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.profile import KAFKA, KIP
from model.ranges import AcquiredRange, OffsetRange
from model.share_messages import PartitionResponse, ShareFetch, ShareRequest, ShareResponse
from model.states import AcquireMode
from tests.conformance.wire.worlds import (
    COMMITTED,
    CONFIG,
    P1,
    PLACE,
    TIMING,
    acknowledge,
    answer,
    fetch,
    judge,
)

NONE, REFUSED = ErrorCode.NONE, ErrorCode.INVALID_RECORD_STATE
ACCEPT, RELEASE, RENEW = 1, 2, 4
Asked = tuple[ShareRequest, Exchange]
OPENED: Asked = (fetch("a", 0), answer((0, 1, 1)))


def shown(made: Judge, *asked: Asked) -> str | None:
    """Return the name of the deviation that the last of these shows; the others show none."""
    for request, said in asked[:-1]:
        assert made.exchange(request, request.member_id, said) is None
    request, said = asked[-1]
    found = made.exchange(request, request.member_id, said)
    return found.name if found else None


def named(*asked: Asked, records: int = 3) -> str | None:
    made = judge(records)
    name = shown(made, *asked)
    assert not made.over
    return name


def opened() -> Judge:
    """Return a judge after member a acquired 0 and 1."""
    made = judge()
    assert shown(made, OPENED) is None
    return made


@pytest.mark.parametrize(
    "asked",
    [
        (fetch("a", 1), answer((2, 2, 1))),
        (fetch("a", 1), answer()),
        (fetch("a", 1, (0, 0, RELEASE)), answer((0, 0, 2), (2, 2, 1))),
        (fetch("b", 0), answer((2, 2, 1))),
        (acknowledge("a", 1, (0, 0, ACCEPT), (1, 1, RELEASE)), answer()),
        (acknowledge("a", 1, (1, 2, ACCEPT)), answer(refused=REFUSED)),
        (acknowledge("a", 1, (1, 2, ACCEPT)), answer(refused=ErrorCode.INVALID_REQUEST)),
        (acknowledge("a", -1, (0, 0, ACCEPT)), answer()),
        (acknowledge("a", 2), answer(error=ErrorCode.INVALID_SHARE_SESSION_EPOCH)),
        (fetch("b", 1), answer(error=ErrorCode.SHARE_SESSION_NOT_FOUND)),
    ],
    ids=str,
)
def test_a_legal_answer_is_no_deviation(asked: Asked) -> None:
    assert named(OPENED, asked) is None


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ((fetch("b", 0), answer((1, 2, 1))), "ONLY_AVAILABLE_IS_ACQUIRED"),
        ((fetch("a", 1), answer((2, 2, 2))), "DELIVERY_COUNT"),
        ((fetch("a", 1), answer((3, 3, 1))), "ONLY_LOGGED_IS_ACQUIRED"),
        ((fetch("a", 1), answer((2, 2, 1), read=None)), "ACQUIRED_IS_SENT"),
        ((fetch("a", 1), answer((2, 2, 1), (2, 2, 1))), "ONLY_AVAILABLE_IS_ACQUIRED"),
        ((acknowledge("a", 1, (0, 1, ACCEPT)), answer(refused=REFUSED)), "ACKNOWLEDGEMENT_JUDGED"),
        ((acknowledge("a", 1, (0, 1, 9)), answer()), "ACKNOWLEDGE_ERROR"),
        ((fetch("a", 1), answer((2, 2, 1), refused=REFUSED)), "ACKNOWLEDGE_ERROR"),
        ((acknowledge("a", 2), answer()), "SESSION_ERROR"),
        ((fetch("b", 1), answer((2, 2, 1))), "SESSION_ERROR"),
        ((acknowledge("a", 1, (0, 1, ACCEPT)), answer((2, 2, 1))), "ACQUIRED"),
    ],
    ids=str,
)
def test_an_illegal_answer_names_its_rule(asked: Asked, name: str) -> None:
    assert named(OPENED, asked) == name


def test_a_share_partition_that_does_not_answer_an_acknowledgement_is_named() -> None:
    silent = Exchange(ShareResponse(), 0, 1)
    assert named(OPENED, (acknowledge("a", 1, (0, 0, ACCEPT)), silent)) == "ACKNOWLEDGE_ERROR"


def test_an_error_of_a_fetch_is_named() -> None:
    wrong = PartitionResponse(P1, ErrorCode.UNKNOWN_TOPIC_ID)
    said = Exchange(ShareResponse(partitions=(wrong,)), 0, 1)
    assert named(OPENED, (fetch("a", 1), said)) == "FETCH_ERROR"


def test_a_wrong_lock_duration_is_named() -> None:
    right, wrong = (attrs.evolve(answer((2, 2, 1)), lock_timeout_ms=ms) for ms in (1000, 900))
    assert named(OPENED, (fetch("a", 1), right)) is None
    assert named(OPENED, (fetch("a", 1), wrong)) == "LOCK_TIMEOUT"


def test_a_window_past_its_limit_is_a_deviation() -> None:
    whole = fetch("a", 0), answer((0, 5, 1))
    assert shown(judge(6, KAFKA), whole) is None, "one log batch may cross it"
    assert named(whole, records=6) == "WITHIN_WINDOW_LIMIT"
    made = judge(records=4)
    made.produced(0, [OffsetRange(4, 5)])
    full = fetch("a", 0), answer((0, 3, 1))
    assert shown(made, full, (fetch("a", 1), answer((4, 5, 1)))) == "WITHIN_WINDOW_LIMIT"


def test_a_second_acknowledgement_may_be_ignored_or_refused() -> None:
    first = acknowledge("a", 1, (0, 0, ACCEPT)), answer()
    for refused in (NONE, REFUSED):
        again = acknowledge("a", 2, (0, 0, ACCEPT)), answer(refused=refused)
        assert named(OPENED, first, again) is None
    held = acknowledge("a", 2, (1, 1, ACCEPT)), answer(refused=REFUSED)
    assert named(OPENED, first, held) == "ACKNOWLEDGEMENT_JUDGED"


def late(member: str, epoch: int, at: float, **said: object) -> Asked:
    request = acknowledge(member, epoch, (0, 1, ACCEPT))
    return request, answer(at=at, **said)  # type: ignore[arg-type] # any


@pytest.mark.parametrize(
    ("at", "allowed"), [(990, {NONE}), (1200, {NONE, REFUSED}), (1502, {REFUSED})]
)
def test_a_lock_lasts_its_duration_and_ends_within_the_sweep_interval(
    at: float, allowed: set[ErrorCode]
) -> None:
    for refused in (NONE, REFUSED):
        expected = None if refused in allowed else "ACKNOWLEDGEMENT_JUDGED"
        assert named(OPENED, late("a", 1, at, refused=refused)) == expected


def test_an_impossible_answer_while_locks_are_undecided_is_not_judged() -> None:
    made = judge()
    other = fetch("b", 0), answer((2, 2, 1), at=10)
    refused = acknowledge("b", 1, (2, 2, ACCEPT)), answer(at=1200, refused=REFUSED)
    again = acknowledge("b", 1, (2, 2, ACCEPT)), answer(at=1210)
    assert shown(made, OPENED, other, refused, again) is None
    assert made.over


def test_a_renewed_lock_lasts_its_whole_duration() -> None:
    renewing = attrs.evolve(acknowledge("a", 1, (0, 1, RENEW)), is_renew_ack=True)
    renewed = renewing, answer(at=900)
    assert named(OPENED, renewed, late("a", 2, 1880)) is None
    early = late("a", 2, 1880, refused=REFUSED)
    assert named(OPENED, renewed, early) == "ACKNOWLEDGEMENT_JUDGED"


def test_deleted_records_are_not_delivered_even_if_the_leader_has_not_noticed() -> None:
    made = judge()
    made.deleted(0, 2)
    assert shown(made, (fetch("a", 0), answer((2, 2, 1)))) is None
    accept = acknowledge("a", 1, (1, 1, ACCEPT))
    allowed: list[Asked] = [(accept, answer(refused=refused)) for refused in (NONE, REFUSED)]
    gone: Asked = fetch("a", 1), answer((1, 2, 1))
    for asked in (*allowed, gone):
        made = judge()
        assert shown(made, (fetch("a", 0), answer((0, 0, 1)))) is None
        made.deleted(0, 2)
        assert shown(made, asked) == ("ONLY_LOGGED_IS_ACQUIRED" if asked is gone else None)


def test_a_broker_notices_a_closed_connection_by_a_deadline() -> None:
    for at, epoch, error in ((100, 1, NONE), (100, 1, ErrorCode.SHARE_SESSION_NOT_FOUND)):
        made = opened()
        made.disconnected("a", 1)
        said = answer(at=at, error=error)
        assert made.exchange(acknowledge("a", epoch, (0, 1, ACCEPT)), "a-1", said) is None
    made = opened()
    made.disconnected("a", 1)
    assert made.exchange(acknowledge("a", 1), "a-1", answer(at=2100)) is not None


def test_an_error_that_passes_ends_the_judgement() -> None:
    made = judge()
    said = answer(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert made.exchange(fetch("a", 0), "a", said) is None
    assert made.over


def test_too_many_beliefs_end_the_judgement() -> None:
    made = judge()
    beliefs = tuple(
        attrs.evolve(made.beliefs[0], broker=attrs.evolve(made.beliefs[0].broker, next_seq=n))
        for n in range(MOST_BELIEFS + 1)
    )
    made.beliefs = beliefs
    assert made.exchange(fetch("a", 0), "a", answer()) is None
    assert made.over


def told(start: int, lag: int | None, error: ErrorCode = NONE) -> Described:
    return Described(error, start, lag, 2, 3)


@pytest.mark.parametrize(
    ("start", "lag", "name"),
    [
        (0, 2, None),
        (1, 2, None),
        (1, None, None),
        (0, 3, "LAG"),
        (1, 1, "LAG"),
        (2, 2, "START_OFFSET"),
        (-1, None, "START_OFFSET"),
    ],
)
def test_start_offset_and_lag_are_those_in_memory_or_durable(
    start: int, lag: int | None, name: str | None
) -> None:
    made = opened()
    assert shown(made, (acknowledge("a", 1, (0, 0, ACCEPT)), answer())) is None
    found = made.described(0, told(start, lag))
    assert (found and found.name) == name


def test_a_start_offset_that_was_never_written_may_be_unknown() -> None:
    made = judge()
    for lag in (None, 0, 3):
        assert made.described(0, told(-1, lag)) is None
    assert made.described(0, told(-1, 4)) is not None
    assert made.described(0, told(0, 3)) is None
    assert made.described(0, told(0, 2)) is not None


def test_an_error_and_a_leader_epoch_of_the_future_are_no_description() -> None:
    made, right = judge(), told(0, 3)
    wrong = {
        "DESCRIBED": attrs.evolve(right, error=ErrorCode.UNKNOWN_SERVER_ERROR),
        "LEADER_EPOCH": attrs.evolve(right, leader_epoch=99, led=0),
    }
    for name, description in wrong.items():
        found = made.described(0, description)
        assert (found and found.name) == name
    for epochs in ((-1, 0), (0, 0), (99, -1)):
        assert made.described(0, attrs.evolve(right, leader_epoch=epochs[0], led=epochs[1])) is None


def test_a_record_with_other_contents_is_named_if_it_is_acquired() -> None:
    right = answer((2, 2, 1))
    place = right.response.partitions[0].topic_partition
    wrong, other = (attrs.evolve(right, altered=((place, (offset,)),)) for offset in (2, 3))
    assert named(OPENED, (fetch("a", 1), wrong)) == "SENT_AS_WRITTEN"
    assert named(OPENED, (fetch("a", 1), other)) is None


def test_fetches_that_get_nothing_wait_now_and_then() -> None:
    made = judge()
    assert made.exchange(fetch("a", 0), "a", answer((0, 2, 1))) is None
    asked = attrs.evolve(fetch("a", 1), max_wait_ms=50)
    late = attrs.evolve(answer(), received_ms=answer().sent_ms + 40)
    found = [made.hasty(asked, each) for each in (*[answer()] * 5, late, *[answer()] * 6)]
    assert [each and each.name for each in found] == [None] * 11 + ["FETCH_WAITS"]


def test_a_fetch_that_gets_nothing_although_records_are_available_is_starved() -> None:
    made = judge()
    request, nothing = fetch("a", 0), answer()
    made.exchange(request, "a", nothing)
    found = made.starved(request, nothing)
    assert found is not None
    assert found.name == "AVAILABLE_RECORDS_ARE_DELIVERED"
    assert found.expected == "offset 0 of partition 0, or another"
    assert made.starved(request, answer((0, 0, 1))) is None
    renewing: ShareFetch = attrs.evolve(request, is_renew_ack=True)
    assert made.starved(renewing, nothing) is None
    made.exchange(fetch("a", 1), "a", answer((0, 2, 1)))
    assert made.starved(fetch("a", 2), nothing) is None


def test_a_full_window_gives_nothing() -> None:
    made = judge(records=4)
    made.produced(0, [OffsetRange(4, 5)])
    made.exchange(fetch("a", 0), "a", answer((0, 3, 1)))
    assert made.starved(fetch("a", 1), answer()) is None


@pytest.mark.parametrize("end", [1, 2, 3])
def test_the_rest_of_a_batch_may_or_may_not_be_in_the_window(end: int) -> None:
    made = judge(records=3, profile=KAFKA)
    made.exchange(fetch("a", 0), "a", answer((0, 0, 1)))
    said = answer(refused=REFUSED if end > 1 else ErrorCode.INVALID_REQUEST)
    assert made.exchange(acknowledge("a", 1, (1, 2, ACCEPT)), "a", said) is None


def test_the_judge_reports_undecided_locks_and_states() -> None:
    assert judge().settled() == 0
    made = opened()
    assert made.settled() == 1501
    assert made.undecided(900, 950) == 0
    assert made.undecided(900, 1100) == 1501
    assert "0–1 ACQUIRED(1) a" in made.state_text()
    assert made.partition(0).window.end_offset == 2
    assert isinstance(made.partition(1).window.end_offset, int)


def test_a_share_partition_is_answered_and_a_log_batch_sent_once() -> None:
    once = answer((0, 1, 1))
    twice = attrs.evolve(once, response=ShareResponse(partitions=once.response.partitions * 2))
    assert named((fetch("a", 0), twice)) == "ANSWERED_ONCE"
    ((at, ranges),) = once.read
    twice = attrs.evolve(once, read=((at, ranges * 2),))
    assert named((fetch("a", 0), twice)) == "SENT_ONCE"


WIDE = attrs.evolve(COMMITTED, partition_max_record_locks=20)


def with_aborted(aborted: int, committed: int = 2, config: SharePartitionConfig = WIDE) -> Judge:
    """Return a judge of a log with a batch that is aborted, its marker and one that is not."""
    made = Judge(KIP, PLACE, config, TIMING)
    made.produced(0, [OffsetRange(0, aborted - 1)], BatchOrigin.ABORTED)
    if committed:
        made.produced(0, [OffsetRange(aborted + 1, aborted + committed)])
    return made


def test_data_of_aborted_transactions_is_delivered_under_read_uncommitted_only() -> None:
    said = answer((0, 2, 1))
    assert with_aborted(3, config=CONFIG).exchange(fetch("a", 0), "a", said) is None
    found = with_aborted(3).exchange(fetch("a", 0), "a", said)
    assert found is not None
    assert (found.name, found.recorded) == ("COMMITTED_IS_DELIVERED", "0–2 (1)")
    assert found.expected == "nothing of 0–2"


def with_open(config: SharePartitionConfig = WIDE) -> Judge:
    """Return a judge of a log with a record, two of an open transaction, and one of none."""
    made = Judge(KIP, PLACE, config, TIMING)
    made.produced(0, [OffsetRange(0, 0)])
    made.produced(0, [OffsetRange(1, 2)], BatchOrigin.OPEN)
    made.produced(0, [OffsetRange(3, 3)])
    return made


@pytest.mark.parametrize("last", [1, 3])
def test_from_an_open_transaction_on_nothing_is_delivered_under_read_committed_only(
    last: int,
) -> None:
    said = answer((0, 0, 1), (last, last, 1))
    assert with_open(CONFIG).exchange(fetch("a", 0), "a", said) is None
    assert with_open().exchange(fetch("a", 0), "a", answer((0, 0, 1))) is None
    found = with_open().exchange(fetch("a", 0), "a", said)
    assert found is not None
    assert (found.name, found.expected) == (
        "STABLE_IS_DELIVERED",
        "offsets below the last stable offset, which is 1",
    )


@pytest.mark.parametrize(
    ("committed", "given", "name"),
    [
        (True, (1, 4, 1), None),
        (False, (3, 4, 1), None),
        (False, (1, 4, 1), "COMMITTED_IS_DELIVERED"),
    ],
)
def test_a_transaction_that_ended_is_delivered_if_it_committed(
    *, committed: bool, given: tuple[int, int, int], name: str | None
) -> None:
    made, nothing = with_open(), answer()
    assert made.exchange(fetch("a", 0), "a", answer((0, 0, 1))) is None
    assert made.exchange(fetch("a", 1), "a", nothing) is None
    assert made.starved(fetch("a", 1), nothing) is None
    made.ended(0, committed=committed)
    starved = made.starved(fetch("a", 2), nothing)
    assert starved is not None
    assert starved.expected == f"offset {1 if committed else 3} of partition 0, or another"
    assert shown(made, (fetch("a", 2), answer(given))) == name


def test_records_kept_back_leave_the_lag_and_cannot_be_acknowledged() -> None:
    made = with_aborted(3)
    assert (made.kept_back(500), made.kept_back(2), made.kept_back(0)) == (1, 2, 3)
    assert made.exchange(fetch("a", 0), "a", answer((4, 5, 1))) is None
    assert (made.kept_back(1), judge().kept_back(1)) == (3, 0)
    assert made.exchange(acknowledge("a", 1, (4, 4, ACCEPT)), "a", answer()) is None
    for lag, name in ((0, "LAG"), (4, "LAG"), (1, None)):
        found = made.described(0, told(5, lag))
        assert (found and found.name) == name
    held = with_aborted(3)
    held.exchange(fetch("a", 0), "a", answer((4, 5, 1)))
    found = held.exchange(acknowledge("a", 1, (4, 5, ACCEPT)), "a", answer(refused=REFUSED))
    assert found is not None


@pytest.mark.parametrize(("most", "name"), [(5, None), (2, None), (1, "WITHIN_RECORD_LIMIT")])
def test_records_kept_back_may_or_may_not_count_towards_the_maximum(
    most: int, name: str | None
) -> None:
    made, mode = with_aborted(3), AcquireMode.RECORD_LIMIT
    request: ShareFetch = attrs.evolve(fetch("a", 0), max_records=most, acquire_mode=mode)
    assert shown(made, (request, answer((4, 5, 1)))) == name


def test_a_reported_start_offset_may_wait_before_records_kept_back() -> None:
    for start, name in ((0, None), (4, "START_OFFSET")):
        made = with_aborted(2, 0)
        made.exchange(fetch("a", 0), "a", answer((2, 2, 1)))
        made.exchange(acknowledge("a", 1, (2, 2, RELEASE)), "a", answer())
        found = made.described(0, told(start, 1))
        assert (found and found.name) == name
    made.deleted(0, 1)
    assert made.described(0, told(0, 1)) is None


@pytest.mark.parametrize("ends", [True, False])
def test_a_leader_that_begins_anew_may_do_so_before_records_kept_back(
    ends: bool,  # noqa: FBT001 - a parameter
) -> None:
    """What it passed over need not be durable: an acknowledged record follows it."""
    made = with_aborted(2, 0)
    made.exchange(fetch("a", 0), "a", answer((2, 2, 1)))
    assert made.exchange(acknowledge("a", 1, (2, 2, ACCEPT)), "a", answer()) is None
    made.produced(0, [OffsetRange(4, 4)])
    epoch = 2
    if ends:
        assert made.exchange(fetch("a", -1), "a", answer()) is None
        epoch = 0
    assert made.exchange(fetch("a", epoch), "a", answer((4, 4, 1))) is None
    assert made.exchange(acknowledge("a", epoch + 1, (4, 4, ACCEPT)), "a", answer()) is None
    found = made.described(0, told(0, 0))
    assert (found and found.name) == (None if ends else "START_OFFSET")


def test_a_later_answer_shows_whether_an_empty_fetch_kept_records_back() -> None:
    made = with_aborted(2, 0)
    made.exchange(fetch("a", 0), "a", answer())
    texts = {made.state_text(belief) for belief in made.beliefs}
    assert any("start 2" in text for text in texts)
    assert any("start 0" in text for text in texts)
    assert made.described(0, told(0, 3)) is None
    assert {made.state_text(belief) for belief in made.beliefs} < texts
    assert made.starved(fetch("a", 1), answer()) is None


def test_a_window_that_is_full_of_aborted_records_does_not_stop_a_share_partition() -> None:
    made, nothing = with_aborted(4, config=COMMITTED), answer()
    for epoch in range(3):
        assert made.exchange(fetch("a", epoch), "a", nothing) is None
    found = made.starved(fetch("a", 3), nothing)
    assert found is not None
    assert found.name == "AVAILABLE_RECORDS_ARE_DELIVERED"
    assert found.expected == "offset 5 of partition 0, or another"


@pytest.mark.parametrize(("held", "name"), [(False, None), (True, "WITHIN_WINDOW_LIMIT")])
def test_aborted_records_at_the_start_of_the_window_need_no_room_in_it(
    *, held: bool, name: str | None
) -> None:
    made, batches = Judge(KIP, PLACE, COMMITTED, TIMING), [OffsetRange(1, 3), OffsetRange(4, 5)]
    made.produced(0, [OffsetRange(0, 0)])
    assert made.exchange(fetch("a", 0), "a", answer((0, 0, 1))) is None
    if not held:
        assert made.exchange(acknowledge("a", 1, (0, 0, ACCEPT)), "a", answer()) is None
    made.produced(0, batches, BatchOrigin.ABORTED)
    epoch, strict = 1 if held else 2, AcquireMode.RECORD_LIMIT
    request: ShareFetch = attrs.evolve(fetch("a", epoch), acquire_mode=strict)
    assert shown(made, (request, answer((6, 6, 1)))) == name


def test_an_answer_to_a_whole_request_is_no_acceptance() -> None:
    said = answer(error=ErrorCode.UNKNOWN_SERVER_ERROR)
    assert named(OPENED, (acknowledge("a", 1, (7, 8, ACCEPT)), said)) == "SESSION_ERROR"
    found = opened().exchange(acknowledge("a", 1, (7, 8, ACCEPT)), "a", answer())
    assert found is not None
    assert (found.name, found.operation) == (
        "ACKNOWLEDGED_WAS_DELIVERED",
        "acknowledge answered NONE",
    )


def test_a_share_partition_that_kept_everything_back_may_be_read_first_or_last() -> None:
    made = with_aborted(2, 0)
    made.produced(1, [OffsetRange(0, 0)])
    parts = (PartitionResponse(P1, acquired=(AcquiredRange(0, 0, 1),)),)
    said = Exchange(ShareResponse(partitions=parts), 0, 1, ((P1, (OffsetRange(0, 0),)),))
    request: ShareFetch = attrs.evolve(fetch("a", 0), max_records=1)
    assert made.exchange(request, "a", said) is None
    starts = [belief.broker.partitions[made.key(0)].window.start_offset for belief in made.beliefs]
    assert sorted(set(starts)) == [0, 1, 2]
