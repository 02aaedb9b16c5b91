"""A broker of ``serve`` in a thread of its own, for one run of a client."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import attrs

from clients.drivers import GROUP
from clients.duties import Duty
from clients.events import (
    UNREADABLE,
    Called,
    Compacted,
    Corrupted,
    Moved,
    Place,
    Returned,
    Settings,
)
from clients.journal import Journal
from clients.judge import HUNG_UP, RESTARTED, judge
from clients.odd_batches import control_batch, corrupt_batch, empty_batch, transaction_batch
from clients.scripts import Do
from conformance.wire.records import Producer, batch_of, record_batch
from model.ranges import OffsetRange
from model.share_messages import TopicPartition
from serve.batches import produced_batch
from serve.coordination import Beat, heartbeat, move_coordinator, move_on, remove, update_all
from serve.members import Group, Member
from serve.node import Cluster, Options
from serve.rare import START_SECONDS, Habit
from serve.running import EARLIEST, ServedBroker, in_thread
from serve.server import Server
from serve.topics import (
    add_partition,
    create_topic,
    delete_topic,
    move_leader,
    produce,
    reconfigure,
)
from spec import share_broker
from spec.share_broker import advance
from spec.share_request import readable
from spec.share_session import next_epoch

_T = TypeVar("_T")
_P = ParamSpec("_P")
SECOND = "second"
"""The other member that may join the group of the client."""
HEARTBEAT_MS = 100
"""The interval of heartbeats that members are told; Kafka allows an administrator 1 ms and more."""
_BROKER = {f"group.share.{name}heartbeat.interval.ms": HEARTBEAT_MS for name in ("", "min.")}
EVICTED, LAPSED = "the broker ended its session", "its acquisition locks ended"


def _in_its_thread(
    method: "Callable[Concatenate[Broker, Cluster, _P], _T]",
) -> "Callable[Concatenate[Broker, _P], _T]":
    """Let a method run in the broker's thread, between two requests, with what brokers hold."""

    @wraps(method)
    def asked(self: "Broker", /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        return self.do(lambda cluster: method(self, cluster, *arguments, **named))

    return asked


@attrs.frozen
class Broker:
    """A broker that runs; its methods may be called from any thread but its own."""

    served: ServedBroker
    journal: Journal

    @property
    def address(self) -> str:
        """The address for ``bootstrap.servers``."""
        return self.served.address

    def happen(self, habit: str) -> None:
        """Let something rare happen at the next occasion, by its name in scripts."""
        self.do(lambda cluster: cluster.rare.arm(Habit[habit.replace("-", "_").upper()]))

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Take note that the client closes, and has closed without an error at the end."""
        self.journal.note(Called(self.journal.now(), "close"))
        yield
        self.journal.note(Returned(self.journal.now(), "close"))

    def violations(self, duty: str) -> list[str]:
        """Return how a duty was violated, by its name, as far as the broker sees it."""
        found = judge(self.journal.record(Settings()))
        return [each.recorded for each in found if each.name == Duty(duty).value]

    def do(self, what: Callable[[Cluster], _T]) -> _T:
        """Run a function in the broker's thread, between two requests."""
        return self.served.do(what)

    @_in_its_thread
    def topic(self, cluster: Cluster, name: str, partitions: int, start: int = 0) -> None:
        """Create a topic whose logs begin at ``start``."""
        for log in create_topic(cluster, name, partitions).logs:
            log.start = log.end = start

    @_in_its_thread
    def places(self, cluster: Cluster, topics: tuple[str, ...]) -> list[Place]:
        """Return the partitions of topics."""
        logs = cluster.topics
        return [(name, nth) for name in topics for nth in range(len(logs[name].logs))]

    @_in_its_thread
    def produce(
        self, cluster: Cluster, place: Place, count: int, removed: frozenset[int] = frozenset()
    ) -> None:
        """Append one batch of records, each with a value that tells its offset.

        ``removed``: which of them, counted from 0, are gone as compaction leaves it.
        """
        topic = cluster.topics[place[0]]
        first = topic.logs[place[1]].end
        batch = produced_batch(record_batch(count, first=first), cluster.options.limits)
        if removed:
            batch = attrs.evolve(batch, data=record_batch(count, first=first, removed=removed))
            offsets = frozenset(first + nth for nth in removed)
            self.journal.note(Compacted(self.journal.now(), place, offsets))
        produce(cluster, topic, place[1], batch)

    @_in_its_thread
    def odd(self, cluster: Cluster, do: Do, place: Place, count: int) -> None:
        """Append a batch of so many offsets that has no record, or none that can be read."""
        topic = cluster.topics[place[0]]
        first, noted = topic.logs[place[1]].end, Compacted if do is Do.PRODUCE_EMPTY else Corrupted
        if do is Do.PRODUCE_UNREADABLE:
            batch = produced_batch(batch_of([UNREADABLE.encode()] * count), cluster.options.limits)
        elif do is Do.PRODUCE_CORRUPT:
            batch = corrupt_batch(count, first)
        else:
            batch = empty_batch(count, first, Producer(next(cluster.producers), 0, 0))
        offsets = frozenset(range(first, first + count))
        self.journal.note(noted(self.journal.now(), place, offsets))
        produce(cluster, topic, place[1], batch)

    @_in_its_thread
    def transact(self, cluster: Cluster, place: Place, count: int, *, commits: bool) -> None:
        """Append a batch of a transaction, which then commits or aborts: a control record."""
        topic = cluster.topics[place[0]]
        log = topic.logs[place[1]]
        first, control = log.end, log.end + count
        who = Producer(next(cluster.producers), 0, 0)
        produce(cluster, topic, place[1], transaction_batch(count, first, who))
        self.journal.note(Compacted(self.journal.now(), place, frozenset({control})))
        if not commits:
            log.aborted.append(OffsetRange(first, control - 1))
        produce(cluster, topic, place[1], control_batch(control, who, commits=commits))

    @_in_its_thread
    def add_partition(self, cluster: Cluster, name: str, *, late: bool) -> int | None:
        """Add a partition to a topic, which Metadata may tell late; return as ``expel`` does."""
        topic = cluster.topics[name]
        if late:
            known = len(topic.leaders), time.monotonic() + START_SECONDS
            cluster.rare.unheard.setdefault(name, known)
        add_partition(cluster, topic)
        return self._changed(cluster, name)

    @_in_its_thread
    def delete(self, cluster: Cluster, name: str) -> int | None:
        """Delete a topic with its records; return as ``expel`` does."""
        topic = cluster.topics[name]
        self.journal.delete(topic)
        delete_topic(cluster, topic)
        return self._changed(cluster, name)

    @_in_its_thread
    def create(self, cluster: Cluster, name: str, partitions: int) -> int | None:
        """Create a topic, unless a client's Metadata has; return as ``expel`` does."""
        topic = cluster.topics.get(name) or create_topic(cluster, name, partitions)
        for _ in range(len(topic.logs), partitions):
            add_partition(cluster, topic)
        return self._changed(cluster, name)

    def _changed(self, cluster: Cluster, name: str) -> int | None:
        update_all(cluster, (name,))
        members = any(_members(group) for group in cluster.groups.values())
        return self.journal.heartbeats if members else None

    @_in_its_thread
    def set_group(self, cluster: Cluster, name: str, value: str) -> None:
        """Set a setting of the group, as an administrator does."""
        cluster.settings.setdefault(GROUP, {})[name] = value
        reconfigure(cluster, GROUP)

    @_in_its_thread
    def second_member(self, cluster: Cluster, topic: str) -> int | None:
        """Let another member join the group of the client; return as ``expel`` does."""
        if not any(_members(group) for group in cluster.groups.values()):
            return None
        heartbeat(cluster, Beat(GROUP, SECOND, 0, frozenset({topic})))
        return self.journal.heartbeats

    @_in_its_thread
    def second_leaves(self, cluster: Cluster) -> int | None:
        """Let that member leave again; return as ``expel`` does."""
        group = cluster.groups.get(GROUP)
        second = group.members.get(SECOND) if group else None
        if group is None or second is None:
            return None
        remove(cluster, group, second)
        return self.journal.heartbeats if group.members else None

    @_in_its_thread
    def available(self, cluster: Cluster, topics: tuple[str, ...]) -> tuple[Place, ...]:
        """Return where a fetch could get records of topics, or where it begins is not known yet.

        A member that tells the coordinator of them could be assigned what nobody is yet.
        """
        shares = [advance(node.share(GROUP), cluster.clock()) for node in cluster.nodes]
        parts = {key[1]: part for share in shares for key, part in share.partitions.items()}
        others = _of_others(cluster)
        return tuple(
            (name, nth)
            for name in topics
            for topic in (cluster.topics[name],)
            for nth, log in enumerate(topic.logs)
            for place in (TopicPartition(str(topic.id), nth),)
            for part in (parts.get(place),)
            if place not in others
            if not parts or (log.end > 0 if part is None else not part.ready or readable(part, 1))
        )

    @_in_its_thread
    def evict(self, cluster: Cluster) -> None:
        """End every share session, as if it had been the one too many: its records are released."""
        for node in cluster.nodes:
            from_here = {each.connection for each in node.share(GROUP).sessions.values()}
            for connection in from_here:
                share, now = node.share(GROUP), cluster.clock()
                node.put(GROUP, share_broker.disconnect(share, connection, now).broker)
            if from_here:
                self.journal.lose(EVICTED, node.id)

    def crowd(self) -> None:
        """End every share session, as one too many, and have no room for another for a while."""
        self.evict()
        self.do(lambda cluster: cluster.rare.fill())

    @_in_its_thread
    def misnumber(self, cluster: Cluster) -> None:
        """Let the epoch of every session move on, as if a request had been taken twice."""
        for node in cluster.nodes:
            sessions = node.share(GROUP).sessions
            for key, session in sessions.items():
                later = attrs.evolve(session, epoch=next_epoch(session.epoch))
                sessions = sessions.set(key, later)
            node.put(GROUP, attrs.evolve(node.share(GROUP), sessions=sessions))

    @_in_its_thread
    def expel(self, cluster: Cluster) -> int | None:
        """Remove the members as if their heartbeats had stopped; their share sessions stay.

        Returns how many heartbeats were answered before, or None where there is no member.
        """
        members = [(group, one) for group in cluster.groups.values() for one in _members(group)]
        for group, member in members:
            remove(cluster, group, member)
        return self.journal.heartbeats if members else None

    @_in_its_thread
    def fence(self, cluster: Cluster) -> int | None:
        """Let each group's epoch move on twice, as if both answers that say so had been lost.

        Returns as ``expel`` does.
        """
        groups = [group for group in cluster.groups.values() if group.members]
        for group in groups:
            move_on(group)
            move_on(group)
        return self.journal.heartbeats if groups else None

    @_in_its_thread
    def move_leader(self, cluster: Cluster, place: Place, *, named: bool) -> None:
        """Let the next broker lead a partition; whether others tell clients which one it is."""
        topic = cluster.topics[place[0]]
        later = topic.leaders[place[1]].id % len(cluster.nodes) + 1
        cluster.rare.names_leaders = named
        self.journal.note(Moved(self.journal.now(), place, later))
        move_leader(cluster, topic, place[1], later)

    @_in_its_thread
    def restart(self, cluster: Cluster, broker: int) -> None:
        """Let a broker start again: its connections end, and for a while nobody leads its part."""
        self.journal.lose(RESTARTED, broker)
        cluster.rare.starting[broker] = time.monotonic() + START_SECONDS
        for connection in cluster.node(broker).connections:
            connection.cancel()

    @_in_its_thread
    def hang_up(self, cluster: Cluster) -> bool:
        """End each connection with a share session on which nothing is under way, as idle ones end.

        Returns whether there was one.
        """
        busy = frozenset(self.journal.underway.values())
        sessions = (s for node in cluster.nodes for s in node.share(GROUP).sessions.values())
        idle = {session.connection for session in sessions} - busy
        tasks = [(node.id, task) for node in cluster.nodes for task in node.connections]
        ended = [(id_, task) for id_, task in tasks if task.get_name() in idle]
        for id_, task in ended:
            self.journal.lose(HUNG_UP, id_)
            task.cancel()
        return bool(ended)

    @_in_its_thread
    def move_coordinator(self, cluster: Cluster) -> int | None:
        """Let the next broker be the coordinator of each group.

        Returns how many heartbeats were answered without an error before, None without members.
        """
        for group in cluster.groups:
            later = cluster.coordinator(group).id % len(cluster.nodes) + 1
            move_coordinator(cluster, group, later)
        members = any(group.members for group in cluster.groups.values())
        return self.journal.welcomed if members else None

    @_in_its_thread
    def lapse(self, cluster: Cluster) -> None:
        """Put the clock of acquisition locks forward, until all have ended."""
        now = cluster.clock()
        ends = [
            part.window.records[offset].deadline
            for _, part in cluster.led(GROUP)
            for offset in part.window.held
        ]
        cluster.skip(max([0, *(end - now + 1 for end in ends)]))
        self.journal.lose(LAPSED)


def _of_others(cluster: Cluster) -> frozenset[TopicPartition]:
    """Return the partitions that only the second member of the group is to fetch."""
    group = cluster.groups.get(GROUP)
    if group is None or SECOND not in group.target:
        return frozenset()
    own = [parts for member, parts in group.target.items() if member != SECOND]
    return group.target[SECOND].difference(*own)


def _members(group: Group) -> tuple[Member, ...]:
    return tuple(group.members.values())


@contextmanager
def scripted(partitions: int = 1, brokers: int = 1) -> Iterator[Broker]:
    """Serve a topic ``t`` until the block ends. Raises OSError."""
    with running(count=brokers) as broker:
        broker.topic("t", partitions)
        yield broker


@contextmanager
def running(options: Options | None = None, count: int = 1) -> Iterator[Broker]:
    """Serve on free ports of 127.0.0.1 until the block ends. Raises OSError."""
    server = Server(options or Options(broker=_BROKER, group=EARLIEST, brokers=count))
    journal = server.cluster.witness = Journal(server.cluster)
    with in_thread(server) as served:
        yield Broker(served, journal)
