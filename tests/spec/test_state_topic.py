from uuid import UUID

import attrs
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from immutables import Map

from model.errors import ErrorCode, IllegalChoiceError
from model.guards import CoordinatorGuard
from model.profile import KAFKA, KAFKA_4_4, KIP, Profile
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
from model.state_topic_codec import key_bytes, record_from_bytes, value_bytes
from model.states import RecordState
from spec import state_topic
from spec.coordinator import Durable, durable_state, snapshot_record, update_record
from spec.share_coordinator import Held, Reply, ShareCoordinator, serve, snapshot_again
from spec.state_topic import (
    StateTopic,
    append,
    prune,
    recover,
    redundant_below,
    replay_held,
    state_partition,
)
from tests.strategies import STATE_BATCHES

TOPIC = UUID(int=1)
ONE, OTHER = (SharePartitionKey("g", TOPIC, partition) for partition in (0, 1))
KEYS = st.sampled_from([ONE, OTHER])
EPOCHS = st.integers(0, 3)
BATCH = StateBatch(3, 5, RecordState.ACKNOWLEDGED, 1)
LIMIT = 3
NONE = ErrorCode.NONE
HUNT = settings(
    max_examples=300,
    stateful_step_count=25,
    deadline=None,
    database=None,
    derandomize=True,
    report_multiple_bugs=False,
    phases=[Phase.generate],
)


class Machine(RuleBasedStateMachine):
    """Requests, snapshots, pruning and crashes in any order, of any epochs."""

    @initialize(profile=st.sampled_from([KIP, KAFKA, KAFKA_4_4]))
    def begin(self, profile: Profile) -> None:
        topics = Map({TOPIC: 2})
        self.coordinator = ShareCoordinator(profile, topics, updates_per_snapshot=LIMIT)
        self.topic = StateTopic()
        self.before = self.coordinator.held

    def serve(self, request: StateRequest, *, snapshot: bool | None = None) -> Reply:
        self.before = self.coordinator.held
        reply = serve(self.coordinator, request, 10, snapshot=snapshot)
        self.coordinator = reply.coordinator
        self.topic = append(self.topic, _as_bytes(reply.record))
        return reply

    @rule(key=KEYS, epoch=EPOCHS, start=st.integers(-1, 6))
    def initialize_state(self, key: SharePartitionKey, epoch: int, start: int) -> None:
        reply = self.serve(InitializeState(key, epoch, start))
        held = self.before.get(key)
        older = held is not None and epoch < held.durable.state_epoch
        assert (reply.status is ErrorCode.FENCED_STATE_EPOCH) == older

    @rule(key=KEYS, epoch=EPOCHS, early=st.booleans())
    def read_state(self, key: SharePartitionKey, epoch: int, *, early: bool) -> None:
        reply = self.serve(ReadState(key, epoch), snapshot=early or None)
        if (held := self.before.get(key)) is not None:
            assert (reply.status is ErrorCode.FENCED_LEADER_EPOCH) == (epoch < held.leader_fence)

    @rule(
        key=KEYS,
        epochs=st.tuples(EPOCHS, EPOCHS),
        numbers=st.tuples(st.integers(-1, 9), st.integers(-1, 9)),
        batches=STATE_BATCHES,
        early=st.booleans(),
    )
    def write_state(
        self,
        key: SharePartitionKey,
        epochs: tuple[int, int],
        numbers: tuple[int, int],
        batches: tuple[StateBatch, ...],
        *,
        early: bool,
    ) -> None:
        request = WriteState(key, *epochs, *numbers, batches)
        reply = self.serve(request, snapshot=early or None)
        if reply.status is NONE:
            self.only_goes_on(key, request)
        else:
            assert self.coordinator.held == self.before

    def only_goes_on(self, key: SharePartitionKey, request: WriteState) -> None:
        before, after = self.before[key].durable, self.coordinator.held[key].durable
        assert (after.start_offset, after.delivery_complete_count) >= (
            before.start_offset,
            before.delivery_complete_count,
        )
        assert after.start_offset >= request.start_offset
        for offset, (state, count) in before.entries.items():
            if offset >= after.start_offset:
                kept_state, kept_count = after.entries[offset]
                assert (kept_count, kept_state) >= (count, state)

    @rule(key=KEYS)
    def delete_state(self, key: SharePartitionKey) -> None:
        assert self.serve(DeleteState(key)).status is NONE

    @rule(key=KEYS)
    def snapshot_again(self, key: SharePartitionKey) -> None:
        if key in self.coordinator.held:
            self.before = self.coordinator.held
            reply = snapshot_again(self.coordinator, key, 20)
            self.coordinator = reply.coordinator
            self.topic = append(self.topic, _as_bytes(reply.record))

    @rule(part=st.floats(0, 1))
    def prune(self, part: float) -> None:
        first, limit = self.topic.first_offset, state_topic.redundant_below(self.topic)
        self.topic = prune(self.topic, first + round(part * (limit - first)))
        self.before = self.coordinator.held

    @precondition(lambda self: self.topic.records)
    @rule()
    def crash(self) -> None:
        self.coordinator = recover(self.topic, self.coordinator)
        self.before = self.coordinator.held

    @invariant()
    def replaying_the_topic_is_the_state_in_memory(self) -> None:
        if hasattr(self, "topic"):
            found = recover(self.topic, self.coordinator)
            if self.coordinator.profile is KIP:
                assert found == self.coordinator
            assert _durable(found) == _durable(self.coordinator)

    @invariant()
    def what_is_held_is_in_order(self) -> None:
        for key, held in getattr(self, "coordinator", ShareCoordinator(KIP)).held.items():
            assert held.leader_fence >= held.durable.leader_epoch
            assert held.durable.updates <= LIMIT
            last = held.durable.start_offset - 1
            batches = durable_state(held.durable).state_batches
            for one, batch in enumerate(batches):
                assert batch.first > last
                if one and batch.first == last + 1:
                    other = batches[one - 1]
                    assert (batch.state, batch.delivery_count) != (
                        other.state,
                        other.delivery_count,
                    )
                last = batch.last
            if (known := self.before.get(key)) is not None:
                steps = held.durable.snapshot_epoch - known.durable.snapshot_epoch
                assert steps in (0, 1)
                assert held.durable.state_epoch >= known.durable.state_epoch


def _as_bytes(record: StateRecord | None) -> StateRecord | None:
    """Return the record as it is read from the bytes that were written."""
    return record and record_from_bytes(key_bytes(record), value_bytes(record))


def _durable(coordinator: ShareCoordinator) -> dict[SharePartitionKey, Durable]:
    return {key: held.durable for key, held in coordinator.held.items()}


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)


def _forgets_batches(before: Durable, after: Durable, _batches: object) -> object:
    return update_record(before, after, ())


def _keeps_the_epoch(before: Durable, after: Durable) -> object:
    snapshot, after = snapshot_record(before, after)
    return snapshot, attrs.evolve(after, snapshot_epoch=before.snapshot_epoch)


def _writes_no_tombstone(coordinator: ShareCoordinator, key: SharePartitionKey) -> Reply:
    return Reply(attrs.evolve(coordinator, held=coordinator.held.delete(key)), NONE)


def _one_too_many(topic: StateTopic) -> int:
    return min(redundant_below(topic) + 1, topic.first_offset + len(topic.records))


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("spec.coordinator.update_record", _forgets_batches),
        ("spec.coordinator.snapshot_record", _keeps_the_epoch),
        ("spec.state_topic.redundant_below", _one_too_many),
        ("spec.share_coordinator._forget", _writes_no_tombstone),
    ],
)
def test_the_state_machine_finds_a_planted_fault(
    monkeypatch: pytest.MonkeyPatch, target: str, fault: object
) -> None:
    monkeypatch.setattr(target, fault)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=HUNT)


def topic_of(*requests: StateRequest) -> tuple[StateTopic, ShareCoordinator]:
    coordinator, topic = ShareCoordinator(KIP, Map({TOPIC: 2})), StateTopic()
    for request in requests:
        reply = serve(coordinator, request, 10)
        coordinator, topic = reply.coordinator, append(topic, reply.record)
    return topic, coordinator


WRITES = [WriteState(ONE, 1, 0, start, 0, (BATCH,)) for start in (1, 2)]
BUSY: tuple[StateRequest, ...] = (InitializeState(OTHER, 1, 0), InitializeState(ONE, 1, 0), *WRITES)


def test_records_before_every_latest_snapshot_are_redundant() -> None:
    topic, coordinator = topic_of(*BUSY)
    assert redundant_below(topic) == 0
    topic = append(topic, snapshot_again(coordinator, OTHER, 20).record)
    assert redundant_below(topic) == 1
    topic = append(topic, snapshot_again(coordinator, ONE, 20).record)
    assert (len(topic.records), redundant_below(topic)) == (6, 4)
    rest = prune(topic, 4)
    assert (rest.first_offset, len(rest.records)) == (4, 2)
    assert recover(rest, coordinator) == recover(topic, coordinator)
    assert prune(rest, 3) == rest
    assert redundant_below(rest) == 4


def test_pruning_one_record_more_loses_state() -> None:
    topic, coordinator = topic_of(*BUSY)
    assert recover(attrs.evolve(topic, records=topic.records[1:]), coordinator) != coordinator
    with pytest.raises(IllegalChoiceError, match="1 is beyond 0") as refused:
        prune(topic, 1)
    assert refused.value.guard is CoordinatorGuard.PRUNED_IS_REDUNDANT


def test_without_share_partitions_no_record_is_needed() -> None:
    topic, coordinator = topic_of(*BUSY, DeleteState(ONE), DeleteState(OTHER))
    assert redundant_below(topic) == 6
    for below in range(7):
        assert recover(prune(topic, below), coordinator) == coordinator


def test_records_before_a_deletion_do_not_count_after_it() -> None:
    topic, coordinator = topic_of(*BUSY, DeleteState(ONE), InitializeState(ONE, 1, 7))
    held = recover(topic, coordinator).held[ONE]
    assert held == Held(Durable(7, 0, state_epoch=1), 0, 10, 10)
    assert coordinator.held[ONE] == held


def test_a_tombstone_of_an_unknown_share_partition_is_ignored() -> None:
    topic = append(StateTopic(), StateRecord(ONE, None), None)
    assert topic.records == (StateRecord(ONE, None),)
    assert recover(topic, ShareCoordinator(KIP)) == ShareCoordinator(KIP)


def test_a_leader_stays_fenced_by_what_came_before_under_kafka_4_4_only() -> None:
    before = Held(Durable(leader_epoch=5), 5, 0, 0)
    record = StateRecord(ONE, ShareSnapshot(1, DurableState(0, 0, (), 2, 0), 7, 8))
    durable = Durable(0, 0, state_epoch=2, snapshot_epoch=1)
    for profile, fence in ((KIP, 0), (KAFKA, 0), (KAFKA_4_4, 5)):
        assert replay_held(before, record, profile) == Held(durable, fence, 7, 8)
        assert replay_held(None, record, profile) == Held(durable, 0, 7, 8)


def test_an_update_keeps_the_times_of_the_snapshot() -> None:
    before = Held(Durable(0, 0), 0, 7, 8)
    after = replay_held(before, StateRecord(ONE, ShareUpdate(0, 3, 1, 0)), KIP)
    assert after == Held(Durable(1, 0, leader_epoch=3, updates=1), 3, 7, 8)


def test_an_update_before_any_snapshot_is_all_that_is_known() -> None:
    after = replay_held(None, StateRecord(ONE, ShareUpdate(4, 3, 1, 0)), KIP)
    assert after == Held(Durable(1, 0, leader_epoch=3, snapshot_epoch=4, updates=1), 3, 0, 0)


@pytest.mark.parametrize(
    ("group", "topic", "partition", "expected"),
    [
        ("g", "523e709ff16a4d78ab1004af559458d7", 0, 33),
        ("g", "523e709ff16a4d78ab1004af559458d7", 7, 40),
        ("gs1", "82d6f6b2d198464faf599db3028ce6a0", 0, 27),
        ("grü😀ppe", "82d6f6b2d198464faf599db3028ce6a0", 7, 26),
        ("a-longer-group-name", "523e709ff16a4d78ab1004af559458d7", 0, 9),
    ],
)
def test_a_share_partition_is_coordinated_where_apache_kafka_says(
    group: str, topic: str, partition: int, expected: int
) -> None:
    key = SharePartitionKey(group, UUID(topic), partition)
    assert state_partition(key) == expected
    assert state_partition(key, 1) == 0


def test_the_hash_without_an_absolute_value_is_partition_0() -> None:
    """Of "8zhfpaa:AAAAAAAAAAAAAAAAAAAAAA:0" it is -2147483648, whose remainder by 3 would be 2."""
    key = SharePartitionKey("8zhfpaa", UUID(int=0), 0)
    assert state_partition(key, 3) == 0
