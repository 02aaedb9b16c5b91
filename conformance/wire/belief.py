"""What a broker may be like after what was seen: one possible state, and what may happen unseen.

Three things happen unseen. An acquisition lock ends at some time between its duration counted from
when its request was sent, and its duration counted from when the response had come, plus the time
that a broker takes to notice. The leader notices that the log lost records with any request after
that. And a connection that is closed is noticed within some time.

The clock of the specification does not run with the wall's: each step takes 1 ms of it, and the
deadlines of the records are moved to whatever happens in that step.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import TypeVar

import attrs
from immutables import Map

from model.config import SharePartitionConfig
from model.operations import AdvanceLogStart, Produce
from model.profile import Profile
from model.ranges import OffsetRange
from model.share_messages import TopicPartition
from spec.coordinator import Durable
from spec.log import Log
from spec.partition import SharePartition
from spec.share_broker import (
    PartitionKey,
    ShareBroker,
    advance,
    append,
    apply_to,
    disconnect,
    lead,
)
from spec.share_session import ShareSession
from spec.window import replace

__all__ = [
    "SLACK_MS",
    "Belief",
    "Lock",
    "Timing",
    "appended",
    "beginnings",
    "lost_connection",
    "lost_records",
    "possible",
    "relocked",
    "uncertain",
]

_MOST_BRANCHES = 3
"""Of so many acquisitions that may be over each may be, or not; of more all are, or none."""

_KEEPER = "kept in memory"

_T = TypeVar("_T")


SLACK_MS = 500
"""How much later than a broker says of itself anything may be: machines are busy."""


@attrs.frozen
class Timing:
    """How long a lock lasts, and how late its end and that of a connection may be (ms)."""

    lock_ms: int
    sweep_ms: int
    slack_ms: int = SLACK_MS


@attrs.frozen
class Lock:
    """An acquisition lock: it ends at ``earliest`` or later and before ``latest`` (ms).

    ``exchange`` is the number of the request that took or renewed it.
    """

    earliest: float
    latest: float
    exchange: int


Locks = Map[int, Lock]


@attrs.frozen
class Belief:
    """One state that a broker may be in.

    A log that starts after its window is what the leader has yet to notice. ``gone`` are
    connections that are closed, with the time (ms) by which that is noticed.
    """

    broker: ShareBroker
    locks: Map[PartitionKey, Locks] = Map()
    gone: Map[str, float] = Map()


def beginnings(
    profile: Profile, group: str, topic: tuple[str, int], config: SharePartitionConfig
) -> tuple[Belief, ...]:
    """Return what a broker may be like that leads the empty partitions of a new topic.

    Once a group has no session any more a broker may have its share-partitions in memory, or read
    them again. The first is believed by means of a session that never ends.
    """
    topic_id, partitions = topic
    broker = ShareBroker(profile, topics=Map({topic_id: partitions}))
    for partition in range(partitions):
        key = (group, TopicPartition(topic_id, partition))
        broker = lead(broker, key, config, Log(0, 0), Durable())
    session = ShareSession(1, _KEEPER)
    keeping = attrs.evolve(broker, sessions=Map({(group, _KEEPER): session}))
    return Belief(broker), Belief(keeping)


def appended(
    belief: Belief, at: TopicPartition, batches: Sequence[OffsetRange], end: int
) -> Belief:
    """Return the belief after log batches were appended; the log ends at ``end`` (exclusive)."""
    return attrs.evolve(belief, broker=append(belief.broker, at, Produce(tuple(batches), end)))


def lost_records(belief: Belief, key: PartitionKey, before: int) -> Belief:
    """Return the belief after the log lost its records below ``before``, which nobody noticed."""
    broker, there = belief.broker, belief.broker.partitions[key]
    there = attrs.evolve(there, log=attrs.evolve(there.log, start_offset=before))
    broker = attrs.evolve(broker, partitions=broker.partitions.set(key, there))
    return attrs.evolve(belief, broker=broker)


def lost_connection(belief: Belief, connection: str, latest: float) -> Belief:
    """Return the belief after a connection was closed, which is noticed by ``latest`` (ms)."""
    known = any(one.connection == connection for one in belief.broker.sessions.values())
    return attrs.evolve(belief, gone=belief.gone.set(connection, latest)) if known else belief


def possible(belief: Belief, sent: float, received: float) -> Iterator[Belief]:
    """Yield what a request may meet that was sent and answered at these times (ms).

    First what has not noticed anything that it need not have noticed.
    """
    for ended in _endings(belief, sent, received):
        timed = _ended(belief, ended)
        for connections in _subsets(list(belief.gone)):
            if any(until <= sent and c not in connections for c, until in belief.gone.items()):
                continue
            left = _disconnected(timed, connections)
            for keys in _subsets(_unnoticed(left)):
                yield _noticed(left, keys)


def uncertain(belief: Belief, sent: float, received: float) -> float:
    """Return until when it is not certain which locks are over that may be; 0 if it is."""
    return max((lock.latest for _key, lock in _undecided(belief, sent, received)), default=0)


def relocked(
    belief: Belief, broker: ShareBroker, timing: Timing, times: tuple[float, float, int]
) -> Belief:
    """Return the belief with a broker that has served a request, and the locks it took then.

    ``times``: when the request was sent, when the response had come, and its number.
    """
    sent, received, number = times
    new = Lock(sent + timing.lock_ms, _latest(received, timing), number)
    locks = {}
    for key, partition in broker.partitions.items():
        window, before = partition.window, belief.locks.get(key, Map())
        taken = broker.now + timing.lock_ms
        held = {o: new if window.records[o].deadline == taken else before[o] for o in window.held}
        if held:
            locks[key] = Map(held)
    return attrs.evolve(belief, broker=broker, locks=Map(locks))


def _latest(received: float, timing: Timing) -> float:
    return received + timing.lock_ms + timing.sweep_ms + timing.slack_ms


def _undecided(belief: Belief, sent: float, received: float) -> set[tuple[PartitionKey, Lock]]:
    return {
        (key, lock)
        for key, locks in belief.locks.items()
        for lock in locks.values()
        if lock.earliest <= received and lock.latest > sent
    }


def _endings(
    belief: Belief, sent: float, received: float
) -> Iterator[frozenset[tuple[PartitionKey, Lock]]]:
    over = {
        (key, lock)
        for key, locks in belief.locks.items()
        for lock in locks.values()
        if lock.latest <= sent
    }
    for some in _subsets(sorted(_undecided(belief, sent, received), key=repr)):
        yield frozenset(over | set(some))


def _subsets(items: list[_T]) -> Iterator[tuple[_T, ...]]:
    if len(items) > _MOST_BRANCHES:
        return iter(((), tuple(items)))
    return chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))


def _ended(belief: Belief, ended: frozenset[tuple[PartitionKey, Lock]]) -> Belief:
    """Return the belief one step later, in which exactly these locks are over."""
    broker, now = belief.broker, belief.broker.now + 1
    partitions, left = broker.partitions, {}
    for key, locks in belief.locks.items():
        over = {offset for offset, lock in locks.items() if (key, lock) in ended}
        partitions = partitions.set(key, _timed(partitions[key], over, now))
        left[key] = Map({offset: lock for offset, lock in locks.items() if offset not in over})
    broker = advance(attrs.evolve(broker, partitions=partitions), now)
    return attrs.evolve(belief, broker=broker, locks=Map(left))


def _timed(partition: SharePartition, over: set[int], now: int) -> SharePartition:
    """Return the share-partition in which these locks are due, and no others."""
    records = partition.window.records
    due = {o: attrs.evolve(records[o], deadline=now) for o in over}
    for offset in partition.window.held:
        if offset not in over and records[offset].deadline <= now:
            due[offset] = attrs.evolve(records[offset], deadline=now + 1)
    return attrs.evolve(partition, window=replace(partition.window, due))


def _disconnected(belief: Belief, connections: Sequence[str]) -> Belief:
    for connection in connections:
        broker = disconnect(belief.broker, connection, belief.broker.now).broker
        gone = belief.gone.delete(connection)
        belief = attrs.evolve(_pruned(belief, broker), gone=gone)
    return belief


def _unnoticed(belief: Belief) -> list[PartitionKey]:
    return [
        key
        for key, there in belief.broker.partitions.items()
        if there.ready and there.log.start_offset > there.window.start_offset
    ]


def _noticed(belief: Belief, keys: Sequence[PartitionKey]) -> Belief:
    """Return the belief in which the leader knows where the logs of these start."""
    broker = belief.broker
    for key in keys:
        operation = AdvanceLogStart(broker.partitions[key].log.start_offset)
        broker, _ = apply_to(broker, key, operation)
    return _pruned(belief, broker)


def _pruned(belief: Belief, broker: ShareBroker) -> Belief:
    """Return the belief with another broker, and the locks that are still held there."""
    locks = {
        key: Map({o: lock for o, lock in held.items() if o in broker.partitions[key].window.held})
        for key, held in belief.locks.items()
    }
    return attrs.evolve(belief, broker=broker, locks=Map(locks))
