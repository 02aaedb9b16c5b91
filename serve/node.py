"""The brokers that are served, and what they have in common: topics, logs and groups.

Each broker leads some of the partitions, and has what it leads as a value of ``spec.share_broker``.
Records are kept once for all of them: a leader that moves takes nothing along.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import BinaryIO
from uuid import UUID, uuid4
from zlib import crc32

import attrs
from immutables import Map

from model.config_table import Value
from model.profile import Profile, profile_named
from model.share_messages import TopicPartition
from serve.limits import Limits
from serve.members import Group
from serve.rare import Rare
from serve.record_log import RecordLog
from serve.tracing import Trace
from serve.witness import Witness
from spec.partition import SharePartition
from spec.share_broker import PartitionKey, ShareBroker

CONTROLLER = 1
"""The id of the first broker; the others follow. It is also the controller."""


@attrs.frozen
class Options:
    """How brokers are served. ``broker`` are their own settings, ``group`` those of every group."""

    profile: Profile = attrs.field(factory=lambda: profile_named("kafka"))
    limits: Limits = attrs.field(factory=Limits)
    partitions: int = 1
    auto_create: bool = True
    broker: Mapping[str, Value] = attrs.field(factory=dict)
    group: Mapping[str, str] = attrs.field(factory=dict)
    brokers: int = 1


@attrs.frozen
class Leader:
    """The id of the broker that leads a partition, and its leader epoch."""

    id: int
    epoch: int = 0


@attrs.define
class Topic:
    """A topic with the log and the leader of each partition."""

    name: str
    id: UUID
    logs: list[RecordLog]
    leaders: list[Leader]


@attrs.define(eq=False)
class Cluster:
    """What all brokers hold together. ``clock`` gives the time of acquisition locks, in ms.

    ``real_clock`` gives that of heartbeats: clients keep theirs. ``wall_clock`` is that of records'
    timestamps. ``coordinators`` are those of groups that were moved. ``rare`` is what happens next
    that is allowed and unusual, ``witness`` who is told of requests and answers.
    """

    options: Options
    clock: Callable[[], int]
    real_clock: Callable[[], int]
    wall_clock: Callable[[], int]
    nodes: "tuple[Node, ...]" = attrs.field(init=False)
    topics: dict[str, Topic] = attrs.field(factory=dict)
    groups: dict[str, Group] = attrs.field(factory=dict)
    settings: dict[str, dict[str, str]] = attrs.field(factory=dict)
    coordinators: dict[str, int] = attrs.field(factory=dict)
    producers: "count[int]" = attrs.field(factory=lambda: count(1))
    trace: Trace | None = None
    rare: Rare = attrs.field(factory=Rare)
    witness: Witness | None = None
    id: str = attrs.field(factory=lambda: uuid4().hex[:22])

    def __attrs_post_init__(self) -> None:
        """Have brokers that lead nothing yet."""
        ids = range(CONTROLLER, CONTROLLER + self.options.brokers)
        self.nodes = tuple(Node(self, id_) for id_ in ids)

    def start_trace(self, file: BinaryIO) -> None:
        """Write a trace of everything from now on."""
        self.trace = Trace(file, self._name)
        for node in self.nodes:
            node.share = attrs.evolve(node.share, journal=())

    def _name(self, topic_id: str) -> str:
        topic = self.topic_of(topic_id)
        return topic.name if topic else topic_id

    def topic_of(self, topic_id: str | UUID | None) -> Topic | None:
        """Return the topic with an id, or None."""
        wanted = str(topic_id)
        return next((topic for topic in self.topics.values() if str(topic.id) == wanted), None)

    def node(self, id_: int) -> "Node":
        """Return the broker with an id."""
        return self.nodes[id_ - CONTROLLER]

    def leader(self, place: TopicPartition) -> Leader | None:
        """Return who leads a partition, or None where there is no such partition."""
        topic = self.topic_of(place.topic_id)
        known = topic is not None and place.partition < len(topic.leaders)
        return topic.leaders[place.partition] if topic and known else None

    def coordinator(self, group: str) -> "Node":
        """Return the broker that is the coordinator of a group."""
        usual = CONTROLLER + crc32(group.encode()) % len(self.nodes)
        return self.node(self.coordinators.get(group, usual))

    @property
    def counts(self) -> Map[str, int]:
        """The number of partitions of each topic, by its id."""
        return self.nodes[0].share.topics

    def led(self) -> Iterator[tuple[PartitionKey, SharePartition]]:
        """Yield every share-partition with the state that its leader has."""
        for node in self.nodes:
            yield from node.share.partitions.items()


@attrs.define(eq=False)
class Node:
    """One broker: its address, what it leads as a value of ``spec``, and who serves connections."""

    cluster: Cluster
    id: int
    address: tuple[str, int] = ("127.0.0.1", 0)
    share: ShareBroker = attrs.field(init=False)
    connections: set["asyncio.Task[None]"] = attrs.field(factory=set)
    _changed: asyncio.Event = attrs.field(factory=asyncio.Event)

    def __attrs_post_init__(self) -> None:
        """Lead nothing yet."""
        self.share = ShareBroker(self.cluster.options.profile)

    def put(self, share: ShareBroker) -> None:
        """Take the next value of the broker; who waits for a change looks again."""
        self.put_quietly(share)
        self.wake()

    def put_quietly(self, share: ShareBroker) -> None:
        """Take the next value of the broker, in which nothing became available."""
        if self.cluster.trace is not None:
            self.cluster.trace.write(share.journal or ())
            share = attrs.evolve(share, journal=())
        self.share = share

    def wake(self) -> None:
        """Let everybody look again who waits for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def changed(self) -> asyncio.Event:
        """The event that is set with the next change."""
        return self._changed
