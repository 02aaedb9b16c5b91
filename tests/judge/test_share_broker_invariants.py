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

GOOD = opened(broker_of())
SESSION, READY = GOOD.sessions["g", "m"], GOOD.partitions["g", P0]
SPOILED = attrs.evolve(READY, window=attrs.evolve(READY.window, complete=7))
BROKEN: dict[str, ShareBroker] = {
    "sessions_within_limit": attrs.evolve(GOOD, most_sessions=0),
    "live_epoch_neither_opens_nor_closes": attrs.evolve(
        GOOD, sessions=Map({("g", "m"): attrs.evolve(SESSION, epoch=0)})
    ),
    "session_names_each_once": attrs.evolve(
        GOOD, sessions=Map({("g", "m"): ShareSession(1, "c", (SessionPartition(P0),) * 2)})
    ),
    "idle_groups_are_dropped": attrs.evolve(GOOD, sessions=Map()),
    "awaited_is_outstanding": attrs.evolve(
        GOOD, waiting=Map({0: WaitingResponse("g", ShareResponse(), frozenset({P0}))})
    ),
    "elsewhere_is_not_in_memory": attrs.evolve(GOOD, elsewhere=frozenset({P0})),
    "fenced_is_not_in_memory": attrs.evolve(GOOD, fenced=frozenset({("g", P0)})),
    "clock_is_one": attrs.evolve(GOOD, now=5),
    "share_partitions_are_sound": attrs.evolve(
        GOOD, partitions=GOOD.partitions.set(("g", P0), SPOILED)
    ),
}


def test_every_invariant_has_an_example() -> None:
    assert tuple(one.name for one in BROKER_INVARIANTS) == tuple(BROKEN)


def test_a_write_that_is_outstanding_keeps_a_group_in_memory() -> None:
    one = Outstanding(Write(0, 0, 0, (), ErrorCode.PENDING))
    partitions = {
        at: attrs.evolve(there, outstanding=Map({0: one})) for at, there in GOOD.partitions.items()
    }
    idle = attrs.evolve(GOOD, sessions=Map(), partitions=Map(partitions))
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
    one = Outstanding(Write(0, 0, 0, (), ErrorCode.PENDING), seq=3)
    ready = attrs.evolve(READY, outstanding=Map({0: one}))
    waiting = Map({seq: WaitingResponse(group, ShareResponse(), frozenset(left))})
    broker = attrs.evolve(GOOD, partitions=Map({("g", P0): ready}), waiting=waiting)
    assert ("awaited_is_outstanding" not in broken_names(BROKER_INVARIANTS, broker)) is sound


@pytest.mark.parametrize("name", BROKEN)
def test_each_invariant_notices_what_breaks_it(name: str) -> None:
    assert broken_names(BROKER_INVARIANTS, GOOD) == []
    assert broken_names(BROKER_INVARIANTS, BROKEN[name]) == [name]
