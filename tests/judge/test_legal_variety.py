"""Legal behaviour that differs from this project's: both sides of a replay accept it."""

import pytest

from model.guards import Difference, Guard
from model.profile import KAFKA, KIP, Profile
from tests.impl.both_sides import found
from tests.impl.by_hand import (
    Row,
    acknowledged,
    acquired,
    after,
    configured,
    fetched,
    produced,
    spans,
    story,
    told,
    wrote,
)

BOTH = pytest.mark.parametrize("profile", [KIP, KAFKA], ids=lambda profile: profile.name)


HELD = [
    {**produced((0, 4)), "after": after(0, 0)},
    {
        **fetched((0, 4)),
        "result": acquired((0, 4, 1)),
        "after": told((0, 4, "ACQUIRED", 1, "m"), end=5),
    },
]


@BOTH
@pytest.mark.parametrize("status", ["INVALID_REQUEST", "INVALID_RECORD_STATE"])
def test_overlapping_batches_are_refused_with_either_error(profile: Profile, status: str) -> None:
    answer = acknowledged(status, (0, 2, 1), (2, 3, 1))
    assert found(story(*HELD, {**answer, "after": HELD[1]["after"]}), profile) is None


@BOTH
@pytest.mark.parametrize("status", ["INVALID_REQUEST", "INVALID_RECORD_STATE"])
def test_a_renewal_that_is_not_enabled_is_refused_with_either_error(
    profile: Profile, status: str
) -> None:
    answer = {**acknowledged(status, (0, 0, 4)), "after": HELD[1]["after"]}
    rows = story(*HELD, answer)
    assert found(configured(rows, renew_acknowledge_enable=False), profile) is None
    if status == "INVALID_REQUEST":
        refused = (3, Guard.ACKNOWLEDGEMENT_JUDGED, None)
        assert found(configured(rows, renew_acknowledge_enable=True), profile) == refused


@BOTH
@pytest.mark.parametrize("mode", ["record_limit", "batch_optimized"])
def test_the_window_may_end_where_the_read_ended(profile: Profile, mode: str) -> None:
    limited = {**fetched((0, 4), (5, 6)), "acquire_mode": mode, "max_fetch_records": 2}
    for records in (
        [(0, 1, "ACQUIRED", 1, "m")],
        [(0, 1, "ACQUIRED", 1, "m"), (2, 6, "AVAILABLE", 0, None)],
    ):
        fetch = {**limited, "result": acquired((0, 1, 1)), "after": told(*records, end=7)}
        produce = {**produced((0, 4), (5, 6)), "after": after(0, 0)}
        assert found(story(produce, fetch), profile) is None
        assert found(configured(story(produce, fetch), partition_max_record_locks=4), KIP) == (
            2,
            Guard.WITHIN_WINDOW_LIMIT,
            6,
        )


LOG = {**produced((0, 1), (2, 3), (4, 6)), "after": after(0, 0)}
ALL = {
    **fetched((0, 1), (2, 3), (4, 6)),
    "result": acquired((0, 6, 1)),
    "after": told((0, 6, "ACQUIRED", 1, "m"), end=7),
}
RELEASED = {
    "op": "release",
    "member": "m",
    "after": told((0, 6, "AVAILABLE", 1, None), end=7),
    "writes": wrote("NONE", 0, 0, (0, 6, 0, 1)),
}
COMPACTED = {"op": "compact", "ranges": spans((2, 3)), "after": RELEASED["after"]}
NOTICED = ((0, 1, "AVAILABLE", 1, None), (2, 3, "ARCHIVED", 1, None), (4, 6, "AVAILABLE", 1, None))
TAKEN = {**fetched((0, 1), (4, 6)), "max_fetch_records": 2, "result": acquired((0, 1, 2))}
GONE = (0, 1, "ACQUIRED", 2, "m")


@BOTH
def test_compaction_may_be_noticed_at_once(profile: Profile) -> None:
    at_once = {**COMPACTED, "after": told(*NOTICED, end=7, complete=2)}
    after_it = told(GONE, *NOTICED[1:], end=7, complete=2)
    assert found(story(LOG, ALL, RELEASED, at_once, {**TAKEN, "after": after_it}), profile) is None
    still_there = {**at_once, "ranges": spans((2, 2))}
    assert found(story(LOG, ALL, RELEASED, still_there), profile) == (
        4,
        Difference.DELIVERY_COMPLETE_COUNT,
        None,
    )


@BOTH
def test_compaction_may_be_noticed_by_a_read_around_it_or_a_later_one(profile: Profile) -> None:
    passing = {**TAKEN, "after": told(GONE, (2, 6, "AVAILABLE", 1, None), end=7)}
    noticing = {**TAKEN, "after": told(GONE, *NOTICED[1:], end=7, complete=2)}
    assert found(story(LOG, ALL, RELEASED, COMPACTED, noticing), profile) is None
    later = {**fetched((4, 6)), "fetch_offset": 4, "result": acquired((4, 6, 2))}
    later["after"] = told(GONE, NOTICED[1], (4, 6, "ACQUIRED", 2, "m"), end=7, complete=2)
    assert found(story(LOG, ALL, RELEASED, COMPACTED, passing, later), profile) is None
    never = {**fetched((4, 6)), "fetch_offset": 2, "result": acquired()}
    never["after"] = passing["after"]
    rows = story(LOG, ALL, RELEASED, COMPACTED, passing, *[never] * (profile.offered_within + 1))
    assert found(rows, profile) == (len(rows) - 1, Guard.RECORD_IS_OFFERED, 2)


ENDED = {"op": "advance_time", "ms": 1000, "time_ms": 1000}
COMMITTED = {"isolation_level": "read_committed"}


@BOTH
@pytest.mark.parametrize("count", [0, 1])
def test_what_was_aborted_need_not_be_acquired_nor_counted(profile: Profile, count: int) -> None:
    """Two of seven records are committed, and two were asked for."""
    fetch = {
        **ALL,
        "max_fetch_records": 2,
        "acquire_mode": "record_limit",
        "result": acquired((4, 5, 1)),
    }
    fetch["after"] = told((0, 3, "AVAILABLE", 0, None), (4, 5, "ACQUIRED", 1, "m"), end=6)
    archived: Row = {"op": "archive_aborted", "ranges": spans((0, 1), (2, 3))}
    archived["after"] = told(
        (0, 3, "ARCHIVED", count, None), (4, 5, "ACQUIRED", 1, "m"), end=6, complete=4
    )
    rows = configured(story(LOG, fetch, archived), **COMMITTED)
    assert found(rows, profile) is None
    passed = {**archived, "after": told((4, 5, "ACQUIRED", 1, "m"), start=4, end=6)}
    assert found(configured(story(LOG, fetch, passed), **COMMITTED), profile) is None
    twice = {
        **archived,
        "after": told((0, 3, "ARCHIVED", 2, None), (4, 5, "ACQUIRED", 1, "m"), end=6, complete=4),
    }
    assert found(configured(story(LOG, fetch, twice), **COMMITTED), profile) == (
        3,
        Difference.RECORDS,
        0,
    )
    committed = {**archived, "ranges": spans((0, 1))}
    wrong = found(configured(story(LOG, fetch, committed), **COMMITTED), profile)
    assert wrong == (3, Difference.DELIVERY_COMPLETE_COUNT, None)


@BOTH
@pytest.mark.parametrize("answer", ["FENCED_STATE_EPOCH", "NONE", "COORDINATOR_NOT_AVAILABLE"])
def test_the_answer_to_a_write_may_come_after_a_reset(profile: Profile, answer: str) -> None:
    expired = {
        **ENDED,
        "writes": wrote("PENDING", 0, 0, (0, 4, 0, 1), id_=7),
        "after": told((0, 4, "AVAILABLE", 1, None), end=5),
    }
    reset = {"op": "reset_offset", "start_offset": 2, "time_ms": 1000}
    reset["after"] = told(start=2, end=2)
    late = {"op": "complete_write", "id": 7, "time_ms": 1000, "result": {"status": answer}}
    late["after"] = reset["after"]
    assert found(story(*HELD, expired, reset, late), profile) is None
    assert found(story(*HELD, expired, reset, late, late), profile) == (
        6,
        Guard.WRITE_IS_OUTSTANDING,
        None,
    )


def kept_back(row: Row) -> Row:
    """Return a state in which the last record is pending."""
    *others, last = row["records"]
    return {**row, "records": [*others, {**last, "pending": True}]}


ACCEPTED = {
    **acknowledged("NONE", (0, 0, 1)),
    "writes": wrote("NONE", 0, 1, (0, 0, 2, 1)),
    "after": told((0, 0, "ACKNOWLEDGED", 1, None), (1, 4, "ACQUIRED", 1, "m"), end=5, complete=1),
}
EXPIRED = told((0, 0, "ACKNOWLEDGED", 1, None), (1, 4, "AVAILABLE", 1, None), end=5, complete=1)


@BOTH
def test_a_write_that_repeats_other_records_may_keep_its_own_back(profile: Profile) -> None:
    writes = wrote("PENDING", 0, 1, (0, 0, 2, 1), (1, 4, 0, 1), id_=1)
    waits = {**ENDED, "writes": writes, "after": kept_back(EXPIRED)}
    assert found(story(*HELD, ACCEPTED, waits), profile) is None
    answered = {**waits, "writes": [{**writes[0], "status": "NONE"}]}
    wrong = (4, Difference.RECORDS, 1)
    assert found(story(*HELD, ACCEPTED, answered), profile) == wrong


@BOTH
def test_a_write_may_keep_back_what_its_start_offset_passes(profile: Profile) -> None:
    waits = {
        **ENDED,
        "writes": wrote("PENDING", 5, 0, id_=1),
        "after": kept_back(told((0, 4, "ARCHIVED", 1, None), end=5, complete=5)),
    }
    rows = configured(story(*HELD, waits), delivery_count_limit=1)
    assert found(rows, profile) is None
    short = [*rows[:-1], {**rows[-1], "writes": wrote("PENDING", 4, 1, id_=1)}]
    assert found(short, profile) == (3, Guard.LOCK_ENDS_ON_TIME, 4)


@BOTH
def test_a_write_of_an_expiry_may_be_ahead_of_the_start_offset(profile: Profile) -> None:
    ahead = {**ENDED, "writes": wrote("PENDING", 1, 0, (1, 4, 0, 1), id_=1), "after": EXPIRED}
    assert found(story(*HELD, ACCEPTED, ahead), profile) is None
    further = {**ahead, "writes": wrote("PENDING", 2, 0, (2, 4, 0, 1), id_=1)}
    assert found(story(*HELD, ACCEPTED, further), profile) == (4, Difference.WRITTEN_STATE, 1)
