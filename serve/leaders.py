"""Who leads a partition, as a broker says it to a client that asks the wrong one."""

from collections.abc import Iterable
from types import SimpleNamespace

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from serve.asked import Values
from serve.node import Elected, Node, Topic

_UNKNOWN = Elected(-1, -1)


def refusal(node: Node, leader: Elected, asked: SimpleNamespace | None = None) -> KafkaError | None:
    """Return why this broker does not serve a request to a leader, or None.

    A client that says which leader epoch it knows is told first whether it is an older or a newer
    one (Kafka: Partition.getLocalLog).
    """
    epoch = getattr(asked, "current_leader_epoch", -1)
    if 0 <= epoch < leader.epoch:
        return KafkaError.fenced_leader_epoch
    if epoch > leader.epoch:
        return KafkaError.unknown_leader_epoch
    return None if leader.id == node.id else KafkaError.not_leader_or_follower


def current_leader(node: Node, leader: Elected | None) -> Values:
    """Return the current leader for a response, unless the brokers keep it to themselves."""
    known = leader if leader and node.cluster.rare.names_leaders else _UNKNOWN
    return {"leader_id": known.id, "leader_epoch": known.epoch}


def endpoints(node: Node, named: Iterable[Values]) -> list[Values]:
    """Return the addresses of leaders that a response names with an error."""
    ids = sorted({leader["leader_id"] for leader in named} - {_UNKNOWN.id})
    return [{"node_id": id_, **address(node.cluster.node(id_))} for id_ in ids]


def address(node: Node) -> Values:
    """Return where a broker listens."""
    return attrs.asdict(node.address)


def topic_asked(
    node: Node, wanted: SimpleNamespace, name_field: str = "name"
) -> tuple[Topic | None, Values, KafkaError]:
    """Return the topic of a name or an id, what it is asked by, and the error if there is none."""
    name = getattr(wanted, name_field, None)
    if name is not None:
        found = node.cluster.topics.get(name)
        return found, {name_field: name}, KafkaError.unknown_topic_or_partition
    topic_id = wanted.topic_id
    return node.cluster.topic_of(topic_id), {"topic_id": topic_id}, KafkaError.unknown_topic_id
