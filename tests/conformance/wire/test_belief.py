"""A hidden event that is allowed occurs in some belief, a demanded one in all."""

import attrs
import pytest

from conformance.wire.belief import (
    Belief,
    LockSpan,
    appended,
    beginnings,
    lost_connection,
    merged,
    possible,
    relocked,
    uncertain,
    unkept,
)
from conformance.wire.written import WrittenLog
from model.profile import KIP
from model.ranges import OffsetRange, PassedOver
from model.share_messages import FINAL_EPOCH
from spec.share_broker import ShareBroker
from spec.share_request import handle
from tests.conformance.wire.worlds import CONFIG, P0, PLACE, TIMING, fetch

KEY = (PLACE.group, P0)


def waiting(belief: Belief, place: tuple[int, int] | None) -> Belief:
    """Return the belief in which an offset has waited for so many fetches, or none has."""
    partitions = belief.broker.partitions
    there = attrs.evolve(
        partitions[KEY], passed_over=(PassedOver(place[0], *place),) if place else ()
    )
    partitions = partitions.set(KEY, there)
    return attrs.evolve(belief, broker=attrs.evolve(belief.broker, partitions=partitions))


@pytest.mark.parametrize(
    ("places", "kept"),
    [
        ([(3, 4), (3, 2), (3, 5)], (3, 2)),
        ([(3, 4), (5, 1)], None),
        ([(3, 4), None], None),
        ([(3, 4)], (3, 4)),
    ],
)
def test_beliefs_that_differ_in_what_waits_are_one_that_is_lenient(
    places: list[tuple[int, int] | None], kept: tuple[int, int] | None
) -> None:
    held = holding()
    beliefs = {waiting(held, place): nth for nth, place in enumerate(places)}
    others = {attrs.evolve(held, gone=held.gone.set("c", 1.0)): 99}
    assert merged(beliefs | others) == {waiting(held, kept): 0} | others


def holding() -> Belief:
    """Return the belief after member a acquired 0 to 2 between 10 and 20 ms."""
    belief = beginnings(KIP, PLACE.group, (PLACE.topic_id, PLACE.partitions), CONFIG)[0]
    belief = appended(belief, P0, [OffsetRange(0, 2)], WrittenLog(end=3))
    (before,) = possible(belief, 10, 20)
    handled = handle(before.broker, fetch("a", 0), before.broker.now, connection="c")
    return relocked(before, handled.broker, TIMING, (10, 20, 1))


def held(broker: ShareBroker) -> int:
    return len(broker.partitions[KEY].window.held)


def test_a_broker_may_or_may_not_keep_share_partitions_without_a_session() -> None:
    """It is undecided until the last session of the group may end, and again with the next one."""
    belief = holding()
    (key,) = belief.broker.sessions
    assert len(list(possible(belief, 30, 40, (PLACE.group, "b")))) == 1
    dropped, kept = possible(belief, 30, 40, key)
    close = attrs.evolve(fetch("a", FINAL_EPOCH), partitions=())
    after = [handle(b.broker, close, b.broker.now, connection="c").broker for b in (dropped, kept)]
    assert [broker.partitions[KEY].ready for broker in after] == [False, True]
    assert unkept(kept) == dropped
    assert unkept(attrs.evolve(kept, broker=after[1])).broker == after[1]
    gone = lost_connection(belief, "c", 500)
    ready = [b.broker.partitions[KEY].ready for b in possible(gone, 500, 510)]
    assert ready == [False, True]


def test_a_lock_ends_after_its_duration_and_before_its_deadline() -> None:
    belief = holding()
    assert set(belief.locks[KEY].values()) == {LockSpan(1010, 1520, 1)}
    assert [held(b.broker) for b in possible(belief, 1000, 1009)] == [3]
    assert [held(b.broker) for b in possible(belief, 1000, 1010)] == [3, 0]
    assert [held(b.broker) for b in possible(belief, 1519, 1600)] == [3, 0]
    assert [held(b.broker) for b in possible(belief, 1520, 1600)] == [0]
    assert uncertain(belief, 1000, 1009) == 0
    assert uncertain(belief, 1000, 1010) == 1520
    assert uncertain(belief, 1520, 1600) == 0
