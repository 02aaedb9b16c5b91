"""What the kit knows of a broker: the set of states that explain everything it has answered.

The kit cannot read the state of a broker. It keeps a set of *beliefs*: states of the specification,
each of which could have given every answer so far. The set begins with the states of a broker that
leads the empty partitions of a new topic. Each exchange then moves it in three steps:

1. *Hidden events*. Between two requests a broker may change its state unasked. ``possible`` yields
   for a belief each state that such events lead to, the one with the fewest of them first.
2. *Answers*. ``explain`` keeps the states in which the specification, for some choice that the
   rules leave open, gives the very answer that came. The next set has the states after it. So an
   answer narrows the set, and a choice that the answer does not show widens it.
3. *Verdict*. An empty set is a deviation: no legal broker answers like this after all that was
   answered before. With too many beliefs (``judge.MOST_BELIEFS``) the judge stops following.

An event is *forbidden* before a time, *allowed* from then on, and *demanded* by a later time. With
times in ms on the kit's clock, three kinds of hidden event exist:

- An acquisition lock ends. The broker granted it after the request was sent and before the response
  was received, so this is forbidden until the duration has passed since the sending (``earliest``),
  and demanded when the duration and the broker's sweep interval have passed since the receipt
  (``latest``). In between a request may meet the record held or available.
- The leader notices that the log lost records: allowed with each request after the deletion, never
  demanded.
- The broker notices that a connection is closed, which ends its sessions: allowed from the closing,
  demanded by a deadline.

The clock of the specification does not follow the kit's: each step takes 1 ms of it. A belief has
its own times for locks, and before a step moves the deadlines of the records: to the step for the
locks that end in it, and beyond it for the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import TypeVar

import attrs
from immutables import Map

from conformance.wire.written import WrittenLog
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AdvanceLogStart, Produce
from model.outcome import Answer
from model.profile import Profile
from model.ranges import OffsetRange, PassedOver
from model.share_messages import Conduct, TopicPartition
from spec.coordinator import Durable
from spec.log import Log
from spec.partition import SharePartition
from spec.share_broker import PartitionKey, ShareBroker, advance, append, apply_to, disconnect, lead
from spec.share_session import SessionKey, ShareSession
from spec.window import replace

_MOST_BRANCHES = 3
"""Up to so many undecided events are combined in every way; of more, all occur or none does."""

_KEEPER = "kept in memory"
_ANY, _FENCED = Conduct(), Answer(status=ErrorCode.FENCED_STATE_EPOCH)

_T = TypeVar("_T")


SLACK_MS = 500
"""How much later than a broker promises an event may occur (ms): machines are busy."""


@attrs.frozen
class Timing:
    """How long a lock lasts, how late a broker may end it, and how late any event may be (ms)."""

    lock_ms: int
    sweep_ms: int
    slack_ms: int = SLACK_MS


@attrs.frozen
class LockSpan:
    """An acquisition lock: it ends at ``earliest`` or later and before ``latest`` (ms).

    ``exchange`` is the number of the request that acquired or renewed it.
    """

    earliest: float
    latest: float
    exchange: int


Locks = Map[int, LockSpan]


@attrs.frozen
class Belief:
    """One state that a broker may be in.

    Where a log starts after the window does, the leader has not noticed it yet. ``gone`` has the
    closed connections, with the time (ms) by which the broker notices. ``unread`` has states that
    were made durable unnoticed by the leader: they fence its writes, until it reads them.
    """

    broker: ShareBroker
    locks: Map[PartitionKey, Locks] = Map()
    gone: Map[str, float] = Map()
    unread: Map[PartitionKey, Durable] = Map()

    def fencing(self, conduct: Conduct = _ANY) -> Conduct:
        """Return the conduct in which what is unread fences the writes as a session ends."""
        chosen = dict(conduct.partitions)
        for _group, place in self.unread:
            chosen[place] = attrs.evolve(conduct.of(place), release_answer=_FENCED)
        return attrs.evolve(conduct, partitions=tuple(chosen.items())) if self.unread else conduct


def beginnings(
    profile: Profile, group: str, topic: tuple[str, int], config: SharePartitionConfig
) -> tuple[Belief, ...]:
    """Return the beliefs about a broker that leads the empty partitions of a new topic."""
    topic_id, partitions = topic
    broker = ShareBroker(profile, topics=Map({topic_id: partitions}))
    for partition in range(partitions):
        key = (group, TopicPartition(topic_id, partition))
        broker = lead(broker, key, config, Log(0, 0), Durable())
    return (Belief(broker),)


def appended(
    belief: Belief, topic_partition: TopicPartition, batches: Sequence[OffsetRange], log: WrittenLog
) -> Belief:
    """Return the belief after log batches were appended, which made the log what it is."""
    operation = Produce(tuple(batches), log.end, log.stable)
    return attrs.evolve(belief, broker=append(belief.broker, topic_partition, operation))


def lost_records(belief: Belief, key: PartitionKey, before: int) -> Belief:
    """Return the belief after the log lost its records below ``before``, still unnoticed."""
    broker, partition = belief.broker, belief.broker.partitions[key]
    partition = attrs.evolve(partition, log=attrs.evolve(partition.log, start_offset=before))
    broker = attrs.evolve(broker, partitions=broker.partitions.set(key, partition))
    return attrs.evolve(belief, broker=broker)


def held_until(belief: Belief, key: PartitionKey, before: int) -> float:
    """Return when (ms) the locks of all records below ``before`` have ended; 0 without any."""
    locks = belief.locks.get(key, Map()).items()
    return max((lock.latest for offset, lock in locks if offset < before), default=0)


def begun_again(belief: Belief, key: PartitionKey, state: Durable, log: WrittenLog) -> Belief:
    """Return the belief after the durable state of a share-partition without sessions was set.

    KIP-932: its leader compares the state epoch when there is a session again, and reads it.
    """
    broker = attrs.evolve(belief.broker, sessions=Map())
    return _led(attrs.evolve(belief, broker=broker, gone=Map()), key, state, log)


def unnoticed(belief: Belief, key: PartitionKey, state: Durable | None) -> Belief:
    """Return the belief after the same, unnoticed by a leader; None: nor is it fenced."""
    others = belief.unread.delete(key) if key in belief.unread else belief.unread
    return attrs.evolve(belief, unread=others if state is None else others.set(key, state))


def reread(belief: Belief, logs: Mapping[TopicPartition, WrittenLog]) -> Belief:
    """Return the belief in which unread states are those of what is in memory no longer."""
    for key, state in belief.unread.items():
        if not belief.broker.partitions[key].ready:
            belief = _led(belief, key, state, logs[key[1]])
    return belief


def _led(belief: Belief, key: PartitionKey, state: Durable, log: WrittenLog) -> Belief:
    broker = belief.broker
    # A log forgets what the window has passed.
    broker = lead(broker, key, broker.partitions[key].config, Log(0, 0), state)
    broker = append(broker, key[1], Produce(log.batches, log.end, log.stable))
    locks = belief.locks.delete(key) if key in belief.locks else belief.locks
    belief = unnoticed(attrs.evolve(belief, broker=broker, locks=locks), key, None)
    return lost_records(belief, key, log.start)


def lost_connection(belief: Belief, connection: str, latest: float) -> Belief:
    """Return the belief after a connection closed; the broker notices by ``latest`` (ms)."""
    known = any(s.connection == connection for s in belief.broker.sessions.values())
    return attrs.evolve(belief, gone=belief.gone.set(connection, latest)) if known else belief


def possible(
    belief: Belief, sent: float, received: float, closing: SessionKey | None = None
) -> Iterator[Belief]:
    """Yield each belief after the hidden events before a request with these times (ms).

    The first has only the events that are demanded. ``closing`` is the session that the request
    ends.
    """
    for kept in _kept(belief, closing):
        yield from _possible(kept, sent, received)


def _possible(belief: Belief, sent: float, received: float) -> Iterator[Belief]:
    for ended in _endings(belief, sent, received):
        timed = _ended(belief, ended)
        for connections in _subsets(list(belief.gone)):
            if any(until <= sent and c not in connections for c, until in belief.gone.items()):
                continue
            later = _disconnected(timed, connections)
            for keys in _subsets(_unnoticed(later)):
                yield _noticed(later, keys)


def _kept(belief: Belief, closing: SessionKey | None) -> Iterator[Belief]:
    """Yield the belief, and where the group's last session may end one more.

    A broker may then keep the share-partitions in memory, or read them again: in the other belief a
    session stays in the place of the last until there is another (``unkept``).
    """
    yield belief
    sessions = belief.broker.sessions
    ending = {key for key, each in sessions.items() if each.connection in belief.gone} | {closing}
    if sessions and ending.issuperset(sessions):
        group, _member = next(iter(sessions))
        keeping = sessions.set((group, _KEEPER), ShareSession(1, _KEEPER))
        yield attrs.evolve(belief, broker=attrs.evolve(belief.broker, sessions=keeping))


def unkept(belief: Belief) -> Belief:
    """Return the belief without the session that only stands for others, if there are some."""
    sessions = belief.broker.sessions
    keepers = [key for key, each in sessions.items() if each.connection == _KEEPER]
    if not keepers or len(sessions) == len(keepers):
        return belief
    (keeper,) = keepers
    return attrs.evolve(
        belief, broker=attrs.evolve(belief.broker, sessions=sessions.delete(keeper))
    )


def merged(beliefs: Mapping[Belief, _T]) -> dict[Belief, _T]:
    """Return the beliefs without those that differ from an earlier one in what waits alone.

    How long a record has waited depends on what the broker did unseen. Of several counts for the
    same record the lowest stays, and of a record that waits in one of them only none, so that no
    broker is wronged.
    """
    kept: dict[Belief, tuple[Belief, _T]] = {}
    for belief, value in beliefs.items():
        rest = _with_waiting(belief, {})
        if rest in kept:
            first, value = kept[rest]  # noqa: PLW2901 - that of the first
            belief = _with_waiting(first, _shortest(first, belief))  # noqa: PLW2901 - of both
        kept[rest] = belief, value
    return dict(kept.values())


def _shortest(first: Belief, other: Belief) -> dict[PartitionKey, tuple[PassedOver, ...]]:
    shortest = {}
    for key, partition in first.broker.partitions.items():
        mine, theirs = partition.passed_over, other.broker.partitions[key].passed_over
        shortest[key] = tuple(
            PassedOver(low, high, min(one.fetches, another.fetches))
            for one in mine
            for another in theirs
            if (low := max(one.first, another.first)) <= (high := min(one.last, another.last))
        )
    return shortest


def _with_waiting(belief: Belief, waiting: Mapping[PartitionKey, tuple[PassedOver, ...]]) -> Belief:
    partitions = belief.broker.partitions
    for key, partition in partitions.items():
        if partition.passed_over != waiting.get(key, ()):
            told = attrs.evolve(partition, passed_over=waiting.get(key, ()))
            partitions = partitions.set(key, told)
    return attrs.evolve(belief, broker=attrs.evolve(belief.broker, partitions=partitions))


def uncertain(belief: Belief, sent: float, received: float) -> float:
    """Return the time (ms) until which some lock may have ended or not; 0 if none is undecided."""
    return max((lock.latest for _key, lock in _undecided(belief, sent, received)), default=0)


def relocked(
    belief: Belief, broker: ShareBroker, timing: Timing, times: tuple[float, float, int]
) -> Belief:
    """Return the belief with the broker after a request, and the locks that it granted.

    ``times``: when the request was sent, when the response was received (ms), and its number.
    """
    sent, received, number = times
    latest = received + timing.lock_ms + timing.sweep_ms + timing.slack_ms
    new = LockSpan(sent + timing.lock_ms, latest, number)
    locks = {}
    for key, partition in broker.partitions.items():
        window, before = partition.window, belief.locks.get(key, Map())
        taken = broker.now + timing.lock_ms
        held = {o: new if window.records[o].deadline == taken else before[o] for o in window.held}
        if held:
            locks[key] = Map(held)
    return unkept(attrs.evolve(belief, broker=broker, locks=Map(locks)))


def _undecided(belief: Belief, sent: float, received: float) -> set[tuple[PartitionKey, LockSpan]]:
    return {
        (key, lock)
        for key, locks in belief.locks.items()
        for lock in locks.values()
        if lock.earliest <= received and lock.latest > sent
    }


def _endings(
    belief: Belief, sent: float, received: float
) -> Iterator[frozenset[tuple[PartitionKey, LockSpan]]]:
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


def _ended(belief: Belief, ended: frozenset[tuple[PartitionKey, LockSpan]]) -> Belief:
    """Return the belief one step later, in which exactly these locks have ended."""
    broker, now = belief.broker, belief.broker.now + 1
    partitions, remaining = broker.partitions, {}
    for key, locks in belief.locks.items():
        over = {offset for offset, lock in locks.items() if (key, lock) in ended}
        partitions = partitions.set(key, _timed(partitions[key], over, now))
        remaining[key] = Map({offset: lock for offset, lock in locks.items() if offset not in over})
    broker = advance(attrs.evolve(broker, partitions=partitions), now)
    return attrs.evolve(belief, broker=broker, locks=Map(remaining))


def _timed(partition: SharePartition, over: set[int], now: int) -> SharePartition:
    """Return the share-partition in which the locks of these offsets are due, and no others."""
    records = partition.window.records
    due = {o: attrs.evolve(records[o], deadline=now) for o in over}
    for offset in partition.window.held:
        if offset not in over and records[offset].deadline <= now:
            due[offset] = attrs.evolve(records[offset], deadline=now + 1)
    return attrs.evolve(partition, window=replace(partition.window, due))


def _disconnected(belief: Belief, connections: Sequence[str]) -> Belief:
    for connection in connections:
        now, fenced = belief.broker.now, belief.fencing()
        broker = disconnect(belief.broker, connection, now, fenced).broker
        gone = belief.gone.delete(connection)
        belief = attrs.evolve(_pruned(belief, broker), gone=gone)
    return belief


def _unnoticed(belief: Belief) -> list[PartitionKey]:
    return [
        key
        for key, partition in belief.broker.partitions.items()
        if partition.ready and partition.log.start_offset > partition.window.start_offset
    ]


def _noticed(belief: Belief, keys: Sequence[PartitionKey]) -> Belief:
    """Return the belief in which the leader knows where the logs of these partitions start."""
    broker = belief.broker
    for key in keys:
        operation = AdvanceLogStart(broker.partitions[key].log.start_offset)
        broker, _ = apply_to(broker, key, operation)
    return _pruned(belief, broker)


def _pruned(belief: Belief, broker: ShareBroker) -> Belief:
    """Return the belief with another broker, without the locks that it has ended."""
    locks = {
        key: Map({o: lock for o, lock in held.items() if o in broker.partitions[key].window.held})
        for key, held in belief.locks.items()
    }
    return attrs.evolve(belief, broker=broker, locks=Map(locks))
