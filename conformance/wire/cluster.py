"""What a cluster reports of itself to whoever wants to record it; nothing is changed."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from uuid import UUID

import attrs

from conformance.target import TargetError
from conformance.wire.admin import Admin, Resource
from conformance.wire.codec import error_name
from conformance.wire.connection import Address, Wire

STATE_TOPIC = "__share_group_state"
REQUEST_LOGGER = "kafka.request.logger"
OPERATIONS = {
    3: "READ",
    4: "WRITE",
    7: "ALTER",
    8: "DESCRIBE",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
}
"""Bits of the authorized operations that matter here (Kafka: AclOperation)."""

_SHARE_FETCH = 78
_SHARE = "group.share."
_UNKNOWN_TOPIC = 3
_BROKERS_ENDPOINT = 1

Opener = Callable[[Address], Wire]
"""Opens a connection to any broker of the cluster."""


@attrs.frozen
class SeenNode:
    """A broker: its id, where it listens, and the level of its request log.

    ``problem``: why the broker did not report the level.
    """

    id: int
    address: Address
    level: str = ""
    problem: str = ""


@attrs.frozen
class StateTopic:
    """``__share_group_state``: its number of partitions, and what this user may do with it."""

    partitions: int
    may: frozenset[str]


@attrs.frozen
class SeenCluster:
    """A cluster as one user sees it.

    ``share_fetch``: the versions of ShareFetch, both inclusive; None without share groups.
    ``features``: finalized features with their levels. ``may``: the operations on the cluster.
    ``state_topic``: None if it does not exist or is not shown to this user, or a problem in words.
    ``settings``: the broker's settings of share groups. ``groups``: the share groups seen.
    """

    id: str
    nodes: tuple[SeenNode, ...]
    share_fetch: tuple[int, int] | None
    features: Mapping[str, int]
    may: frozenset[str]
    state_topic: StateTopic | str | None
    settings: Mapping[str, str]
    groups: tuple[str, ...]


def examine(address: Address, opened: Opener) -> SeenCluster:
    """Ask a cluster what it is. Raises TargetError if the first broker does not answer.

    Another broker that does not answer is a problem of that node alone.
    """
    with closing(opened(address)) as wire:
        admin = Admin(wire)
        kind = {"endpoint_type": _BROKERS_ENDPOINT} if admin.version("describe_cluster") else {}
        asked = {"include_cluster_authorized_operations": True, **kind}
        about = admin.done("DescribeCluster", "describe_cluster", **asked)
        nodes = tuple(SeenNode(b.broker_id, Address(b.host, b.port)) for b in about.brokers)
        return SeenCluster(
            about.cluster_id,
            tuple(_examined(node, opened) for node in sorted(nodes, key=lambda node: node.id)),
            admin.versions().get(_SHARE_FETCH),
            admin.features(),
            _operations(about.cluster_authorized_operations),
            _state_topic(admin),
            _settings(admin, nodes),
            tuple(sorted(_groups(nodes, opened))),
        )


def _operations(bits: int) -> frozenset[str]:
    """Return the operations that a bit field names; a negative one says nothing."""
    return frozenset(name for bit, name in OPERATIONS.items() if bits >= 0 and bits >> bit & 1)


def _state_topic(admin: Admin) -> StateTopic | str | None:
    topic = admin.one(
        "metadata",
        topics=[{"topic_id": UUID(int=0), "name": STATE_TOPIC}],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    if topic.error_code == _UNKNOWN_TOPIC:
        return None
    if topic.error_code:
        return error_name(topic.error_code)
    return StateTopic(len(topic.partitions), _operations(topic.topic_authorized_operations))


def _examined(node: SeenNode, opened: Opener) -> SeenNode:
    """Return the broker with the level of its request log, which only that broker knows."""
    try:
        with closing(opened(node.address)) as wire:
            loggers = Resource.BROKER_LOGGER, str(node.id), (REQUEST_LOGGER,)
            configs = Admin(wire).settings(*loggers)
    except TargetError as error:
        return attrs.evolve(node, problem=str(error))
    if REQUEST_LOGGER not in configs:
        return attrs.evolve(node, problem=f"it has no logger {REQUEST_LOGGER}")
    return attrs.evolve(node, level=configs[REQUEST_LOGGER])


def _settings(admin: Admin, nodes: tuple[SeenNode, ...]) -> dict[str, str]:
    """Return a broker's settings of share groups; none if this user may not see them."""
    try:
        configs = admin.settings(Resource.BROKER, str(nodes[0].id)) if nodes else {}
    except TargetError:
        return {}
    return {name: value for name, value in sorted(configs.items()) if name.startswith(_SHARE)}


def _groups(nodes: tuple[SeenNode, ...], opened: Opener) -> Iterator[str]:
    """Yield the share groups that the brokers coordinate; a silent broker's are not seen."""
    for node in nodes:
        try:
            with closing(opened(node.address)) as wire:
                some = {"states_filter": [], "types_filter": ["share"]}
                body = Admin(wire).one("list_groups", **some)
        except TargetError:
            continue
        yield from (group.group_id for group in body.groups)
