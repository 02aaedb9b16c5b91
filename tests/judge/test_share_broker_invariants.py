"""Invariants of a broker: each notices what breaks it; ``session_world`` keeps them."""

import attrs
import pytest
from immutables import Map

from judge.invariants import broken_names
from judge.share_broker_invariants import BROKER_INVARIANTS
from model.errors import ErrorCode
from model.outcome import Write
from model.share_messages import ShareResponse, TopicPartition
from spec.partition import Outstanding
from spec.share_broker import ShareBroker, WaitingResponse
from spec.share_session import SessionPartition, ShareSession
from tests.spec.share_worlds import P0, P1, broker_of, opened


def _broken(name: str) -> ShareBroker:
    good = opened(broker_of())
    session = good.sessions["g", "m"]
    ready = good.partitions["g", P0]
    return {
        "sessions_within_limit": attrs.evolve(good, most_sessions=0),
        "live_epoch_neither_opens_nor_closes": attrs.evolve(
            good, sessions=Map({("g", "m"): attrs.evolve(session, epoch=0)})
        ),
        "session_names_each_once": attrs.evolve(
            good, sessions=Map({("g", "m"): ShareSession(1, "c", (SessionPartition(P0),) * 2)})
        ),
        "idle_groups_are_dropped": attrs.evolve(good, sessions=Map()),
        "awaited_is_outstanding": attrs.evolve(
            good, waiting=Map({0: WaitingResponse("g", ShareResponse(), frozenset({P0}))})
        ),
        "elsewhere_is_not_in_memory": attrs.evolve(good, elsewhere=frozenset({P0})),
        "fenced_is_not_in_memory": attrs.evolve(good, fenced=frozenset({("g", P0)})),
        "clock_is_one": attrs.evolve(good, now=5),
        "share_partitions_are_sound": attrs.evolve(
            good,
            partitions=good.partitions.set(
                ("g", P0), attrs.evolve(ready, window=attrs.evolve(ready.window, complete=7))
            ),
        ),
    }[name]


NAMES = (
    "sessions_within_limit",
    "live_epoch_neither_opens_nor_closes",
    "session_names_each_once",
    "idle_groups_are_dropped",
    "awaited_is_outstanding",
    "elsewhere_is_not_in_memory",
    "fenced_is_not_in_memory",
    "clock_is_one",
    "share_partitions_are_sound",
)


def test_every_invariant_has_an_example() -> None:
    assert tuple(one.name for one in BROKER_INVARIANTS) == NAMES


def test_a_write_that_is_outstanding_keeps_a_group_in_memory() -> None:
    good, one = opened(broker_of()), Outstanding(Write(0, 0, 0, (), ErrorCode.PENDING))
    partitions = {
        at: attrs.evolve(there, outstanding=Map({0: one})) for at, there in good.partitions.items()
    }
    idle = attrs.evolve(good, sessions=Map(), partitions=Map(partitions))
    assert broken_names(BROKER_INVARIANTS, idle) == ["idle_groups_are_dropped"]
    idle = attrs.evolve(idle, unvalidated=frozenset(partitions))
    assert broken_names(BROKER_INVARIANTS, idle) == []


@pytest.mark.parametrize(
    ("seq", "group", "left", "sound"),
    [
        (3, "g", {P0}, True),
        (4, "g", {P0}, False),
        (3, "h", {P0}, False),
        (3, "g", {P1}, False),
        (3, "g", {P0, P1}, False),
        (3, "g", set(), False),
    ],
)
def test_a_response_waits_for_the_writes_of_its_own_call(
    seq: int, group: str, left: set[TopicPartition], *, sound: bool
) -> None:
    good = opened(broker_of())
    one = Outstanding(Write(0, 0, 0, (), ErrorCode.PENDING), seq=3)
    ready = attrs.evolve(good.partitions["g", P0], outstanding=Map({0: one}))
    waiting = Map({seq: WaitingResponse(group, ShareResponse(), frozenset(left))})
    broker = attrs.evolve(good, partitions=Map({("g", P0): ready}), waiting=waiting)
    assert ("awaited_is_outstanding" not in broken_names(BROKER_INVARIANTS, broker)) is sound


@pytest.mark.parametrize("name", NAMES)
def test_each_invariant_notices_what_breaks_it(name: str) -> None:
    assert broken_names(BROKER_INVARIANTS, opened(broker_of())) == []
    assert broken_names(BROKER_INVARIANTS, _broken(name)) == [name]
