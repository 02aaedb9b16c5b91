"""All of two brokers and a share coordinator: a fenced leader acquires nothing, nothing is lost."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from immutables import Map

from model.errors import ErrorCode
from model.profile import KAFKA, KIP, Profile
from model.share_state_requests import StateRequest, WriteState
from proofs.exploration.search import Search, search
from spec import share_broker
from spec.coordinator import Durable
from spec.share_broker import PartitionKey, ShareBroker
from spec.share_coordinator import Reply, ShareCoordinator, read_state, serve
from tests.proofs.exploration.cluster_world import ClusterWorld, begin, check, steps


def explored(world: ClusterWorld) -> Search[ClusterWorld, str]:
    return search([world], steps, check, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "last_epoch", "states"),
    [(KIP, 2, 1193), (KAFKA, 2, 1193), pytest.param(KIP, 3, 8276, marks=pytest.mark.long)],
)
def test_a_fenced_leader_acquires_nothing_and_nothing_accepted_is_lost(
    profile: Profile, last_epoch: int, states: int
) -> None:
    found = explored(begin(profile, last_epoch))
    assert (found.violation, found.unfinished, found.waiting) == (None, None, 0)
    assert found.states == states


def _reads_what_it_knows(
    broker: ShareBroker, key: PartitionKey, reset_offset: int | None, _read: object
) -> tuple[ErrorCode, ShareBroker]:
    return share_broker.load(attrs.evolve(broker, fenced=frozenset()), key, reset_offset)


def _unfenced(coordinator: ShareCoordinator) -> ShareCoordinator:
    held = {key: attrs.evolve(each, leader_fence=0) for key, each in coordinator.held.items()}
    return attrs.evolve(coordinator, held=Map(held))


def _reads_unfenced(coordinator: ShareCoordinator, request: Any, now: int) -> Reply:  # noqa: ANN401 - as the right one
    return read_state(_unfenced(coordinator), request, now)


def _forgets_writes(coordinator: ShareCoordinator, request: StateRequest, now: int) -> Reply:
    reply = serve(coordinator, request, now)
    kept = coordinator if isinstance(request, WriteState) else reply.coordinator
    return attrs.evolve(reply, coordinator=kept)


@pytest.mark.parametrize(
    ("place", "name", "fault", "reason"),
    [
        (
            "spec.share_request",
            "load",
            _reads_what_it_knows,
            "broker 1 acquires although it was fenced",
        ),
        ("spec.share_broker", "FENCING", frozenset(), "broker 1: fenced_is_not_in_memory"),
        (
            "spec.share_cluster",
            "read_state",
            _reads_unfenced,
            "broker 1 takes something else for durable than what is",
        ),
        (
            "spec.share_cluster",
            "serve",
            _forgets_writes,
            "broker 1 takes something else for durable than what is",
        ),
    ],
    ids=["the read is ignored", "a fence drops nothing", "no read is fenced", "writes are lost"],
)
def test_the_search_notices_a_planted_fault(
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    name: str,
    fault: Callable[..., Any],
    reason: str,
) -> None:
    monkeypatch.setattr(f"{place}.{name}", fault)
    found = explored(begin(KIP)).violation
    assert found is not None
    assert found.reason == reason


def test_the_shortest_run_of_a_fenced_leader_that_acquires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spec.share_request.load", _reads_what_it_knows)
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


def test_what_both_sides_forget_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(durable: Durable, *_rest: object) -> Durable:
        return durable

    for place in ("spec.writes", "spec.coordinator"):
        monkeypatch.setattr(f"{place}.merge", forgets)
    found = explored(begin(KIP)).violation
    assert found is not None
    assert found.reason == "offset 0 was accepted, and would be delivered again"


def test_the_world_begins_with_a_leader_that_has_read_nothing() -> None:
    world = begin(KIP)
    assert check(world) is None
    assert [name for name, _ in steps(world)] == [
        "opens at broker 1",
        "broker 2 is elected",
        "altered",
    ]
