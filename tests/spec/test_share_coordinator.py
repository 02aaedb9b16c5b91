from base64 import urlsafe_b64decode
from typing import Any
from uuid import UUID

import attrs
import pytest
from immutables import Map

from model.errors import ErrorCode, IllegalChoiceError
from model.guards import CoordinatorGuard, Guard
from model.profile import KAFKA, KAFKA_4_4, KIP, Profile
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from model.states import RecordState
from spec.share_coordinator import (
    Reply,
    ShareCoordinator,
    due_for_snapshot,
    forget_topic,
    serve,
    snapshot_again,
)
from spec.state_topic import StateTopicPartition, append, prune, recover, redundant_below
from tests.coordinator_recording import KINDS, StateResult, exchange, lines, record_of
from tests.spec.worlds import BOTH

TOPIC = UUID(int=1)
KEY = SharePartitionKey("g", TOPIC, 0)
BATCH = StateBatch(0, 2, RecordState.ACKNOWLEDGED, 1)
NONE, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
OLD_LEADER, OLD_STATE = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH


def started(profile: Profile = KIP, *requests: StateRequest, limit: int = 500) -> ShareCoordinator:
    """A coordinator after some requests, all of which succeed."""
    coordinator = ShareCoordinator(profile, Map({TOPIC: 2}), updates_per_snapshot=limit)
    for request in requests:
        reply = serve(coordinator, request, 10)
        assert reply.status is NONE
        coordinator = reply.coordinator
    return coordinator


def write(*epochs: int, start: int = 0, count: int = 0) -> WriteState:
    leader, state = epochs
    return WriteState(KEY, state, leader, start, count, (BATCH,))


STARTED = (InitializeState(KEY, 2, 0), ReadState(KEY, 5))


@pytest.mark.parametrize("profile", [KIP, KAFKA])
def test_only_what_can_be_a_repetition_is_answered_as_one(profile: Profile) -> None:
    first = started(profile, InitializeState(KEY, 2, 7))
    assert serve(first, InitializeState(KEY, 2, 7), 20) == Reply(first, NONE)
    assert serve(first, InitializeState(KEY, 2, 8), 20) == Reply(first, INVALID)
    written = started(profile, InitializeState(KEY, 2, -1), write(0, 2, start=9))
    for start in (-1, 9):
        assert serve(written, InitializeState(KEY, 2, start), 20) == Reply(written, NONE)
    unwritten = started(profile, InitializeState(KEY, 2, -1))
    assert serve(unwritten, InitializeState(KEY, 2, 0), 20) == Reply(unwritten, INVALID)
    other = serve(started(KAFKA_4_4, InitializeState(KEY, 2, 7)), InitializeState(KEY, 2, 8), 20)
    assert (other.status, other.coordinator.held[KEY].durable.start_offset) == (NONE, 8)


def test_a_write_of_a_newer_state_epoch_is_fenced_but_under_kafka_4_4() -> None:
    """A group that is deleted and made again counts its epochs from the beginning."""
    for profile, status in ((KIP, OLD_STATE), (KAFKA, OLD_STATE), (KAFKA_4_4, NONE)):
        again = started(profile, *STARTED, DeleteState(KEY), InitializeState(KEY, 1, 0))
        late = serve(again, write(5, 2), 20)
        assert (late.status, late.record is None) == (status, status is OLD_STATE)
        assert bool(late.coordinator.held[KEY].durable.entries) == (status is NONE)


@BOTH
def test_a_write_of_before_a_deletion_lands_where_its_state_epoch_comes_again(
    profile: Profile,
) -> None:
    for epoch, status, start in ((2, NONE, 3), (3, OLD_STATE, 0)):
        again = started(profile, *STARTED, DeleteState(KEY), InitializeState(KEY, epoch, 0))
        late = serve(again, write(5, 2, start=3), 20)
        assert (late.status, late.coordinator.held[KEY].durable.start_offset) == (status, start)


def test_a_summary_for_an_older_leader_is_fenced_under_kip_only() -> None:
    for profile, status in ((KIP, OLD_LEADER), (KAFKA, NONE), (KAFKA_4_4, NONE)):
        coordinator = started(profile, *STARTED)
        assert serve(coordinator, ReadStateSummary(KEY, 4), 20).status is status
        for epoch in (-1, 5, 6):
            assert serve(coordinator, ReadStateSummary(KEY, epoch), 20).status is NONE


def test_a_failover_after_pruning_lets_old_leaders_in_under_kafka_4_4_only() -> None:
    for profile, status in ((KIP, OLD_LEADER), (KAFKA, OLD_LEADER), (KAFKA_4_4, NONE)):
        coordinator, topic = started(profile), StateTopicPartition()
        for request in (*STARTED, write(5, 2), InitializeState(KEY, 3, 0)):
            reply = serve(coordinator, request, 10)
            coordinator, topic = reply.coordinator, append(topic, reply.record)
        assert serve(coordinator, ReadState(KEY, 4), 10).status is OLD_LEADER
        kept = recover(topic, coordinator)
        assert serve(kept, ReadState(KEY, 4), 10).status is OLD_LEADER
        pruned = recover(prune(topic, redundant_below(topic)), coordinator)
        assert serve(pruned, ReadState(KEY, 4), 10).status is status


@BOTH
def test_a_read_answers_the_state_and_writes_a_new_leader_epoch(profile: Profile) -> None:
    coordinator = started(profile, *STARTED, write(5, 2, start=0, count=3))
    reply = serve(coordinator, ReadState(KEY, 6), 20)
    assert reply.state == DurableState(0, 3, (BATCH,), 2, 5)
    assert reply.record == StateRecord(KEY, ShareUpdate(0, 6, 0, 3))
    again = serve(reply.coordinator, ReadState(KEY, 6), 30)
    assert again == Reply(reply.coordinator, NONE, None, DurableState(0, 3, (BATCH,), 2, 6))
    assert serve(again.coordinator, write(5, 2), 30).status is OLD_LEADER


def test_a_summary_answers_all_but_the_batches() -> None:
    coordinator = started(KIP, *STARTED, write(5, 2, count=3))
    reply = serve(coordinator, ReadStateSummary(KEY, -1), 20)
    assert reply == Reply(coordinator, NONE, None, DurableState(0, 3, (), 2, 5))
    unknown = serve(started(), ReadStateSummary(KEY), 20)
    assert (unknown.status, unknown.state) == (NONE, DurableState(-1, -1))


def test_a_share_partition_made_again_begins_at_snapshot_epoch_0_and_knows_no_leader() -> None:
    coordinator = started(KIP, *STARTED, write(5, 2), DeleteState(KEY), InitializeState(KEY, 2, 0))
    held = coordinator.held[KEY]
    assert (held.durable.snapshot_epoch, held.leader_fence, held.durable.state_epoch) == (0, 0, 2)
    late = serve(coordinator, write(5, 2), 20)
    assert late.status is NONE, "a write of before the deletion lands in what was made since"


@BOTH
def test_what_has_no_state_can_be_deleted_again(profile: Profile) -> None:
    coordinator = started(profile, *STARTED, DeleteState(KEY))
    assert serve(coordinator, DeleteState(KEY), 20) == Reply(coordinator, NONE)


@pytest.mark.parametrize(("profile", "status"), [(KIP, UNKNOWN), (KAFKA, INVALID)])
def test_a_request_before_initialization_is_invalid_under_kafka_only(
    profile: Profile, status: ErrorCode
) -> None:
    for request in (ReadState(KEY, 0), write(0, 0)):
        assert serve(started(profile), request, 0) == Reply(started(profile), status)


def test_a_snapshot_comes_after_so_many_updates_and_may_come_before() -> None:
    coordinator = started(KIP, InitializeState(KEY, 2, 0), limit=2)
    kinds = []
    for count in range(6):
        reply = serve(coordinator, write(0, 2, count=count), 20 + count)
        assert reply.record is not None
        kinds.append(type(reply.record.value))
        coordinator = reply.coordinator
    assert kinds == [ShareUpdate, ShareUpdate, ShareSnapshot] * 2
    held = coordinator.held[KEY]
    assert (held.durable.snapshot_epoch, held.created_ms, held.written_ms) == (2, 25, 25)
    early = serve(coordinator, write(0, 2), 30, snapshot=True).record
    assert early is not None
    assert early.value == ShareSnapshot(3, DurableState(0, 5, (BATCH,), 2, 0), 30, 30)


def test_an_update_when_a_snapshot_is_due_breaks_a_guard() -> None:
    coordinator = started(KIP, InitializeState(KEY, 2, 0), limit=0)
    with pytest.raises(IllegalChoiceError, match="0 updates since") as refused:
        serve(coordinator, write(0, 2), 20, snapshot=False)
    assert refused.value.guard is CoordinatorGuard.SNAPSHOT_ON_TIME


def test_an_unknown_share_partition_cannot_be_written_again() -> None:
    with pytest.raises(IllegalChoiceError) as refused:
        snapshot_again(started(), KEY, 0)
    assert refused.value.guard is Guard.PARTITION_IS_INITIALIZED


@BOTH
@pytest.mark.parametrize(
    ("start", "count", "expected"),
    [(0, -1, (0, -1)), (1, -1, (1, -1)), (0, 7, (0, 7)), (1, 7, (1, 7))],
)
def test_a_write_without_the_count_makes_none_up_and_keeps_none(
    profile: Profile, start: int, count: int, expected: tuple[int, int]
) -> None:
    coordinator = started(profile, *STARTED, write(5, 2, start=0, count=3))
    request = write(5, 2, start=start, count=count)
    state = serve(serve(coordinator, request, 20).coordinator, ReadStateSummary(KEY), 20).state
    assert state is not None
    assert (state.start_offset, state.delivery_complete_count) == expected


class Recorded:
    """A run of Apache Kafka's coordinator, followed step by step."""

    def __init__(self, profile: Profile, head: dict[str, Any]) -> None:
        topics = Map({_uuid(topic): 2 for topic in head["topics"]})
        limit = head["updatesPerSnapshot"]
        self.coordinator = ShareCoordinator(profile, topics, updates_per_snapshot=limit)
        self.topic = StateTopicPartition()

    def follow(self, line: dict[str, Any]) -> None:
        written = tuple(record_of(record) for record in line["records"])
        if line["op"] in KINDS:
            assert self.serve(line, written) == written
        elif line["op"] == "cold":
            due = set(due_for_snapshot(self.coordinator, line["now"], 300_000))
            assert {record.key for record in written} in (due, set())
            for record in written:
                reply = snapshot_again(self.coordinator, record.key, line["now"])
                assert reply.record == record
                self.coordinator = reply.coordinator
        elif line["op"] == "cleanup":
            self.coordinator, tombstones = forget_topic(self.coordinator, _uuid(line["topicId"]))
            assert set(tombstones) == set(written)
        elif line["op"] == "crash":
            self.coordinator = recover(self.topic, self.coordinator)
        elif line["offset"] is not None:
            self.topic = prune(self.topic, line["offset"])
        self.topic = append(self.topic, *written)

    def serve(
        self, line: dict[str, Any], written: tuple[StateRecord, ...]
    ) -> tuple[StateRecord, ...]:
        kind = KINDS[line["op"]]
        asked, answered = exchange(line)
        snapshot = isinstance(written[0].value, ShareSnapshot) if written else None
        reply = serve(self.coordinator, asked, line["now"], snapshot=snapshot)
        assert reply.status is answered.status
        if reply.state is not None:
            assert _answer(kind, answered, reply.state) == answered
        self.coordinator = reply.coordinator
        return (reply.record,) if reply.record else ()


def _answer(kind: type[StateRequest], answered: StateResult, state: DurableState) -> StateResult:
    found = attrs.evolve(answered, state_epoch=state.state_epoch, start_offset=state.start_offset)
    if kind is ReadState:
        return attrs.evolve(found, state_batches=state.state_batches)
    count, epoch = state.delivery_complete_count, state.leader_epoch
    return attrs.evolve(found, delivery_complete_count=count, leader_epoch=epoch)


def _uuid(text: str) -> UUID:
    return UUID(bytes=urlsafe_b64decode(text + "=="))


def follow_all(profile: Profile) -> int:
    """Follow the recording; return how many steps there were."""
    steps = 0
    for line in lines():
        if "kafka" in line:
            recorded = Recorded(profile, line)
        else:
            recorded.follow(line)
            steps += 1
    return steps


def test_apache_kafka_answers_and_writes_what_the_specification_does() -> None:
    assert follow_all(KAFKA_4_4) == 1210


@pytest.mark.parametrize(
    "name",
    [
        "defect_repeated_initialize_discards_state",
        "defect_initialize_forgets_leader_epoch",
        "absent_state_is_an_invalid_request",
        "defect_start_offset_kept_loses_count",
        "defect_newer_state_epoch_is_accepted",
        "defect_unknown_count_keeps_the_former",
        "summary_compares_the_leader_epoch",
    ],
)
def test_the_recording_shows_each_rule_on_which_apache_kafka_differs(name: str) -> None:
    other = attrs.evolve(KAFKA_4_4, **{name: getattr(KIP, name)})
    with pytest.raises(AssertionError):
        follow_all(other)
