"""The one broker that is served: its topics, its groups, and its share-partitions as a value."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import BinaryIO
from uuid import UUID, uuid4

import attrs
from immutables import Map
from kio.schema.errors import ErrorCode as KafkaError

from model.config_table import Value
from model.operations import AdvanceLogStart, AlterConfig, Produce
from model.profile import Profile, profile_named
from model.ranges import OffsetRange
from model.share_messages import TopicPartition
from serve.batches import Batch, RefusedError
from serve.limits import Limits
from serve.members import Group
from serve.rare import Rare
from serve.record_log import RecordLog, append, delete_below
from serve.settings import group_values, partition_config
from serve.tracing import Trace
from serve.witness import Witness
from spec import share_broker
from spec.coordinator import Durable
from spec.log import Log
from spec.share_broker import PartitionKey, ShareBroker

NODE_ID = 1
LEADER_EPOCH = 0
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@attrs.frozen
class Options:
    """How the broker is served. ``broker`` are its own settings, ``group`` those of every group."""

    profile: Profile = attrs.field(factory=lambda: profile_named("kafka"))
    limits: Limits = attrs.field(factory=Limits)
    partitions: int = 1
    auto_create: bool = True
    broker: Mapping[str, Value] = attrs.field(factory=dict)
    group: Mapping[str, str] = attrs.field(factory=dict)


@attrs.define
class Topic:
    """A topic with the log of each partition."""

    name: str
    id: UUID
    logs: list[RecordLog]
    settings: dict[str, str] = attrs.field(factory=dict)


@attrs.define
class Node:
    """What the broker holds. ``clock`` gives the time of acquisition locks, in ms.

    ``real_clock`` gives that of heartbeats: clients keep theirs. ``wall_clock`` is that of records'
    timestamps. ``rare`` is what it does next that is allowed and unusual, ``witness``
    who is told of requests and answers.
    """

    options: Options
    clock: Callable[[], int]
    real_clock: Callable[[], int]
    wall_clock: Callable[[], int]
    address: tuple[str, int] = ("127.0.0.1", 0)
    share: ShareBroker = attrs.field(init=False)
    topics: dict[str, Topic] = attrs.field(factory=dict)
    groups: dict[str, Group] = attrs.field(factory=dict)
    settings: dict[str, dict[str, str]] = attrs.field(factory=dict)
    producers: "count[int]" = attrs.field(factory=lambda: count(1))
    trace: Trace | None = None
    rare: Rare = attrs.field(factory=Rare)
    witness: Witness | None = None
    cluster_id: str = attrs.field(factory=lambda: uuid4().hex[:22])
    _changed: asyncio.Event = attrs.field(factory=asyncio.Event)

    def __attrs_post_init__(self) -> None:
        """Lead nothing yet."""
        self.share = ShareBroker(self.options.profile)

    def put(self, share: ShareBroker) -> None:
        """Take the next value of the broker; who waits for a change looks again."""
        self.put_quietly(share)
        self.wake()

    def put_quietly(self, share: ShareBroker) -> None:
        """Take the next value of the broker, in which nothing became available."""
        if self.trace is not None:
            self.trace.write(share.journal or ())
            share = attrs.evolve(share, journal=())
        self.share = share

    def start_trace(self, file: BinaryIO) -> None:
        """Write a trace of everything from now on."""
        self.trace, self.share = Trace(file, self._name), attrs.evolve(self.share, journal=())

    def _name(self, topic_id: str) -> str:
        topic = self.topic_of(topic_id)
        return topic.name if topic else topic_id

    def wake(self) -> None:
        """Let everybody look again who waits for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def changed(self) -> asyncio.Event:
        """The event that is set with the next change."""
        return self._changed

    def topic_of(self, topic_id: str | UUID | None) -> Topic | None:
        """Return the topic with an id, or None."""
        wanted = str(topic_id)
        return next((topic for topic in self.topics.values() if str(topic.id) == wanted), None)


def create_topic(node: Node, name: str, partitions: int) -> Topic:
    """Create a topic. Raises RefusedError."""
    limits = node.options.limits
    check_topic_name(name, limits)
    if name in node.topics:
        raise RefusedError(KafkaError.topic_already_exists, f"Topic '{name}' already exists.")
    if not 0 < partitions <= limits.topic_partitions:
        text = f"{partitions} partitions; allowed: 1 to {limits.topic_partitions}"
        raise RefusedError(KafkaError.invalid_partitions, text)
    total = sum(len(topic.logs) for topic in node.topics.values()) + partitions
    if len(node.topics) >= limits.topics or total > limits.partitions:
        text = f"at most {limits.topics} topics and {limits.partitions} partitions are kept"
        raise RefusedError(KafkaError.policy_violation, text)
    topic = Topic(name, uuid4(), [RecordLog() for _ in range(partitions)])
    node.topics[name] = topic
    _retopic(node)
    return topic


def check_topic_name(name: str, limits: Limits) -> None:
    """Raise RefusedError unless a topic may have this name (Kafka: Topic.validate)."""
    wrong = not name or name in (".", "..") or len(name) > limits.name_characters
    if wrong or not set(name) <= _NAME_CHARACTERS:
        text = "a topic has 1 to 249 ASCII letters, digits, '.', '_' and '-', not only dots"
        raise RefusedError(KafkaError.invalid_topic_exception, text)


def delete_topic(node: Node, topic: Topic) -> None:
    """Delete a topic with its records, and the states of its share-partitions."""
    for key in [key for key in node.share.partitions if key[1].topic_id == str(topic.id)]:
        forget(node, key)
    del node.topics[topic.name]
    _retopic(node)


def _retopic(node: Node) -> None:
    counts = Map({str(topic.id): len(topic.logs) for topic in node.topics.values()})
    node.put(attrs.evolve(node.share, topics=counts))


def produce(node: Node, topic: Topic, partition: int, batch: Batch) -> int:
    """Append a batch for every group; return its first offset. Raises RefusedError."""
    limits, log = node.options.limits, topic.logs[partition]
    total = sum(log.size for topic in node.topics.values() for log in topic.logs)
    if total + len(batch.data) > limits.log_bytes:
        text = f"the broker is full: its partitions hold {total:,} bytes"
        raise RefusedError(KafkaError.policy_violation, text)
    first, kept = append(log, batch, limits)
    if kept is not None:
        operation = Produce((OffsetRange(kept.first, kept.last),), log.end)
        key = TopicPartition(str(topic.id), partition)
        node.put(share_broker.append(node.share, key, operation))
    return first


def delete_records(node: Node, topic: Topic, partition: int, start: int) -> None:
    """Move the start of a log up; every leader notices at once."""
    log = topic.logs[partition]
    delete_below(log, start)
    place = TopicPartition(str(topic.id), partition)
    share = share_broker.advance(node.share, node.clock())
    for key, known in share.partitions.items():
        if key[1] != place:
            continue
        if known.ready:
            share, _ = share_broker.apply_to(share, key, AdvanceLogStart(log.start))
        else:
            later = attrs.evolve(known, log=attrs.evolve(known.log, start_offset=log.start))
            share = attrs.evolve(share, partitions=share.partitions.set(key, later))
    node.put(share)


def lead(node: Node, key: PartitionKey, durable: Durable) -> None:
    """Lead a share-partition of which a share coordinator has this state."""
    group, place = key
    topic = node.topic_of(place.topic_id)
    if topic is None:
        return
    log = topic.logs[place.partition]
    known = Log(
        log.start,
        log.end,
        batches=tuple((batch.first, batch.last) for batch in log.batches),
        stable_offset=log.end,
    )
    config = partition_config(node.options.broker, settings_of(node, group), node.options.profile)
    node.put(share_broker.lead(node.share, key, config, known, durable))


def forget(node: Node, key: PartitionKey) -> None:
    """Forget a share-partition whose state was deleted."""
    if key in node.share.partitions:
        node.put(attrs.evolve(node.share, partitions=node.share.partitions.delete(key)))
        if node.trace is not None:
            node.trace.forget(key)


def settings_of(node: Node, group: str) -> dict[str, Value]:
    """Return the settings of a group that are set: its own, and those of every group."""
    given = {**node.options.group, **node.settings.get(group, {})}
    return group_values(node.options.broker, given, node.options.profile)


def reconfigure(node: Node, group: str) -> None:
    """Apply the settings of a group to its share-partitions."""
    config = partition_config(node.options.broker, settings_of(node, group), node.options.profile)
    share = share_broker.advance(node.share, node.clock())
    for key, known in share.partitions.items():
        if key[0] != group or known.config == config:
            continue
        if known.ready:
            share, _ = share_broker.apply_to(share, key, AlterConfig(config))
        else:
            later = attrs.evolve(known, config=config)
            share = attrs.evolve(share, partitions=share.partitions.set(key, later))
    node.put(share)
