"""What a cluster reports of itself to whoever wants to record it; nothing is changed."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import attrs

from conformance.target import TargetError
from conformance.wire.admin import SpokenApi
from conformance.wire.codec import error_name
from conformance.wire.connection import Address, Wire
from conformance.wire.messages import request

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

_APIS = {
    "metadata": SpokenApi(3, 10, 13),
    "list_groups": SpokenApi(16, 5, 5),
    "describe_configs": SpokenApi(32, 3, 4),
    "describe_cluster": SpokenApi(60, 0, 1),
}
_VERSIONS, _VERSIONS_VERSION = "api_versions", 3
_SHARE_FETCH = 78
_BROKER, _BROKER_LOGGER = 4, 8
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


class _Session:
    """Requests to one broker, each of the highest version that both sides speak."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.versions = self.ask(
            _VERSIONS, client_software_name="sharespec", client_software_version="1"
        )
        _check("ApiVersions", self.versions.error_code)
        self.spoken = {
            api.api_key: (api.min_version, api.max_version) for api in self.versions.api_keys
        }

    def ask(self, name: str, **values: Any) -> SimpleNamespace:  # noqa: ANN401 - plain values of any kind
        """Return the broker's answer. Raises TargetError."""
        version = _VERSIONS_VERSION if name == _VERSIONS else self.version(name)
        return self._wire.ask("doctor", request(name, version, **values)).body

    def version(self, name: str) -> int:
        """Return the version of an API that is asked. Raises TargetError if there is none."""
        api = _APIS[name]
        low, high = self.spoken.get(api.key, (0, -1))
        version: int = min(high, api.highest)
        if version < max(low, api.lowest):
            raise TargetError(f"{self._wire.address} does not speak {name} ({api.key})")
        return version


def examine(address: Address, opened: Opener) -> SeenCluster:
    """Ask a cluster what it is. Raises TargetError if the first broker does not answer.

    Another broker that does not answer is a problem of that node alone.
    """
    with closing(opened(address)) as wire:
        session = _Session(wire)
        about = session.ask("describe_cluster", **_described(session))
        _check("DescribeCluster", about.error_code)
        versions = session.versions
        nodes = tuple(SeenNode(b.broker_id, Address(b.host, b.port)) for b in about.brokers)
        return SeenCluster(
            about.cluster_id,
            tuple(_examined(node, opened) for node in sorted(nodes, key=lambda node: node.id)),
            session.spoken.get(_SHARE_FETCH),
            {f.name: f.max_version_level for f in versions.finalized_features},
            _operations(about.cluster_authorized_operations),
            _state_topic(session),
            _settings(session, nodes),
            tuple(sorted(_groups(nodes, opened))),
        )


def _described(session: _Session) -> dict[str, Any]:
    kind = {"endpoint_type": _BROKERS_ENDPOINT} if session.version("describe_cluster") else {}
    return {"include_cluster_authorized_operations": True, **kind}


def _operations(bits: int) -> frozenset[str]:
    """Return the operations that a bit field names; a negative one says nothing."""
    return frozenset(name for bit, name in OPERATIONS.items() if bits >= 0 and bits >> bit & 1)


def _state_topic(session: _Session) -> StateTopic | str | None:
    asked = [{"topic_id": UUID(int=0), "name": STATE_TOPIC}]
    optional = {"include_cluster_authorized_operations": False}
    body = session.ask(
        "metadata",
        topics=asked,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
        **(optional if session.version("metadata") == _APIS["metadata"].lowest else {}),
    )
    for topic in body.topics:
        if topic.error_code == _UNKNOWN_TOPIC:
            return None
        if topic.error_code:
            return error_name(topic.error_code)
        may = _operations(topic.topic_authorized_operations)
        return StateTopic(len(topic.partitions), may)
    return None


def _examined(node: SeenNode, opened: Opener) -> SeenNode:
    """Return the broker with the level of its request log, which only that broker knows."""
    try:
        with closing(opened(node.address)) as wire:
            configs = _configs(_Session(wire), _BROKER_LOGGER, str(node.id), (REQUEST_LOGGER,))
    except TargetError as error:
        return attrs.evolve(node, problem=str(error))
    if REQUEST_LOGGER not in configs:
        return attrs.evolve(node, problem=f"it has no logger {REQUEST_LOGGER}")
    return attrs.evolve(node, level=configs[REQUEST_LOGGER])


def _settings(session: _Session, nodes: tuple[SeenNode, ...]) -> dict[str, str]:
    """Return a broker's settings of share groups; none if this user may not see them."""
    try:
        configs = _configs(session, _BROKER, str(nodes[0].id), None) if nodes else {}
    except TargetError:
        return {}
    return {name: value for name, value in sorted(configs.items()) if name.startswith(_SHARE)}


def _configs(
    session: _Session, kind: int, name: str, keys: tuple[str, ...] | None
) -> dict[str, str]:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    body = session.ask(
        "describe_configs",
        resources=[resource],
        include_synonyms=False,
        include_documentation=False,
    )
    for result in body.results:
        _check(f"describing broker {name}", result.error_code)
        return {each.name: each.value for each in result.configs if each.value is not None}
    return {}


def _groups(nodes: tuple[SeenNode, ...], opened: Opener) -> Iterator[str]:
    """Yield the share groups that the brokers coordinate; a silent broker's are not seen."""
    for node in nodes:
        try:
            with closing(opened(node.address)) as wire:
                body = _Session(wire).ask("list_groups", states_filter=[], types_filter=["share"])
        except TargetError:
            continue
        yield from (group.group_id for group in body.groups)


def _check(what: str, code: int) -> None:
    if code:
        raise TargetError(f"{what}: {error_name(code)}")
