from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from model.checks import MAX_RANGE
from model.profile import Profile
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    StateRequest,
    WriteState,
)
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from model.states import RecordState
from operations.state_topic import OffsetAllowance, ReadStates, broken_rules
from spec.share_coordinator import ShareCoordinator, serve
from tests.spec.worlds import BOTH
from tests.strategies import STATE_BATCHES

KEY = SharePartitionKey("g", UUID(int=1), 0)
ACKNOWLEDGED = RecordState.ACKNOWLEDGED
BATCH = StateBatch(5, 6, ACKNOWLEDGED, 1)
STATE = DurableState(5, 3, (BATCH,), 2, 7)
FIRST = StateRecord(KEY, ShareSnapshot(4, STATE))
UPDATE = ShareUpdate(4, 7, 5, 3, ())

REQUESTS = st.lists(
    st.builds(InitializeState, st.just(KEY), st.integers(1, 3), st.integers(-1, 5))
    | st.builds(ReadState, st.just(KEY), st.integers(0, 3))
    | st.builds(
        WriteState,
        st.just(KEY),
        st.integers(1, 3),
        st.integers(0, 3),
        st.integers(-1, 9),
        st.integers(-1, 9),
        STATE_BATCHES,
    )
    | st.just(DeleteState(KEY)),
    max_size=12,
)


@BOTH
@given(REQUESTS)
def test_records_that_the_specification_writes_break_no_rule(
    profile: Profile, requests: list[StateRequest]
) -> None:
    once = attrs.evolve(profile, defect_repeated_initialize_discards_state=False)
    coordinator = ShareCoordinator(once, Map({KEY.topic_id: 1}), updates_per_snapshot=2)
    topic, written = ReadStates(), 0
    for request in requests:
        reply = serve(coordinator, request, 0)
        coordinator = reply.coordinator
        if reply.record is not None:
            written += 1
            assert topic.take(reply.record) == []
    held = {key: each.durable for key, each in topic.held.items()}
    assert held == {key: each.durable for key, each in coordinator.held.items()}
    assert topic.records == written


@pytest.mark.parametrize(
    ("value", "broken"),
    [
        (UPDATE, []),
        (None, []),
        (attrs.evolve(UPDATE, start_offset=-1), []),
        (attrs.evolve(UPDATE, start_offset=6, delivery_complete_count=0), []),
        (attrs.evolve(UPDATE, start_offset=4), ["the start offset goes back from 5 to 4"]),
        (
            attrs.evolve(UPDATE, delivery_complete_count=2),
            ["the delivery complete count goes back from 3 to 2"],
        ),
        (attrs.evolve(UPDATE, leader_epoch=6), ["the leader epoch goes back from 7 to 6"]),
        (
            attrs.evolve(UPDATE, snapshot_epoch=5),
            ["the update has snapshot epoch 5, but the latest snapshot has 4"],
        ),
        (
            attrs.evolve(
                UPDATE,
                start_offset=7,
                state_batches=(
                    StateBatch(6, 8, ACKNOWLEDGED, 1),
                    StateBatch(8, 8, ACKNOWLEDGED, 2),
                ),
            ),
            [
                "6–8 ACKNOWLEDGED(1) is below the start offset 7",
                "8 ACKNOWLEDGED(2) comes after offset 8",
            ],
        ),
        (ShareSnapshot(5, STATE), []),
        (ShareSnapshot(5, DurableState(0, 0, (), 3, 0)), []),
        (
            ShareSnapshot(5, attrs.evolve(STATE, state_epoch=3)),
            [
                "the state epoch rises from 2 to 3, and 5–6 ACKNOWLEDGED(1) is kept",
                "the state epoch rises from 2 to 3, and the delivery complete count is 3",
            ],
        ),
        (
            ShareSnapshot(6, attrs.evolve(STATE, state_epoch=3)),
            ["the snapshot epoch is 6 after 4, not the next one"],
        ),
        (ShareSnapshot(5, DurableState(7, 0, (), 2, 7)), []),
        (ShareSnapshot(4, STATE), ["the snapshot epoch is 4 after 4, not the next one"]),
        (ShareSnapshot(7, STATE), ["the snapshot epoch is 7 after 4, not the next one"]),
        (
            ShareSnapshot(5, attrs.evolve(STATE, state_epoch=1)),
            ["the state epoch goes back from 2 to 1"],
        ),
        (
            ShareSnapshot(5, DurableState(0, 0, (), 2, 0)),
            [
                "the leader epoch goes back from 7 to 0",
                "the start offset goes back from 5 to 0",
                "offset 5, ACKNOWLEDGED(1), is forgotten or goes back",
            ],
        ),
        (
            ShareSnapshot(5, attrs.evolve(STATE, state_batches=(attrs.evolve(BATCH, last=5),))),
            ["offset 6, ACKNOWLEDGED(1), is forgotten or goes back"],
        ),
    ],
)
def test_each_rule_that_a_record_breaks_is_reported(
    value: ShareSnapshot | ShareUpdate | None, broken: list[str]
) -> None:
    topic = ReadStates()
    assert topic.take(FIRST) == []
    assert list(broken_rules(topic.held[KEY], StateRecord(KEY, value))) == broken
    assert topic.take(StateRecord(KEY, value)) == broken


def test_an_update_needs_a_snapshot_before_it() -> None:
    topic = ReadStates()
    assert topic.take(StateRecord(KEY, UPDATE)) == ["an update comes before any snapshot"]
    assert topic.take(StateRecord(KEY, UPDATE)) == []
    assert topic.take(StateRecord(KEY, None)) == []
    assert topic.held == {}
    assert topic.take(StateRecord(KEY, UPDATE)) == ["an update comes before any snapshot"]


def test_a_partition_is_not_negative() -> None:
    key = attrs.evolve(KEY, partition=-1)
    assert list(broken_rules(None, StateRecord(key, None))) == ["the partition is -1"]


def test_a_record_too_large_for_memory_is_skipped() -> None:
    topic = ReadStates()
    topic.take(FIRST)
    far = StateBatch(10, 9 + MAX_RANGE, ACKNOWLEDGED, 1)
    record = StateRecord(KEY, attrs.evolve(UPDATE, state_batches=(far,)))
    assert topic.take(record) == [f"more than {MAX_RANGE} offsets have a state; it is skipped"]
    assert len(topic.held[KEY].durable.entries) == 2


def test_a_snapshot_too_large_for_memory_is_compared_without_its_offsets() -> None:
    topic = ReadStates()
    topic.take(FIRST)
    wide = tuple(
        StateBatch(n * MAX_RANGE + 7, (n + 1) * MAX_RANGE + 6, ACKNOWLEDGED, 1)
        for n in range(2_000)
    )
    snapshot = ShareSnapshot(7, attrs.evolve(STATE, state_batches=wide))
    assert topic.take(StateRecord(KEY, snapshot)) == [
        "the snapshot epoch is 7 after 4, not the next one",
        f"more than {MAX_RANGE} offsets have a state; it is skipped",
    ]


def test_large_records_share_an_allowance_and_others_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("operations.state_topic.LARGE_OFFSETS", 9)
    topic = ReadStates(allowance=OffsetAllowance(25))
    told = []
    for partition, offsets in enumerate((9, 10, 10, 10, 9)):
        batch = StateBatch(10, 9 + offsets, ACKNOWLEDGED, 1)
        snapshot = ShareSnapshot(0, DurableState(0, 0, (batch,)))
        told += topic.take(StateRecord(attrs.evolve(KEY, partition=partition), snapshot))
    assert [text.partition("; ")[2] for text in told] == ["it is skipped"]
    assert told[0].startswith("records of more than 9 offsets each have more than 2097152 offsets")
    assert sorted(key.partition for key in topic.held) == [0, 1, 2, 4]


def test_the_profile_of_apache_kafka_applies() -> None:
    topic = ReadStates()
    topic.take(FIRST)
    topic.take(StateRecord(KEY, attrs.evolve(UPDATE, start_offset=-1, delivery_complete_count=9)))
    assert topic.held[KEY].durable.delivery_complete_count == 3
