"""What becomes of topics and their partitions: they are created, filled, led, moved and deleted."""

from uuid import uuid4

import attrs
from immutables import Map
from kio.schema.errors import ErrorCode as KafkaError

from model.config_table import Value
from model.operations import AdvanceLogStart, AlterConfig, Produce
from model.ranges import OffsetRange
from model.share_messages import TopicPartition
from serve.batches import Batch, RefusedError
from serve.limits import BATCH_BYTES, Limits
from serve.node import CONTROLLER, Cluster, Leader, Node, Topic
from serve.record_log import RecordLog, append, delete_below
from serve.settings import group_values, partition_config
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
    topic = Topic(name, uuid4(), logs, [Leader(id_) for id_ in ids])
    cluster.topics[name] = topic
    _retopic(cluster)
    return topic


def add_partition(cluster: Cluster, topic: Topic) -> None:
    """Add a partition to a topic, led by the next broker in turn."""
    topic.logs.append(RecordLog())
    topic.leaders.append(Leader(CONTROLLER + len(topic.leaders) % len(cluster.nodes)))
    _retopic(cluster)


def check_topic_name(name: str, limits: Limits) -> None:
    """Raise RefusedError unless a topic may have this name (Kafka: Topic.validate)."""
    wrong = not name or name in (".", "..") or len(name) > limits.name_characters
    if wrong or not set(name) <= _NAME_CHARACTERS:
        text = "a topic has 1 to 249 ASCII letters, digits, '.', '_' and '-', not only dots"
        raise RefusedError(KafkaError.invalid_topic_exception, text)


def delete_topic(cluster: Cluster, topic: Topic) -> None:
    """Delete a topic with its records, and the states of its share-partitions."""
    for key in [key for key, _ in cluster.led() if key[1].topic_id == str(topic.id)]:
        forget(cluster, key)
    del cluster.topics[topic.name]
    _retopic(cluster)


def _retopic(cluster: Cluster) -> None:
    """Let every broker know which partitions there are, and which of them others lead."""
    topics = cluster.topics.values()
    counts = Map({str(topic.id): len(topic.logs) for topic in topics})
    for node in cluster.nodes:
        elsewhere = frozenset(
            TopicPartition(str(topic.id), nth)
            for topic in topics
            for nth, leader in enumerate(topic.leaders)
            if leader.id != node.id
        )
        node.put(attrs.evolve(node.share, topics=counts, elsewhere=elsewhere))


def produce(cluster: Cluster, topic: Topic, partition: int, batch: Batch) -> int:
    """Append a batch for every group; return its first offset. Raises RefusedError."""
    limits, log = cluster.options.limits, topic.logs[partition]
    total = sum(log.size for topic in cluster.topics.values() for log in topic.logs)
    if total + len(batch.data) + BATCH_BYTES > limits.log_bytes:
        text = f"the broker is full: its partitions hold {total:,} bytes"
        raise RefusedError(KafkaError.policy_violation, text)
    leader = topic.leaders[partition]
    first, kept = append(log, batch, limits, leader.epoch)
    if kept is not None:
        operation = Produce((OffsetRange(kept.first, kept.last),), log.end)
        node, place = cluster.node(leader.id), TopicPartition(str(topic.id), partition)
        node.put(share_broker.append(node.share, place, operation))
    return first


def delete_records(node: Node, topic: Topic, partition: int, start: int) -> None:
    """Move the start of a log up that this broker leads, for every group at once."""
    log = topic.logs[partition]
    delete_below(log, start)
    place = TopicPartition(str(topic.id), partition)
    share = share_broker.advance(node.share, node.cluster.clock())
    for key, known in share.partitions.items():
        if key[1] != place:
            continue
        if known.ready:
            share, _ = share_broker.apply_to(share, key, AdvanceLogStart(log.start))
        else:
            later = attrs.evolve(known, log=attrs.evolve(known.log, start_offset=log.start))
            share = attrs.evolve(share, partitions=share.partitions.set(key, later))
    node.put(share)


def lead(cluster: Cluster, key: PartitionKey, durable: Durable) -> None:
    """Let its leader lead a share-partition of which a share coordinator has this state.

    What it reads first makes its leader epoch durable (KIP-932, ReadShareGroupState).
    """
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
    options, node = cluster.options, cluster.node(leader.id)
    config = partition_config(options.broker, settings_of(cluster, group), options.profile)
    read = attrs.evolve(durable, leader_epoch=leader.epoch)
    node.put(share_broker.lead(node.share, key, config, known, read))


def move_leader(cluster: Cluster, topic: Topic, partition: int, broker: int) -> None:
    """Let another broker lead a partition from now on, in the next leader epoch.

    The former leader has the share-partitions no more, in any group; the new one begins with what
    is durable of them.
    """
    former, place = topic.leaders[partition], TopicPartition(str(topic.id), partition)
    node = cluster.node(former.id)
    share = share_broker.advance(node.share, cluster.clock())
    states = {key: known.durable for key, known in share.partitions.items() if key[1] == place}
    share = share_broker.resign(share, place).broker
    for key in states:
        share = attrs.evolve(share, partitions=share.partitions.delete(key))
    topic.leaders[partition] = Leader(broker, former.epoch + 1)
    node.put(share)
    _retopic(cluster)
    for key, durable in states.items():
        lead(cluster, key, durable)


def forget(cluster: Cluster, key: PartitionKey) -> None:
    """Forget a share-partition whose state was deleted."""
    for node in cluster.nodes:
        if key in node.share.partitions:
            node.put(attrs.evolve(node.share, partitions=node.share.partitions.delete(key)))
            if cluster.trace is not None:
                cluster.trace.forget(key)


def settings_of(cluster: Cluster, group: str) -> dict[str, Value]:
    """Return the settings of a group that are set: its own, and those of every group."""
    options = cluster.options
    given = {**options.group, **cluster.settings.get(group, {})}
    return group_values(options.broker, given, options.profile)


def reconfigure(cluster: Cluster, group: str) -> None:
    """Apply the settings of a group to its share-partitions."""
    options = cluster.options
    config = partition_config(options.broker, settings_of(cluster, group), options.profile)
    for node in cluster.nodes:
        share = share_broker.advance(node.share, cluster.clock())
        for key, known in share.partitions.items():
            if key[0] != group or known.config == config:
                continue
            if known.ready:
                share, _ = share_broker.apply_to(share, key, AlterConfig(config))
            else:
                later = attrs.evolve(known, config=config)
                share = attrs.evolve(share, partitions=share.partitions.set(key, later))
        node.put(share)
