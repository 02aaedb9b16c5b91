"""Everything that can happen to one share-partition at a small coordinator, and what must not."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from immutables import Map

from model.errors import ErrorCode
from model.profile import KAFKA, KAFKA_4_4, KIP, Profile
from model.share_state_requests import StateRequest, WriteState
from model.state_topic import SharePartitionKey, ShareUpdate
from proofs.exploration.search import Search, search
from spec.coordinator import Durable, merge, snapshot_record, update_record
from spec.share_coordinator import Reply, ShareCoordinator, serve
from spec.state_topic import StateTopicPartition, redundant_below
from tests.proofs.exploration.coordinator_world import CoordinatorWorld, begin, successors, wrong

WORLD = "tests.proofs.exploration.coordinator_world"
RETRIED = attrs.evolve(KAFKA_4_4, defect_repeated_initialize_discards_state=False)


def explore(world: CoordinatorWorld) -> Search[CoordinatorWorld, str]:
    return search([world], successors, wrong)


def first_fault(world: CoordinatorWorld) -> tuple[str, tuple[str, ...]]:
    found = explore(world).violation
    assert found is not None
    return found.reason, found.labels


@pytest.mark.parametrize("profile", [KIP, KAFKA])
def test_whatever_comes_late_or_twice_nothing_that_was_answered_is_lost(profile: Profile) -> None:
    found = explore(begin(profile, 8))
    assert (found.violation, found.unfinished, found.waiting) == (None, None, 0)
    assert found.states > 5_000


def test_a_repeated_initialize_loses_what_was_answered_under_kafka_4_4() -> None:
    assert first_fault(begin(KAFKA_4_4, 6)) == (
        "offset 0 was accepted, and would be delivered again",
        (
            "leader 1 reads",
            "leader 1 accepts offset 0",
            "arrives: leader 1 accepts offset 0",
            "arrives: initialize in state epoch 1",
        ),
    )


def test_an_old_leader_gets_in_after_a_failover_under_kafka_4_4() -> None:
    assert first_fault(begin(RETRIED, 6)) == (
        "leader 1 reads although leader 2 has",
        (
            "leader 2 reads",
            "arrives: initialize in state epoch 2",
            "prune",
            "crash",
            "leader 1 reads",
        ),
    )


def test_a_deletion_that_comes_late_deletes_what_was_made_since() -> None:
    reason, labels = first_fault(begin(KIP, 8, deletes=True))
    assert reason == "offset 0 was accepted, and would be delivered again"
    assert labels.count("arrives: delete") == 2


def _without_fence(coordinator: ShareCoordinator, request: StateRequest, now: int) -> Reply:
    held = {key: attrs.evolve(each, leader_fence=0) for key, each in coordinator.held.items()}
    return serve(attrs.evolve(coordinator, held=Map(held)), request, now)


def _without_writing(coordinator: ShareCoordinator, request: StateRequest, now: int) -> Reply:
    reply = serve(coordinator, request, now)
    if isinstance(request, WriteState):
        return attrs.evolve(reply, coordinator=coordinator, record=None)
    return reply


def _last_alone(durable: Durable, request: WriteState | ShareUpdate, profile: Profile) -> Durable:
    return merge(attrs.evolve(durable, entries=Map()), request, profile)


def _forgets_batches(before: Durable, after: Durable, _batches: object) -> object:
    return update_record(before, after, ())


def _keeps_the_epoch(before: Durable, after: Durable) -> object:
    record, after = snapshot_record(before, after)
    return record, attrs.evolve(after, snapshot_epoch=before.snapshot_epoch)


def _writes_no_tombstone(coordinator: ShareCoordinator, key: SharePartitionKey) -> Reply:
    held = coordinator.held.delete(key)
    return Reply(attrs.evolve(coordinator, held=held), ErrorCode.NONE)


def _one_too_many(topic: StateTopicPartition) -> int:
    return min(redundant_below(topic) + 1, topic.first_offset + len(topic.records))


@pytest.mark.parametrize(
    ("target", "fault", "reason"),
    [
        ("spec.coordinator.update_record", _forgets_batches, "replaying the topic is not"),
        ("spec.coordinator.snapshot_record", _keeps_the_epoch, "replaying the topic is not"),
        ("spec.state_topic.redundant_below", _one_too_many, "replaying the topic is not"),
        (f"{WORLD}.serve", _without_fence, "the durable leader epoch is ahead"),
        ("spec.coordinator.merge", _last_alone, "replaying the topic is not"),
        (f"{WORLD}.serve", _without_writing, "would be delivered again"),
        (f"{WORLD}.append", lambda topic, _: topic, "replaying the topic is not"),
    ],
)
def test_the_search_notices_a_planted_fault(
    monkeypatch: pytest.MonkeyPatch, target: str, fault: Callable[..., Any], reason: str
) -> None:
    monkeypatch.setattr(target, fault)
    assert reason in first_fault(begin(KIP, 8))[0]


def test_a_deletion_without_its_tombstone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spec.share_coordinator._forget", _writes_no_tombstone)
    reason, labels = first_fault(begin(KIP, 8, deletes=True))
    assert (reason, labels[-1]) == (
        "replaying the topic is not the state in memory",
        "arrives: delete",
    )
