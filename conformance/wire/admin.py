"""Administrative requests to a broker: topics, records, groups, settings.

Each request has the highest version that both sides speak. A request that fails for a moment, for
example while a coordinator loads, is repeated until the timeout of an answer.
"""

import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from conformance.target import TargetError
from conformance.wire.codec import error_name, may_pass, topic_uuid
from conformance.wire.connection import Replied, Wire
from conformance.wire.messages import request
from conformance.wire.records import Producer

T = TypeVar("T")


@attrs.frozen
class SpokenApi:
    """An API of Kafka, and the versions that the kit speaks, both inclusive."""

    key: int
    lowest: int
    highest: int


@attrs.frozen
class Transaction:
    """A transaction in progress, with one partition."""

    id: str
    producer: Producer
    topic: str
    partition: int


SPOKEN = {
    "produce": SpokenApi(0, 3, 11),
    "list_offsets": SpokenApi(2, 4, 9),
    "metadata": SpokenApi(3, 10, 13),
    "find_coordinator": SpokenApi(10, 4, 6),
    "api_versions": SpokenApi(18, 0, 0),
    "create_topics": SpokenApi(19, 5, 7),
    "delete_topics": SpokenApi(20, 6, 6),
    "delete_records": SpokenApi(21, 0, 2),
    "init_producer_id": SpokenApi(22, 3, 5),
    "add_partitions_to_txn": SpokenApi(24, 0, 3),
    "end_txn": SpokenApi(26, 0, 4),
    "describe_configs": SpokenApi(32, 3, 4),
    "delete_groups": SpokenApi(42, 0, 2),
    "elect_leaders": SpokenApi(43, 2, 2),
    "incremental_alter_configs": SpokenApi(44, 0, 1),
    "alter_partition_reassignments": SpokenApi(45, 0, 0),
    "share_group_heartbeat": SpokenApi(76, 1, 1),
    "share_fetch": SpokenApi(78, 1, 2),
    "share_acknowledge": SpokenApi(79, 1, 2),
    "describe_share_group_offsets": SpokenApi(90, 0, 1),
    "alter_share_group_offsets": SpokenApi(91, 0, 0),
}
"""The APIs by their names in kio."""

_CONNECTION = "admin"
_TIMEOUT_MS = 10_000
_TRANSACTION_MS = 60_000
"""How long a transaction may stay open: longer than any sequence."""
_PAUSE_S, _LONGEST_PAUSE_S = 0.002, 0.1
_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_COORDINATOR_TRIES = 20
_BROKER_RESOURCE, _GROUP_RESOURCE = 4, 32
_SET, _DELETE = 0, 1
_LATEST = -1
_JOIN, _LEAVE = 0, -1
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NOT_YET = int(KafkaError.request_timed_out)


class Admin:
    """Administrative requests over one connection. Every method may raise TargetError."""

    def __init__(self, wire: Wire, seconds: float = 10.0) -> None:
        """``seconds``: how long to repeat a request."""
        self._wire, self._seconds = wire, seconds
        self._versions: Mapping[int, tuple[int, int]] | None = None
        self._nodes: tuple[int, ...] = (-1,)

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return the ids of the brokers, once ``check_alone`` or ``check_cluster`` has passed."""
        return self._nodes

    def spoken(self, name: str) -> tuple[int, int] | None:
        """Return the versions of an API that both sides speak, both inclusive, or None."""
        api = SPOKEN[name]
        low, high = self.versions().get(api.key, (0, -1))
        low, high = max(low, api.lowest), min(high, api.highest)
        return (low, high) if low <= high else None

    def versions(self) -> Mapping[int, tuple[int, int]]:
        """Return the versions that the broker claims to speak, by the key of the API."""
        if self._versions is None:
            body = self._wire.ask(_CONNECTION, request("api_versions", 0)).body
            _check("ApiVersions", body.error_code)
            self._versions = {
                api.api_key: (api.min_version, api.max_version) for api in body.api_keys
            }
        return self._versions

    def check_alone(self) -> None:
        """Refuse a cluster of several brokers, and a broker with another advertised address."""
        brokers = self._ask("metadata", topics=[], allow_auto_topic_creation=False).body.brokers
        address = self._wire.address
        if len(brokers) != 1:
            raise TargetError(f"{address} is one of {len(brokers)} brokers; the kit drives one")
        (broker,) = brokers
        same = broker.host == address.host or {broker.host, address.host} <= set(_LOOPBACK)
        if not same or broker.port != address.port:
            where = f"{broker.host}:{broker.port}"
            raise TargetError(f"{address} sends clients to {where!r}, which must be given instead")
        self._nodes = (broker.node_id,)

    def check_cluster(self, brokers: int) -> None:
        """Refuse a cluster that knows of fewer brokers."""
        body = self._ask("metadata", topics=[], allow_auto_topic_creation=False).body
        if len(body.brokers) < brokers:
            raise TargetError(f"{self._wire.address} knows {len(body.brokers)} brokers")
        self._nodes = tuple(broker.node_id for broker in body.brokers)

    def create_topic(self, name: str, partitions: int, replicas: int = 1) -> str:
        """Create a topic and wait until it has leaders; return its id."""
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": replicas,
            "assignments": [],
            "configs": [],
        }
        body = self._ask(
            "create_topics", topics=[topic], timeout=_TIMEOUT_MS, validate_only=False
        ).body
        created = _only(body.topics)
        _check(f"creating topic {name}", created.error_code)
        return self.topic_id(name, partitions, getattr(created, "topic_id", None))

    def topic_id(self, name: str, partitions: int, expected: UUID | None = None) -> str:
        """Wait until the brokers lead ``partitions`` partitions of a topic; return its id.

        With an ``expected`` one that of a topic deleted before is not taken for it.
        """

        def attempt() -> tuple[int, str]:
            topic = self._topic(name)
            led = [p for p in topic.partitions if p.leader_id in self._nodes and not p.error_code]
            ready = len(led) == partitions and topic.topic_id is not None
            ready = ready and expected in (None, topic.topic_id)
            return topic.error_code or (0 if ready else _NOT_YET), str(topic.topic_id)

        return self._settled(f"waiting for topic {name}", attempt)

    def leader_epoch(self, name: str, partition: int) -> int:
        """Return the leader epoch of a partition; -1 where the broker does not tell."""
        partitions = self._topic(name).partitions
        return next((p.leader_epoch for p in partitions if p.partition_index == partition), -1)

    def leaders(self, name: str) -> dict[int, int]:
        """Return the leader of each partition of a topic; -1 where there is none."""
        return {p.partition_index: p.leader_id for p in self._topic(name).partitions}

    def move_leader(self, name: str, partition: int, node: int) -> None:
        """Make a replica the leader of a partition: the first of its replicas, and then elected."""
        places = {p.partition_index: p for p in self._topic(name).partitions}
        others = [each for each in places[partition].replica_nodes if each != node]
        moved = {"partition_index": partition, "replicas": [node, *others]}
        topics = [{"name": name, "partitions": [moved]}]
        body = self._ask("alter_partition_reassignments", timeout=_TIMEOUT_MS, topics=topics).body
        _check(f"moving {name}-{partition}", body.error_code, body.error_message)
        result = _only(_only(body.responses).partitions)
        _check(f"moving {name}-{partition}", result.error_code, result.error_message)

        def elect() -> tuple[int, None]:
            asked = [{"topic": name, "partitions": [partition]}]
            body = self._ask(
                "elect_leaders", election_type=0, topic_partitions=asked, timeout=_TIMEOUT_MS
            ).body
            result = _only(_only(body.replica_election_results).partition_result)
            is_leader = result.error_code == KafkaError.election_not_needed
            return body.error_code or (0 if is_leader else result.error_code), None

        self._settled(f"electing a leader of {name}-{partition}", elect)

    def _topic(self, name: str) -> SimpleNamespace:
        asked = [{"topic_id": UUID(int=0), "name": name}]
        body = self._ask("metadata", topics=asked, allow_auto_topic_creation=False).body
        return _only(body.topics)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        topics = [{"name": name, "topic_id": UUID(int=0)}]
        body = self._ask("delete_topics", topics=topics, timeout=_TIMEOUT_MS).body
        _check(f"deleting topic {name}", _only(body.responses).error_code)

    def produce(
        self, topic: str, partition: int, batch: bytes, transactional_id: str | None = None
    ) -> int:
        """Append one record batch; return the offset of its first record."""

        def attempt() -> tuple[int, int]:
            data = [{"index": partition, "records": batch}]
            body = self._ask(
                "produce",
                transactional_id=transactional_id,
                acks=-1,
                timeout=_TIMEOUT_MS,
                topic_data=[{"name": topic, "partition_data": data}],
            ).body
            result = _only(_only(body.responses).partition_responses)
            return result.error_code, result.base_offset

        return self._settled(f"producing to {topic}", attempt)

    def end_offset(self, topic: str, partition: int) -> int:
        """Return the high watermark of a partition."""
        wanted = {"partition_index": partition, "current_leader_epoch": -1, "timestamp": _LATEST}
        body = self._ask(
            "list_offsets",
            replica_id=-1,
            isolation_level=0,
            topics=[{"name": topic, "partitions": [wanted]}],
        ).body
        answer = _only(_only(body.topics).partitions)
        _check(f"listing offsets of {topic}", answer.error_code)
        return int(answer.offset)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Move the log start offset of a partition up."""
        wanted = {"partition_index": partition, "offset": before}
        topics = [{"name": topic, "partitions": [wanted]}]
        body = self._ask("delete_records", topics=topics, timeout=_TIMEOUT_MS).body
        answer = _only(_only(body.topics).partitions)
        _check(f"deleting records of {topic}", answer.error_code)

    def begin(self, transactional_id: str, topic: str, partition: int) -> Transaction:
        """Begin a transaction with one partition; wait for the end of the previous one."""
        self.find_coordinator(transactional_id, _TRANSACTION)

        def initialize() -> tuple[int, Producer]:
            body = self._ask(
                "init_producer_id",
                transactional_id=transactional_id,
                transaction_timeout=_TRANSACTION_MS,
                producer_id=-1,
                producer_epoch=-1,
            ).body
            return body.error_code, Producer(body.producer_id, body.producer_epoch, 0)

        producer = self._settled("beginning a transaction", initialize)

        def add() -> tuple[int, None]:
            body = self._ask(
                "add_partitions_to_txn",
                v3_and_below_transactional_id=transactional_id,
                v3_and_below_producer_id=producer.id,
                v3_and_below_producer_epoch=producer.epoch,
                v3_and_below_topics=[{"name": topic, "partitions": [partition]}],
            ).body
            result = _only(_only(body.results_by_topic_v3_and_below).results_by_partition)
            return result.partition_error_code, None

        self._settled("beginning a transaction", add)
        return Transaction(transactional_id, producer, topic, partition)

    def end(self, transaction: Transaction, marker: int, *, committed: bool) -> None:
        """End a transaction and wait until offset ``marker`` contains its marker."""
        begun = transaction

        def attempt() -> tuple[int, None]:
            body = self._ask(
                "end_txn",
                transactional_id=begun.id,
                producer_id=begun.producer.id,
                producer_epoch=begun.producer.epoch,
                committed=committed,
            ).body
            return body.error_code, None

        def written() -> tuple[int, None]:
            return (0 if self.end_offset(begun.topic, begun.partition) > marker else _NOT_YET), None

        self._settled("ending a transaction", attempt)
        self._settled("waiting for a transaction's marker", written)

    def find_coordinator(self, key: str, kind: int = _GROUP) -> int:
        """Wait until a broker coordinates the key, and return it; -1 without FindCoordinator."""
        if self.spoken("find_coordinator") is None:
            return -1

        def attempt() -> tuple[int, int]:
            body = self._ask("find_coordinator", key_type=kind, coordinator_keys=[key]).body
            found = _only(body.coordinators)
            return found.error_code, found.node_id

        return self._settled(f"finding the coordinator of {key}", attempt)

    def alter_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Alter the start offset of a share-partition, whose group must be empty."""

        def attempt() -> tuple[int, None]:
            wanted = {"partition_index": partition, "start_offset": offset}
            topics = [{"topic_name": topic, "partitions": [wanted]}]
            body = self._ask("alter_share_group_offsets", group_id=group, topics=topics).body
            if body.error_code:
                return body.error_code, None
            return _only(_only(body.responses).partitions).error_code, None

        self._settled(f"altering the offset of {topic}-{partition} for {group}", attempt)

    def share_coordinator(self, key: str) -> tuple[int, int]:
        """Return the error and the node that FindCoordinator answers for a key of type SHARE."""
        for _try in range(_COORDINATOR_TRIES):
            body = self._ask("find_coordinator", key_type=_SHARE, coordinator_keys=[key]).body
            found = _only(body.coordinators)
            if not may_pass(found.error_code):
                break
            time.sleep(_LONGEST_PAUSE_S)
        return found.error_code, found.node_id

    def configure(self, group: str, settings: Mapping[str, str | None]) -> None:
        """Set a group's configuration; None removes a setting."""
        self._alter(f"configuring group {group}", _GROUP_RESOURCE, group, settings)

    def configure_broker(self, settings: Mapping[str, str | None]) -> None:
        """Set the broker's configuration; None removes a setting."""
        self._alter("configuring the broker", _BROKER_RESOURCE, str(self._nodes[0]), settings)

    def _alter(
        self, what: str, resource: int, name: str, settings: Mapping[str, str | None]
    ) -> None:
        configs = [
            {"name": key, "config_operation": _DELETE if value is None else _SET, "value": value}
            for key, value in settings.items()
        ]
        altered = {"resource_type": resource, "resource_name": name, "configs": configs}
        asked = {"resources": [altered], "validate_only": False}
        result = _only(self._ask("incremental_alter_configs", **asked).body.responses)
        _check(what, result.error_code, result.error_message)

    def broker_settings(self, names: tuple[str, ...]) -> dict[str, str]:
        """Return the values of those settings that the broker has."""
        return self._described(_BROKER_RESOURCE, str(self._nodes[0]), names)

    def group_settings(self, names: tuple[str, ...]) -> dict[str, str]:
        """Return the values of those settings that a group may have of its own."""
        return self._described(_GROUP_RESOURCE, "sharespec", names)

    def _described(self, kind: int, name: str, names: tuple[str, ...]) -> dict[str, str]:
        resource = {
            "resource_type": kind,
            "resource_name": name,
            "configuration_keys": names,
        }
        body = self._ask(
            "describe_configs",
            resources=[resource],
            include_synonyms=False,
            include_documentation=False,
        ).body
        result = _only(body.results)
        _check("describing settings", result.error_code)
        return {c.name: c.value for c in result.configs if c.name in names and c.value is not None}

    def join(self, group: str, member: str, topic: str, topic_id: str, partitions: int) -> None:
        """Join a share group and wait until the member has ``partitions`` partitions."""
        self.find_coordinator(group)
        epoch = _JOIN

        def attempt() -> tuple[int, None]:
            nonlocal epoch
            body = self._heartbeat(group, member, epoch, [topic] if epoch == _JOIN else None)
            if body.error_code:
                return body.error_code, None
            epoch = body.member_epoch
            assigned = body.assignment.topic_partitions if body.assignment else ()
            ours = {p for part in assigned if part.topic_id == topic_uuid(topic_id)
                    for p in part.partitions}  # fmt: skip
            return (0 if len(ours) == partitions else _NOT_YET), None

        self._settled(f"joining group {group}", attempt)

    def leave(self, group: str, member: str) -> None:
        """Leave a share group; a member whose session expired has already left."""
        body = self._heartbeat(group, member, _LEAVE, None)
        if body.error_code != KafkaError.unknown_member_id:
            _check(f"leaving group {group}", body.error_code, body.error_message)

    def _heartbeat(
        self, group: str, member: str, epoch: int, topics: list[str] | None
    ) -> SimpleNamespace:
        return self._ask(
            "share_group_heartbeat",
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            rack_id=None,
            subscribed_topic_names=topics,
        ).body

    def delete_group(self, group: str) -> None:
        """Delete a group without members; a missing group is no error."""

        def attempt() -> tuple[int, None]:
            code = _only(self._ask("delete_groups", groups_names=[group]).body.results).error_code
            return (0 if code == KafkaError.group_id_not_found else code), None

        self._settled(f"deleting group {group}", attempt)

    def describe(self, group: str, topic: str, partition: int) -> tuple[Replied, SimpleNamespace]:
        """Describe a share-partition; return the whole answer, and the part about it.

        That part has ``error_code`` and, without an error, ``start_offset`` and perhaps ``lag``.
        """
        topics = [{"topic_name": topic, "partitions": [partition]}]
        groups = [{"group_id": group, "topics": topics}]
        answer = self._ask("describe_share_group_offsets", groups=groups)
        result = _only(answer.body.groups)
        if result.error_code:
            return answer, result
        return answer, _only(_only(result.topics).partitions)

    def _ask(self, name: str, **values: Any) -> Replied:  # noqa: ANN401 - plain values of any kind
        spoken = self.spoken(name)
        if spoken is None:
            api = SPOKEN[name]
            needed = f"a version from {api.lowest} to {api.highest}"
            raise TargetError(f"{self._wire.address} does not speak {name} ({api.key}) in {needed}")
        optional = {"include_topic_authorized_operations": False} if name == "metadata" else {}
        if name == "metadata" and spoken[1] == SPOKEN[name].lowest:
            optional["include_cluster_authorized_operations"] = False
        return self._wire.ask(_CONNECTION, request(name, spoken[1], **values, **optional))

    def _settled(self, what: str, attempt: Callable[[], tuple[int, T]]) -> T:
        """Try until there is no error; repeat after a retriable error until the timeout."""
        until, pause = time.monotonic() + self._seconds, _PAUSE_S
        while True:
            code, result = attempt()
            if not code:
                return result
            if not may_pass(code) or time.monotonic() > until:
                _check(what, code)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


def _check(what: str, code: int, message: str | None = None) -> None:
    if code:
        raise TargetError(f"{what}: {error_name(code)}" + (f", {message[:200]}" if message else ""))


def _only(entries: tuple[Any, ...]) -> SimpleNamespace:
    """Return the only entry of an answer."""
    if len(entries) != 1:
        raise TargetError(f"{len(entries)} answers where one was due")
    entry: SimpleNamespace = entries[0]
    return entry
