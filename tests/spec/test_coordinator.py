from collections.abc import Iterable
from functools import reduce

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from model.outcome import Write
from model.profile import KAFKA, KAFKA_4_4, KIP, LAG_RESOLVED, Profile
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.state_topic import ShareSnapshot, ShareUpdate
from model.states import RecordState
from spec.coordinator import (
    Durable,
    counted,
    durable_state,
    initialize_durable,
    merge,
    merge_start,
    replay_record,
    snapshot_record,
    update_record,
)
from spec.lag import durable_lag
from tests.spec.worlds import BOTH
from tests.strategies import STATE_BATCHES

AVAILABLE, ACKNOWLEDGED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
ARCHIVED = RecordState.ARCHIVED
NUMBERS = st.integers(0, 12)


def request(start: int, complete: int, *batches: StateBatch) -> Write:
    return Write(0, start, complete, batches)


def replay(records: Iterable[ShareSnapshot | ShareUpdate], profile: Profile) -> Durable:
    return reduce(lambda durable, each: replay_record(durable, each, profile), records, Durable())


STARTED_WRITES = st.builds(lambda *numbers, given: request(*numbers, *given),
                           NUMBERS, NUMBERS, given=STATE_BATCHES)  # fmt: skip
ANY_WRITES = st.builds(lambda *numbers, given: request(*numbers, *given),
                       st.integers(-1, 12), NUMBERS, given=STATE_BATCHES)  # fmt: skip
DURABLES = st.lists(STARTED_WRITES, max_size=3).map(
    lambda writes: merged(Durable(0, 0), writes, KIP)
)


def merged(durable: Durable, writes: list[Write], profile: Profile) -> Durable:
    for each in writes:
        durable = merge(durable, each, profile)
    return durable


@BOTH
@given(DURABLES, STARTED_WRITES, STARTED_WRITES)
def test_writes_may_be_repeated_and_reordered(
    profile: Profile, durable: Durable, one: Write, other: Write
) -> None:
    expected = merged(durable, [one, other], profile)
    assert merged(durable, [other, one], profile) == expected
    assert merged(durable, [one, other, one, other], profile) == expected


@pytest.mark.parametrize(
    ("profile", "count", "expected"),
    [
        (KIP, 7, (110, 7)),
        (KIP, 2, (110, 3)),
        (KAFKA, 7, (110, 7)),
        (KAFKA_4_4, 7, (110, 3)),
        (KAFKA_4_4, 2, (110, 3)),
    ],
)
def test_a_write_that_keeps_the_start_offset_loses_its_count_under_kafka_4_4(
    profile: Profile, count: int, expected: tuple[int, int]
) -> None:
    assert merge_start((110, 3), (-1, count), profile) == expected


def test_a_write_without_a_count_leaves_none_that_passes_for_known() -> None:
    entries = dict.fromkeys((6, 7, 8), (RecordState.ACKNOWLEDGED, 1))
    before = Durable(5, 3, Map(entries))
    accepted = (StateBatch(9, 10, RecordState.ACKNOWLEDGED, 1),)
    for start in (5, -1):
        after = merge(before, Write(0, start, -1, accepted), KIP)
        assert (after.start_offset, after.delivery_complete_count) == (5, -1)
        assert durable_lag(14, durable_state(after)) is None, "4 are unfinished, not 6"
    known = merge(after, Write(0, 5, 5, ()), KIP)
    assert durable_lag(14, durable_state(known)) == 4


@BOTH
def test_an_update_has_the_start_offset_and_the_delivery_complete_count(profile: Profile) -> None:
    before = Durable(4, 1, snapshot_epoch=1)
    batches = (StateBatch(2, 6, AVAILABLE, 1), StateBatch(5, 5, ACKNOWLEDGED, 1))
    after = merge(before, request(-1, 0, *batches), profile)
    update, _ = update_record(before, after, batches)
    assert (update.start_offset, update.delivery_complete_count) == (4, 1)
    assert update.state_batches == (
        StateBatch(4, 4, AVAILABLE, 1),
        StateBatch(5, 5, ACKNOWLEDGED, 1),
        StateBatch(6, 6, AVAILABLE, 1),
    )


@BOTH
@given(st.lists(st.tuples(ANY_WRITES, st.booleans(), st.booleans()), max_size=8))
def test_the_records_of_the_topic_replay_to_the_state_in_memory(
    profile: Profile, writes: list[tuple[Write, bool, bool]]
) -> None:
    durable = initialize_durable(Durable(), 2, 1)
    records: list[ShareSnapshot | ShareUpdate] = [
        ShareSnapshot(durable.snapshot_epoch, durable_state(durable))
    ]
    for given_write, elected, snapshot in writes:
        durable = attrs.evolve(durable, leader_epoch=durable.leader_epoch + elected)
        after = merge(durable, given_write, profile)
        record: ShareSnapshot | ShareUpdate
        if snapshot:
            record, durable = snapshot_record(durable, after)
        else:
            record, durable = update_record(durable, after, given_write.state_batches)
        records.append(record)
    assert replay(records, profile) == durable


def test_updates_of_before_a_snapshot_are_passed_over() -> None:
    late = ShareUpdate(0, 0, 9, 9, (StateBatch(20, 20, ARCHIVED, 1),))
    snapshot = ShareSnapshot(1, DurableState(3, 1))
    assert replay([snapshot, late], KIP) == replay([late, snapshot], KIP) == replay([snapshot], KIP)
    assert replay([], KIP) == Durable()


def test_a_coordinator_that_counts_uses_what_it_holds_and_no_count_that_is_written() -> None:
    batches = (
        StateBatch(0, 3, ACKNOWLEDGED, 1),
        StateBatch(4, 4, ARCHIVED, 1),
        StateBatch(5, 6, RecordState.ARCHIVING, 1),
        StateBatch(7, 9, AVAILABLE, 1),
    )
    durable = merge(Durable(0, 0), request(0, 8, *batches), LAG_RESOLVED)
    assert durable.delivery_complete_count == 5
    assert merge(durable, request(4, 9), LAG_RESOLVED).delivery_complete_count == 1
    assert merge(durable, request(-1, 9), LAG_RESOLVED).delivery_complete_count == 5
    assert counted(Durable(), LAG_RESOLVED) == Durable()
    assert counted(durable, KIP) is durable
