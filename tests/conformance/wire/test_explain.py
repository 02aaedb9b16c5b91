"""Which states explain an answer, and the mismatch where none does."""

import attrs
import pytest

from conformance.wire.belief import Belief, appended, beginnings, possible
from conformance.wire.explain import WireDifference, explained
from conformance.wire.judge import Judge
from conformance.wire.target import BatchOrigin, Exchange
from conformance.wire.written import WrittenLog
from model.config import AutoOffsetReset
from model.errors import ErrorCode
from model.guards import Guard
from model.profile import KIP
from model.ranges import AcquiredRange, OffsetRange
from model.share_messages import PartitionResponse, ShareResponse
from tests.conformance.wire.worlds import CONFIG, P0, P1, PLACE, TIMING, answer, fetch

LOGS = {at: WrittenLog(0, 3, (OffsetRange(0, 2),)) for at in (P0, P1)}


def empty() -> Belief:
    belief = beginnings(KIP, PLACE.group, (PLACE.topic_id, PLACE.partitions), CONFIG)[0]
    for at, log in LOGS.items():
        belief = appended(belief, at, log.batches, log)
    (before,) = possible(belief, 0, 1)
    return before


def test_the_rest_of_a_log_batch_may_or_may_not_have_entered_the_window() -> None:
    response = answer((0, 0, 1)).response
    found, _ = explained(empty(), fetch("a", 0), response, "c", LOGS)
    assert [b.partitions["g", P0].window.end_offset for b in found] == [1, 3]


def test_a_broker_may_read_share_partitions_in_any_order() -> None:
    parts = tuple(PartitionResponse(at, acquired=(AcquiredRange(0, 2, 1),)) for at in (P1, P0))
    response = ShareResponse(partitions=parts)
    found, _ = explained(empty(), fetch("a", 0, max_records=4), response, "c", LOGS)
    assert len(found) == 2
    found, wrong = explained(empty(), fetch("a", 0, max_records=3), response, "c", LOGS)
    assert found == []
    assert (wrong.rule.name, wrong.about) == (WireDifference.ACQUIRED.name, "fetch")


def test_a_guard_gives_its_name_and_its_sentence() -> None:
    response = answer((3, 3, 1)).response
    _, wrong = explained(empty(), fetch("a", 0), response, "c", LOGS)
    assert wrong.rule.name == Guard.ONLY_READ_IS_ACQUIRED.name
    assert wrong.rule.value == Guard.ONLY_READ_IS_ACQUIRED.value
    assert wrong.observed == "partition 0 acquired 3 (1)"


def test_a_fetch_of_records_that_the_member_holds_has_its_own_name() -> None:
    first = answer((0, 0, 1)).response
    holding, _ = explained(empty(), fetch("a", 0), first, "c", LOGS)
    before = attrs.evolve(empty(), broker=holding[0])
    for member, about in (("a", "fetch of what the member holds"), ("b", "fetch")):
        _, wrong = explained(before, fetch(member, 0), first, "c", LOGS)
        assert (wrong.rule.name, wrong.about) == (Guard.ONLY_AVAILABLE_IS_ACQUIRED.name, about)
    _, wrong = explained(before, fetch("a", 0, max_records=0), first, "c", LOGS)
    assert (wrong.rule.name, wrong.about) == ("ACQUIRED", "fetch of what the member holds")


def test_an_error_of_the_session_is_named() -> None:
    refused = ShareResponse(ErrorCode.INVALID_REQUEST)
    _, wrong = explained(empty(), fetch("a", 0), refused, "c", LOGS)
    assert (wrong.rule.name, wrong.about) == ("SESSION_ERROR", "session answered INVALID_REQUEST")


def test_every_difference_has_a_sentence() -> None:
    assert all(len(kind.value) > 20 for kind in WireDifference)


OLD, YOUNG = OffsetRange(0, 1), OffsetRange(2, 2)


def named(made: Judge, epoch: int, said: Exchange) -> str | None:
    found = made.exchange(fetch("a", epoch), "a", said)
    return found.name if found else None


@pytest.mark.parametrize(
    ("reset", "said", "name"),
    [
        (AutoOffsetReset.EARLIEST, answer((0, 1, 1)), None),
        (AutoOffsetReset.LATEST, answer(), None),
        (AutoOffsetReset.LATEST, answer((2, 2, 1)), "ONLY_AVAILABLE_IS_ACQUIRED"),
        (AutoOffsetReset.BY_DURATION, answer((2, 2, 1)), None),
        (AutoOffsetReset.BY_DURATION, answer((1, 2, 1)), "ONLY_AVAILABLE_IS_ACQUIRED"),
    ],
)
def test_a_group_begins_where_its_configuration_says(
    reset: AutoOffsetReset, said: Exchange, name: str | None
) -> None:
    made = Judge(KIP, PLACE, attrs.evolve(CONFIG, auto_offset_reset=reset), TIMING)
    made.produced(0, [OLD], BatchOrigin.OLD)
    made.produced(0, [YOUNG])
    assert named(made, 0, said) == name


def test_a_group_begins_at_the_end_where_every_record_is_old() -> None:
    config = attrs.evolve(CONFIG, auto_offset_reset=AutoOffsetReset.BY_DURATION)
    made = Judge(KIP, PLACE, config, TIMING)
    made.produced(0, [OLD], BatchOrigin.OLD)
    parts = (PartitionResponse(P0, ErrorCode.UNKNOWN_SERVER_ERROR),)
    refused = Exchange(ShareResponse(partitions=parts), 0, 1)
    assert named(made, 0, refused) == "FETCH_ERROR"
    assert named(made, 0, answer()) is None
    made.produced(0, [YOUNG], BatchOrigin.OLD)
    assert named(made, 1, answer((2, 2, 1))) is None
