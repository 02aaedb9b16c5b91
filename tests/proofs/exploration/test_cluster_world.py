"""All of two brokers and a share coordinator: a fenced leader acquires nothing, nothing is lost."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest
from immutables import Map

from model.errors import ErrorCode
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from model.share_messages import TopicPartition
from model.share_state_requests import ReadState, StateRequest, WriteState
from model.snapshot import DurableState
from proofs.exploration.search import Search, search
from spec import share_broker, share_cluster
from spec.coordinator import Durable, merge
from spec.group_lifecycle import GroupPlan, alter_offsets
from spec.share_broker import Handled, PartitionKey, ShareBroker
from spec.share_cluster import SentWrite, ShareCluster
from spec.share_coordinator import Reply, ShareCoordinator, serve
from spec.share_group import Coordinators, group_of
from tests.proofs.exploration.cluster_world import (
    ALTERED_OR_DELETED,
    TWO_RECORDS,
    ClusterWorld,
    begin,
    check,
    steps,
)
from tests.proofs.exploration.one_broker import ACCEPT, PLAIN, REJECT, RELEASE, Bounds
from tests.proofs.explored import DOCUMENT

Read = DurableState | ErrorCode | None


def explored(world: ClusterWorld) -> Search[ClusterWorld, str]:
    return search([world], steps, check, 50_000)


DELETED = Bounds(operations=3, deletes=True)

RETRIED = Bounds(retries=True)
REJECTED = Bounds(1, 1, 1, (ACCEPT, REJECT), dead_letters=True, retries=True)

LISTED = [
    (KIP, PLAIN, 1277, "two leaders"),
    (KAFKA, PLAIN, 1277, "two leaders"),
    (KIP, RETRIED, 9473, "two leaders and lost answers"),
    (KIP, TWO_RECORDS, 14_885, "two records and dead letters"),
    (KIP, Bounds(operations=3), 6454, "two leaders and altered offsets"),
    (KIP, DELETED, 22_562, "two leaders, altered offsets and deletion"),
    (KIP, ALTERED_OR_DELETED, 4400, "altered offsets, deletion and dead letters"),
    (DRAFT_RESOLVED, ALTERED_OR_DELETED, 6106, "altered offsets, deletion, marks and dead letters"),
    (
        KIP,
        Bounds(1, 2, 2, (ACCEPT, RELEASE), operations=3),
        37_357,
        "altered offsets of two records, and release",
    ),
]

LONG = {"two records and dead letters", "altered offsets of two records, and release"}


def test_the_document_lists_the_worlds() -> None:
    for profile, _, states, name in LISTED:
        assert f"\n| `{profile.name}` | {name} | {states:,} |\n" in DOCUMENT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "bounds", "states"),
    [
        *(
            pytest.param(*world[:3], marks=[pytest.mark.long] * (world[3] in LONG))
            for world in LISTED
        ),
        pytest.param(KIP, Bounds(3), 8774, marks=pytest.mark.long),
        pytest.param(DRAFT_RESOLVED, TWO_RECORDS, 27_307, marks=pytest.mark.long),
    ],
)
def test_a_fenced_leader_acquires_nothing_and_nothing_accepted_is_lost(
    profile: Profile, bounds: Bounds, states: int
) -> None:
    found = explored(begin(profile, bounds))
    assert (found.violation, found.unfinished, found.waiting) == (None, None, 0)
    assert found.states == states


def _takes_no_fence(
    broker: ShareBroker, key: PartitionKey, reset_offset: int | None, read: Read = None
) -> tuple[ErrorCode, ShareBroker]:
    known = None if read is ErrorCode.FENCED_LEADER_EPOCH else read
    return share_broker.load(attrs.evolve(broker, fenced=frozenset()), key, reset_offset, known)


def _unfenced(coordinator: ShareCoordinator) -> ShareCoordinator:
    held = {key: attrs.evolve(each, leader_fence=0) for key, each in coordinator.held.items()}
    return attrs.evolve(coordinator, held=Map(held))


def _reads_unfenced(coordinator: ShareCoordinator, request: StateRequest, now: int) -> Reply:
    reads = isinstance(request, ReadState)
    return serve(_unfenced(coordinator) if reads else coordinator, request, now)


def _forgets_writes(coordinator: ShareCoordinator, request: StateRequest, now: int) -> Reply:
    reply = serve(coordinator, request, now)
    kept = coordinator if isinstance(request, WriteState) else reply.coordinator
    return attrs.evolve(reply, coordinator=kept)


def _forgets(durable: Durable, *_rest: object) -> Durable:
    return durable


def _gives_up_well(cluster: ShareCluster, sent: SentWrite) -> tuple[ShareCluster, Handled]:
    after, handled = share_cluster.answer(cluster, sent, ErrorCode.NONE)
    return attrs.evolve(after, sent=after.sent | {sent}), handled


def _counts_again(durable: Durable, request: WriteState, profile: Profile) -> Durable:
    after = merge(durable, request, profile)
    count = durable.delivery_complete_count + request.delivery_complete_count
    return attrs.evolve(after, delivery_complete_count=count)


def _asks_no_member(coordinators: Coordinators, offsets: Mapping[TopicPartition, int]) -> GroupPlan:
    empty = attrs.evolve(group_of(coordinators), subscriptions=Map())
    return alter_offsets(attrs.evolve(coordinators, group=empty), offsets)


def _keeps_state(durable: Durable, _start: int, epoch: int) -> Durable:
    return attrs.evolve(durable, state_epoch=epoch, snapshot_epoch=0)


OTHERWISE = "broker 1 takes something else for durable than what is"
NOT_DONE = "offset 0 was accepted, and is not done"


@pytest.mark.parametrize(
    ("places", "fault", "bounds", "reason"),
    [
        ("share_request.load", _takes_no_fence, PLAIN, "broker 1 acquires although it was fenced"),
        ("share_broker.FENCING", frozenset(), PLAIN, "broker 1: fenced_is_not_in_memory"),
        ("share_cluster.serve", _reads_unfenced, PLAIN, OTHERWISE),
        ("share_coordinator.serve", _forgets_writes, PLAIN, OTHERWISE),
        ("writes.merge coordinator.merge", _forgets, PLAIN, NOT_DONE),
        ("share_cluster.give_up", _gives_up_well, RETRIED, OTHERWISE),
        ("coordinator.merge", _counts_again, RETRIED, OTHERWISE),
        ("coordinator.explain_read", _forgets, RETRIED, OTHERWISE),
        (
            "group_lifecycle.alter_offsets",
            _asks_no_member,
            ALTERED_OR_DELETED,
            "broker 1 serves a session what altering discarded",
        ),
        (
            "coordinator.initialize_durable",
            _keeps_state,
            ALTERED_OR_DELETED,
            "an altered start offset has no effect",
        ),
    ],
    ids=[
        "the fence of a read is ignored",
        "a fence drops nothing",
        "no read is fenced",
        "writes are lost",
        "both sides forget",
        "who gives up is told NONE",
        "a retry counts twice",
        "no write is unknown",
        "a group with members is altered",
        "altering discards nothing",
    ],
)
def test_the_search_notices_a_planted_fault(
    monkeypatch: pytest.MonkeyPatch,
    places: str,
    fault: Callable[..., Any],
    bounds: Bounds,
    reason: str,
) -> None:
    for place in places.split():
        monkeypatch.setattr(f"spec.{place}", fault)
    found = explored(begin(KIP, bounds)).violation
    assert found is not None
    assert found.reason == reason


def test_a_rejection_that_was_given_up_outlasts_an_acceptance() -> None:
    """Decision 180: the leader takes a rejection back that is durable, or will be."""
    found = explored(begin(KIP, REJECTED)).violation
    assert found is not None
    assert found.reason == NOT_DONE
    assert found.labels == (
        "opens at broker 1",
        "rejects 0 at broker 1",
        "a broker gives up",
        "accepts 0 at broker 1",
        "two writes arrive together",
    )


def _stays_fenced(
    broker: ShareBroker, key: PartitionKey, reset_offset: int | None, read: Read = None
) -> tuple[ErrorCode, ShareBroker]:
    status, after = share_broker.load(broker, key, reset_offset, read)
    return status, attrs.evolve(after, fenced=broker.fenced | after.fenced)


@pytest.mark.slow
def test_a_deletion_forgets_who_was_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spec.share_request.load", _stays_fenced)
    found = explored(begin(KIP, DELETED)).violation
    assert found is not None
    assert found.reason == "broker 1: fenced_is_not_in_memory"
    assert "CallDelete" in found.labels


def _validates_nothing(
    broker: ShareBroker, key: PartitionKey, reset_offset: int | None, read: Read = None
) -> tuple[ErrorCode, ShareBroker]:
    partition = broker.partitions.get(key)
    if partition is not None and partition.ready:
        return ErrorCode.NONE, attrs.evolve(broker, unvalidated=broker.unvalidated - {key})
    return share_broker.load(broker, key, reset_offset, read)


def test_what_altering_discarded_is_served_where_nothing_is_validated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spec.share_request.load", _validates_nothing)
    found = explored(begin(KIP, TWO_RECORDS)).violation
    assert found is not None
    assert found.reason == "broker 1 serves a session what altering discarded"
    assert found.labels == (
        "opens at broker 1",
        "closes at broker 1",
        "altered",
        "opens at broker 1",
    )


def test_the_world_of_two_records_ends_deliveries_in_every_way() -> None:
    (_, opened), *_ = steps(begin(DRAFT_RESOLVED, TWO_RECORDS))
    names = [name.removesuffix(" at broker 1") for name, _ in steps(opened)]
    assert names[1:] == ["marks 0", "opens", "closes", "accepts 0", "releases 0", "rejects 0"]
    rejected = dict(steps(opened))["rejects 0 at broker 1"]
    dead = dict(steps(dict(steps(rejected))["a write of leader 1 arrives"]))
    assert "dead letter 0 is taken at broker 1" in dead


def test_the_shortest_run_of_a_fenced_leader_that_acquires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spec.share_request.load", _takes_no_fence)
    found = explored(begin(KIP)).violation
    assert found is not None
    assert found.labels == (
        "opens at broker 1",
        "accepts 0 at broker 1",
        "broker 2 is elected",
        "opens at broker 2",
        "a write of leader 1 arrives",
        "opens at broker 1",
    )
