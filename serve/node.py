"""The brokers that are served, and what they have in common: topics, logs and groups.

Each broker leads some of the partitions, and has what it leads as a value of ``spec.share_broker``
for each group: groups share nothing but the topics, and a request costs others nothing.
Records are kept once for all of them: a leader that moves takes nothing along.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from uuid import UUID, uuid4
from zlib import crc32

import attrs
from immutables import Map

from conformance.wire.connection import Address
from model.config_table import Value
from model.profile import Profile, profile_named
from model.share_messages import TopicPartition
from serve.deadlines import Deadlines
from serve.limits import Maxima
from serve.members import Group
from serve.rare import Rare
from serve.record_log import RecordLog
from serve.tracing import Trace
from serve.turns import Turns
from serve.witness import RequestWitness
from spec.partition import SharePartition
from spec.share_broker import PartitionKey, ShareBroker, advance

LOOPBACK = Address("127.0.0.1", 0)
CONTROLLER = 1
"""The id of the first broker; the others follow. It is also the controller."""


@attrs.frozen
class Options:
    """How brokers are served. ``broker`` are their own settings, ``group`` those of every group."""

    profile: Profile = attrs.field(factory=lambda: profile_named("kafka"))
    limits: Maxima = attrs.field(factory=Maxima)
    partitions: int = 1
    auto_create: bool = True
    broker: Mapping[str, Value] = attrs.field(factory=dict)
    group: Mapping[str, str] = attrs.field(factory=dict)
    brokers: int = 1


@attrs.frozen
class Elected:
    """The id of the broker that leads a partition, and its leader epoch."""

    id: int
    epoch: int = 0


@attrs.define
class Topic:
    """A topic with the log and the leader of each partition."""

    name: str
    id: UUID
    logs: list[RecordLog]
    leaders: list[Elected]


def log_of(topic: Topic | None, partition: int) -> tuple[RecordLog, Elected] | tuple[None, None]:
    """Return the log of a partition and its leader, or None of both."""
    if topic is None or not 0 <= partition < len(topic.logs):
        return None, None
    return topic.logs[partition], topic.leaders[partition]


@attrs.define(eq=False)
class Cluster:
    """What all brokers hold together. ``clock`` gives the time of acquisition locks, in ms.

    ``real_clock`` gives that of heartbeats: clients keep theirs. ``wall_clock`` is that of records'
    timestamps. ``coordinators`` are those of groups that were moved. ``rare`` is what happens next
    that is allowed and unusual, ``witness`` who is told of requests and answers. ``ids``: topics by
    id. ``room``: how many bytes more logs may take, at least. ``locks``: when acquisition locks of
    a group end at a broker; ``silence``: when members of a group have been silent for too long;
    ``earlier`` is set when one of these comes first. ``turns`` has who works on much.
    """

    options: Options
    clock: Callable[[], int]
    real_clock: Callable[[], int]
    wall_clock: Callable[[], int]
    nodes: "tuple[Node, ...]" = attrs.field(init=False)
    topics: dict[str, Topic] = attrs.field(factory=dict)
    ids: dict[str, Topic] = attrs.field(factory=dict)
    groups: dict[str, Group] = attrs.field(factory=dict)
    settings: dict[str, dict[str, str]] = attrs.field(factory=dict)
    coordinators: dict[str, int] = attrs.field(factory=dict)
    producers: "count[int]" = attrs.field(factory=lambda: count(1))
    trace: Trace | None = None
    rare: Rare = attrs.field(factory=Rare)
    turns: Turns = attrs.field(factory=Turns)
    earlier: asyncio.Event = attrs.field(factory=asyncio.Event)
    room: int = 0
    locks: Deadlines[tuple[int, str]] = attrs.field(init=False)
    silence: Deadlines[str] = attrs.field(init=False)
    witness: RequestWitness | None = None
    id: str = attrs.field(factory=lambda: uuid4().hex[:22])

    def __attrs_post_init__(self) -> None:
        """Have brokers that lead nothing yet."""
        ids = range(CONTROLLER, CONTROLLER + self.options.brokers)
        self.nodes = tuple(Node(self, id_) for id_ in ids)
        self.locks, self.silence = Deadlines(self.earlier), Deadlines(self.earlier)

    def start_trace(self, path: Path) -> None:
        """Write a trace of everything from now on. Raises OSError."""
        self.trace = Trace(path.open("wb"), self._name)
        for node in self.nodes:
            node.alter(lambda share: attrs.evolve(share, journal=()))

    def _name(self, topic_id: str) -> str:
        topic = self.topic_of(topic_id)
        return topic.name if topic else topic_id

    def topic_of(self, topic_id: str | UUID | None) -> Topic | None:
        """Return the topic with an id, or None."""
        return self.ids.get(str(topic_id))

    def node(self, id_: int) -> "Node":
        """Return the broker with an id."""
        return self.nodes[id_ - CONTROLLER]

    def leader(self, place: TopicPartition) -> Elected | None:
        """Return who leads a partition, or None where there is no such partition."""
        return log_of(self.topic_of(place.topic_id), place.partition)[1]

    def coordinator(self, group: str) -> "Node":
        """Return the broker that is the coordinator of a group."""
        usual = CONTROLLER + crc32(group.encode()) % len(self.nodes)
        return self.node(self.coordinators.get(group, usual))

    @property
    def counts(self) -> Map[str, int]:
        """The number of partitions of each topic, by its id."""
        return self.nodes[0].blank.topics

    def led(self, group: str) -> Iterator[tuple[PartitionKey, SharePartition]]:
        """Yield every share-partition of a group with the state that its leader has."""
        for node in self.nodes:
            yield from node.share(group).partitions.items()

    def skip(self, ms: int) -> None:
        """Put the clock of acquisition locks forward; those that are over then end."""
        self.rare.skipped_ms += ms
        for _ in self.end_locks():
            pass
        self.earlier.set()

    def end_locks(self) -> Iterator[None]:
        """Let the acquisition locks end that are over, one group after the other."""
        now = self.clock()
        for id_, group in self.locks.due(now):
            node, share = self.node(id_), self.node(id_).share(group)
            node.put(group, advance(share, now) if node.is_due(group, now) else share)
            yield


@attrs.define(eq=False)
class Node:
    """One broker: its address, what it leads as values of ``spec``, and who serves connections.

    ``shares`` has groups by id; ``blank`` is what a group begins with.
    """

    cluster: Cluster
    id: int
    address: Address = LOOPBACK
    blank: ShareBroker = attrs.field(init=False)
    shares: dict[str, ShareBroker] = attrs.field(factory=dict)
    connections: set["asyncio.Task[None]"] = attrs.field(factory=set)
    _ends: dict[str, dict[PartitionKey, tuple[object, int]]] = attrs.field(factory=dict)
    _changed: dict[str | None, asyncio.Event] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Lead nothing yet."""
        self.blank = ShareBroker(self.cluster.options.profile)

    def share(self, group: str) -> ShareBroker:
        """Return what the broker has of a group."""
        return self.shares.get(group, self.blank)

    def alter(self, change: Callable[[ShareBroker], ShareBroker]) -> None:
        """Change what groups have in common, such as the topics; whoever waits looks again."""
        self.blank = change(self.blank)
        for group, share in tuple(self.shares.items()):
            self.put(group, change(share))
        self.wake(None)

    def put(self, group: str, share: ShareBroker) -> None:
        """Take the next value of a group; who waits for a change of it looks again."""
        self.put_quietly(group, share)
        self.wake(group)

    def put_quietly(self, group: str, share: ShareBroker) -> None:
        """Take the next value of a group, in which nothing became available."""
        if self.cluster.trace is not None:
            self.cluster.trace.write(share.journal or ())
            share = attrs.evolve(share, journal=())
        if share.partitions or share.sessions:
            self.shares[group] = share
        else:
            self.shares.pop(group, None)
            latest = max(share.next_seq, self.blank.next_seq)  # No session is taken for another.
            self.blank = attrs.evolve(self.blank, next_seq=latest)
        self.schedule(group)

    def schedule(self, group: str) -> None:
        """Note when each acquisition lock of a group ends; only records that changed are read."""
        known, ends = self._ends.pop(group, {}), {}
        for key, partition in self.share(group).partitions.items():
            records, held = partition.window.records, partition.window.held
            before = known.get(key)
            if before is not None and before[0] is records:
                ends[key] = before
            elif held:
                ends[key] = records, min(records[offset].deadline for offset in held)
        if ends:
            self._ends[group] = ends
            first = min(end for _, end in ends.values())
            self.cluster.locks.schedule((self.id, group), first)

    def is_due(self, group: str, now: int) -> bool:
        """Whether an acquisition lock of a group is over, which has not ended yet."""
        return any(end <= now for _, end in self._ends.get(group, {}).values())

    def wake(self, group: str | None) -> None:
        """Let everybody look again who waits for a change of a group, or of logs (None)."""
        if (waited := self._changed.pop(group, None)) is not None:
            waited.set()

    def changed(self, group: str | None) -> asyncio.Event:
        """Return the event that is set with the next change of a group, or of logs (None)."""
        return self._changed.setdefault(group, asyncio.Event())
