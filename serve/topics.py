"""What becomes of topics and their partitions: they are created, filled, led, moved and deleted."""

from collections.abc import Mapping
from functools import partial
from uuid import uuid4

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from model.config import SharePartitionConfig
from model.config_table import Value
from model.configuration import effective_config
from model.operations import AdvanceLogStart, AlterConfig, Produce
from model.ranges import OffsetRange
from model.share_messages import TopicPartition
from serve.batches import RefusedError, StoredBatch
from serve.limits import BATCH_BYTES, Maxima
from serve.node import CONTROLLER, Cluster, Elected, Node, Topic
from serve.record_log import RecordLog, append, delete_below
from serve.settings import group_values
from spec import share_broker
from spec.coordinator import Durable
from spec.log import Log
from spec.share_broker import PartitionKey

_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def create_topic(
    cluster: Cluster, name: str, partitions: int, leaders: tuple[int, ...] = ()
) -> Topic:
    """Create a topic; its partitions are led by these brokers, or by all in turn. RefusedError."""
    limits = cluster.options.limits
    check_topic_name(name, limits)
    if name in cluster.topics:
        raise RefusedError(KafkaError.topic_already_exists, f"Topic '{name}' already exists.")
    if not 0 < partitions <= limits.topic_partitions:
        text = f"{partitions} partitions; allowed: 1 to {limits.topic_partitions}"
        raise RefusedError(KafkaError.invalid_partitions, text)
    total = sum(len(topic.logs) for topic in cluster.topics.values()) + partitions
    if len(cluster.topics) >= limits.topics or total > limits.partitions:
        text = f"at most {limits.topics} topics and {limits.partitions} partitions are kept"
        raise RefusedError(KafkaError.policy_violation, text)
    ids = leaders or [CONTROLLER + nth % len(cluster.nodes) for nth in range(partitions)]
    logs = [RecordLog() for _ in range(partitions)]
    topic = Topic(name, uuid4(), logs, [Elected(id_) for id_ in ids])
    cluster.topics[name] = cluster.ids[str(topic.id)] = topic
    _retopic(cluster, topic)
    return topic


def add_partition(cluster: Cluster, topic: Topic) -> None:
    """Add a partition to a topic, led by the next broker in turn."""
    topic.logs.append(RecordLog())
    topic.leaders.append(Elected(CONTROLLER + len(topic.leaders) % len(cluster.nodes)))
    _retopic(cluster, topic)


def check_topic_name(name: str, limits: Maxima) -> None:
    """Raise RefusedError unless a topic may have this name (Kafka: Topic.validate)."""
    wrong = not name or name in (".", "..") or len(name) > limits.name_characters
    if wrong or not set(name) <= _NAME_CHARACTERS:
        text = "a topic has 1 to 249 ASCII letters, digits, '.', '_' and '-', not only dots"
        raise RefusedError(KafkaError.invalid_topic_exception, text)


def delete_topic(cluster: Cluster, topic: Topic) -> None:
    """Delete a topic with its records, and the states of its share-partitions."""
    groups = {group for node in cluster.nodes for group in node.shares}
    for place in _places(topic):
        for group in groups:
            forget(cluster, (group, place))
    del cluster.topics[topic.name], cluster.ids[str(topic.id)]
    _retopic(cluster, topic)


def _places(topic: Topic) -> list[TopicPartition]:
    return [TopicPartition(str(topic.id), nth) for nth in range(len(topic.logs))]


def _retopic(cluster: Cluster, topic: Topic) -> None:
    """Let every broker know of a topic that came, changed or went, and what others lead of it."""
    counts, id_, places = cluster.counts, str(topic.id), _places(topic)
    known = id_ in cluster.ids
    counts = counts.set(id_, len(places)) if known else counts.delete(id_)
    for node in cluster.nodes:
        led = zip(places, topic.leaders, strict=True)
        others = (place for place, leader in led if known and leader.id != node.id)
        elsewhere = node.blank.elsewhere.difference(places).union(others)
        node.alter(partial(attrs.evolve, topics=counts, elsewhere=elsewhere))


def produce(cluster: Cluster, topic: Topic, partition: int, batch: StoredBatch) -> int:
    """Append a batch for every group; return its first offset. Raises RefusedError."""
    limits, log = cluster.options.limits, topic.logs[partition]
    size = len(batch.data) + BATCH_BYTES
    if size > cluster.room:  # Only then are the logs counted, from which records may have gone.
        total = sum(log.size for topic in cluster.topics.values() for log in topic.logs)
        cluster.room = limits.log_bytes - total
        if size > cluster.room:
            text = f"the broker is full: its partitions hold {total:,} bytes"
            raise RefusedError(KafkaError.policy_violation, text)
    leader = topic.leaders[partition]
    first, kept = append(log, batch, limits, leader.epoch)
    if kept is not None:
        cluster.room -= size
        operation = Produce((OffsetRange(kept.first, kept.last),), log.end)
        node, place = cluster.node(leader.id), TopicPartition(str(topic.id), partition)
        for group, share in tuple(node.shares.items()):
            if (group, place) in share.partitions:
                node.put(group, share_broker.append_to(share, (group, place), operation))
        node.wake(None)
    return first


def delete_records(node: Node, topic: Topic, partition: int, start: int) -> None:
    """Move the start of a log up that this broker leads, for every group at once."""
    log = topic.logs[partition]
    delete_below(log, start)
    place = TopicPartition(str(topic.id), partition)
    for group, former in tuple(node.shares.items()):
        if (group, place) not in former.partitions:
            continue
        share = share_broker.advance(former, node.cluster.clock())
        known = share.partitions[group, place]
        if known.ready:
            share, _ = share_broker.apply_to(share, (group, place), AdvanceLogStart(log.start))
        else:
            later = attrs.evolve(known, log=attrs.evolve(known.log, start_offset=log.start))
            share = attrs.evolve(share, partitions=share.partitions.set((group, place), later))
        node.put(group, share)
    node.wake(None)


def lead(cluster: Cluster, group: str, states: Mapping[TopicPartition, Durable]) -> None:
    """Let their leaders lead share-partitions of which a share coordinator has these states.

    What one reads first makes its leader epoch durable (KIP-932, ReadShareGroupState).
    """
    if states:
        config = config_of(cluster, group)  # It takes longer than all else of a share-partition.
        for place, durable in states.items():
            _lead(cluster, (group, place), durable, config)


def _lead(
    cluster: Cluster, key: PartitionKey, durable: Durable, config: SharePartitionConfig
) -> None:
    group, place = key
    topic, leader = cluster.topic_of(place.topic_id), cluster.leader(place)
    if topic is None or leader is None:
        return
    log = topic.logs[place.partition]
    known = Log(
        log.start,
        log.end,
        batches=tuple((batch.first, batch.last) for batch in log.batches),
        stable_offset=log.end,
    )
    node = cluster.node(leader.id)
    read = attrs.evolve(durable, leader_epoch=leader.epoch)
    node.put(group, share_broker.lead(node.share(group), key, config, known, read))


def move_leader(cluster: Cluster, topic: Topic, partition: int, broker: int) -> None:
    """Let another broker lead a partition from now on, in the next leader epoch.

    The former leader has the share-partitions no more, in any group; the new one begins with what
    is durable of them.
    """
    former, place = topic.leaders[partition], TopicPartition(str(topic.id), partition)
    node = cluster.node(former.id)
    states = {}
    for group, share in tuple(node.shares.items()):
        if (key := (group, place)) in share.partitions:
            after = share_broker.resign(share_broker.advance(share, cluster.clock()), place).broker
            states[key] = after.partitions[key].durable
            node.put(group, attrs.evolve(after, partitions=after.partitions.delete(key)))
    topic.leaders[partition] = Elected(broker, former.epoch + 1)
    _retopic(cluster, topic)
    for (group, _), durable in states.items():
        lead(cluster, group, {place: durable})


def forget(cluster: Cluster, key: PartitionKey) -> None:
    """Forget a share-partition whose state was deleted."""
    for node in cluster.nodes:
        share = node.share(key[0])
        if key in share.partitions:
            node.put(key[0], attrs.evolve(share, partitions=share.partitions.delete(key)))
            if cluster.trace is not None:
                cluster.trace.forget(key)


def settings_of(cluster: Cluster, group: str) -> dict[str, Value]:
    """Return the settings of a group that are set: its own, and those of every group."""
    options = cluster.options
    given = {**options.group, **cluster.settings.get(group, {})}
    return group_values(options.broker, given, options.profile)


def config_of(cluster: Cluster, group: str) -> SharePartitionConfig:
    """Return the configuration in force for the share-partitions of a group."""
    options = cluster.options
    return effective_config(options.broker, settings_of(cluster, group), options.profile)


def reconfigure(cluster: Cluster, group: str) -> None:
    """Apply the settings of a group to its share-partitions."""
    config = config_of(cluster, group)
    for node in cluster.nodes:
        share = share_broker.advance(node.share(group), cluster.clock())
        for key, known in share.partitions.items():
            if known.config == config:
                continue
            if known.ready:
                share, _ = share_broker.apply_to(share, key, AlterConfig(config))
            else:
                later = attrs.evolve(known, config=config)
                share = attrs.evolve(share, partitions=share.partitions.set(key, later))
        node.put(group, share)
    cluster.silence.schedule(group, cluster.real_clock())  # A session may have become shorter.
