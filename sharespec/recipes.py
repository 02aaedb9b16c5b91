"""How to record a cluster: three recipes, what each needs, and the commands that this one takes."""

import shlex
from collections.abc import Iterator

import attrs

from conformance.wire.cluster import REQUEST_LOGGER, STATE_TOPIC, SeenCluster, StateTopic

_FORMATTER = "org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter"
_RECORDS = ("DEBUG", "TRACE")
_SINCE_4_2 = 2
"""The version of ShareFetch that came with Kafka 4.2."""


@attrs.frozen
class Access:
    """How Kafka's tools reach the cluster: HOST:PORT, and the file for ``--command-config``."""

    bootstrap: str
    config: str | None = None


@attrs.frozen
class Recipe:
    """A way to record a cluster.

    ``permitted``: whether this user can follow it; None if the cluster does not tell. ``because``
    has a sentence for each thing that was asked, and ``commands`` the steps in their order.
    """

    name: str
    permitted: bool | None
    because: tuple[str, ...]
    commands: tuple[str, ...]


def recipes(cluster: SeenCluster, access: Access) -> tuple[Recipe, ...]:
    """Return the recipes, the one that asks least of the operator first."""
    if cluster.share_fetch is None or cluster.features.get("share.version") == 0:
        because = ("share groups are not enabled: no ShareFetch, or share.version is 0",)
        names = ("state topic", "request log", "agent")
        return tuple(Recipe(name, False, because, ()) for name in names)  # noqa: FBT003 - its second field
    return (
        _state_topic(cluster, access),
        _request_log(cluster, access),
        _agent(cluster),
    )


def _state_topic(cluster: SeenCluster, access: Access) -> Recipe:
    topic = cluster.state_topic
    config = "--command-config" if _since_4_2(cluster) else "--consumer.config"
    read = ["kafka-console-consumer.sh", *_reaching(access, config), "--topic", STATE_TOPIC]
    read += ["--from-beginning", "--timeout-ms", "20000", "--formatter", _FORMATTER]
    commands = f"{shlex.join(read)} > state-topic.txt", "sharespec state-topic state-topic.txt"
    if topic is None:
        because = f"{STATE_TOPIC} comes with the first share group, or this user may not see it"
        return Recipe("state topic", None, (because,), commands)
    if not isinstance(topic, StateTopic):
        return Recipe("state topic", False, (f"{STATE_TOPIC}: {topic}",), commands)  # noqa: FBT003
    may = _may(topic.may, "READ", f"READ {STATE_TOPIC}, {topic.partitions} partitions")
    return Recipe("state topic", *may, commands)


def _request_log(cluster: SeenCluster, access: Access) -> Recipe:
    permitted, because = _may(cluster.may, "ALTER_CONFIGS", "ALTER_CONFIGS of the cluster")
    because += tuple(
        f"broker {node.id}: {node.problem or f'{REQUEST_LOGGER} is at {node.level}'}"
        for node in cluster.nodes
    )
    if all(node.problem for node in cluster.nodes):
        permitted = False
    recording = [node for node in cluster.nodes if node.level in _RECORDS]
    if cluster.nodes and len(recording) == len(cluster.nodes):
        permitted = True
    off = [node.id for node in cluster.nodes if node not in recording]
    return Recipe(
        "request log",
        permitted,
        because,
        (
            *(_logger(access, node, f"--add-config {REQUEST_LOGGER}=DEBUG") for node in off),
            "copy kafka-request.log* from the log folder of every broker, one folder for each",
            *(_logger(access, node, f"--delete-config {REQUEST_LOGGER}") for node in off),
            "sharespec replay BROKER-1/ BROKER-2/ …",
        ),
    )


def _agent(cluster: SeenCluster) -> Recipe:
    since = _since_4_2(cluster)
    version = "speaks" if since else "does not speak"
    because = (
        f"the broker {version} ShareFetch {_SINCE_4_2}, which came with Kafka 4.2",
        "the agent records 4.2, 4.3 and 4.4; whether you may run it the cluster cannot tell",
    )
    attach = "java -jar sharespec-recorder.jar attach PID dir=/var/tmp/trace"
    start = "-javaagent:/path/to/sharespec-recorder.jar=dir=/var/tmp/trace"
    return Recipe(
        "agent",
        None if since else False,
        because,
        (
            f"KAFKA_OPTS={start} kafka-server-start.sh server.properties",
            f"or, on a running broker: {attach}",
            "sharespec replay /var/tmp/trace --profile kafka",
        ),
    )


def _since_4_2(cluster: SeenCluster) -> bool:
    return cluster.share_fetch is not None and cluster.share_fetch[1] >= _SINCE_4_2


def _may(granted: frozenset[str], operation: str, what: str) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether an operation is granted, in words too; None if the broker tells nothing."""
    if not granted:
        return None, (f"the broker does not tell whether this user may {what}",)
    allowed = operation in granted
    return allowed, (f"this user {'may' if allowed else 'may not'} {what}",)


def _logger(access: Access, node: int, change: str) -> str:
    reaching = shlex.join(("kafka-configs.sh", *_reaching(access, "--command-config")))
    return f"{reaching} --entity-type broker-loggers --entity-name {node} --alter {change}"


def _reaching(access: Access, config: str) -> Iterator[str]:
    yield from ("--bootstrap-server", access.bootstrap)
    if access.config is not None:
        yield from (config, access.config)
