"""Administrative requests to a broker: topics, records, groups, settings.

Each request has the highest version that both sides speak. A request that fails for a moment, for
example while a coordinator loads, is repeated until the timeout of an answer.
"""

import time
from collections.abc import Callable, Mapping
from enum import IntEnum
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from conformance.target import TargetError
from conformance.wire.codec import error_name, may_pass, topic_uuid
from conformance.wire.connection import Replied, Wire
from conformance.wire.messages import CLIENT, request
from conformance.wire.records import Producer
from spec.group_membership import JOINING, LEAVING


@attrs.frozen
class SpokenApi:
    """An API of Kafka, and the versions that the kit speaks, both inclusive.

    ``answer``: the lists that lead to what an answer says of the one thing that was asked for.
    """

    key: int
    lowest: int
    highest: int
    answer: tuple[str, ...] = ()


class Resource(IntEnum):
    """What has settings (Kafka: ConfigResource)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    GROUP = 32


@attrs.frozen
class Transaction:
    """A transaction in progress, with one partition."""

    id: str
    producer: Producer
    topic: str
    partition: int


SPOKEN = {
    "produce": SpokenApi(0, 3, 11, ("responses", "partition_responses")),
    "list_offsets": SpokenApi(2, 4, 9, ("topics", "partitions")),
    "metadata": SpokenApi(3, 10, 13, ("topics",)),
    "find_coordinator": SpokenApi(10, 4, 6, ("coordinators",)),
    "list_groups": SpokenApi(16, 5, 5),
    "api_versions": SpokenApi(18, 0, 0),
    "create_topics": SpokenApi(19, 5, 7, ("topics",)),
    "delete_topics": SpokenApi(20, 6, 6, ("responses",)),
    "delete_records": SpokenApi(21, 0, 2, ("topics", "partitions")),
    "init_producer_id": SpokenApi(22, 3, 5),
    "add_partitions_to_txn": SpokenApi(
        24, 0, 3, ("results_by_topic_v3_and_below", "results_by_partition")
    ),
    "end_txn": SpokenApi(26, 0, 4),
    "describe_configs": SpokenApi(32, 3, 4, ("results",)),
    "delete_groups": SpokenApi(42, 0, 2, ("results",)),
    "elect_leaders": SpokenApi(43, 2, 2, ("replica_election_results", "partition_result")),
    "incremental_alter_configs": SpokenApi(44, 0, 1, ("responses",)),
    "alter_partition_reassignments": SpokenApi(45, 0, 0, ("responses", "partitions")),
    "alter_client_quotas": SpokenApi(49, 0, 1, ("entries",)),
    "describe_cluster": SpokenApi(60, 0, 1),
    "share_group_heartbeat": SpokenApi(76, 1, 1),
    "share_fetch": SpokenApi(78, 1, 2),
    "share_acknowledge": SpokenApi(79, 1, 2),
    "describe_share_group_offsets": SpokenApi(90, 0, 1, ("groups", "topics", "partitions")),
    "alter_share_group_offsets": SpokenApi(91, 0, 0, ("responses", "partitions")),
}
"""The APIs by their names in kio."""

_CONNECTION = "admin"
_TIMEOUT_MS = 10_000
_FIRST_WITH_FEATURES = 3
"""The first version of ApiVersions that tells finalized features."""
_TRANSACTION_MS = 60_000
"""How long a transaction may stay open: longer than any sequence."""
_PAUSE_S, _LONGEST_PAUSE_S = 0.002, 0.1
_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_COORDINATOR_TRIES = 20
_LEAST_PERCENT = 0.0001
_SET, _DELETE = 0, 1
_LATEST, _EARLIEST = -1, -2
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
            _check("ApiVersions", body)
            self._versions = {
                api.api_key: (api.min_version, api.max_version) for api in body.api_keys
            }
        return self._versions

    def features(self) -> dict[str, int]:
        """Return the finalized features with their levels."""
        client = {"client_software_name": "sharespec", "client_software_version": "1"}
        asked = request("api_versions", _FIRST_WITH_FEATURES, **client)
        body = self._wire.ask(_CONNECTION, asked).body
        _check("ApiVersions", body)
        return {each.name: each.max_version_level for each in body.finalized_features}

    def version(self, name: str) -> int:
        """Return the version in which an API is asked. Raises TargetError if there is none."""
        if (spoken := self.spoken(name)) is None:
            api = SPOKEN[name]
            needed = f"a version from {api.lowest} to {api.highest}"
            raise TargetError(f"{self._wire.address} does not speak {name} ({api.key}) in {needed}")
        return spoken[1]

    def check_alone(self) -> None:
        """Refuse a cluster of several brokers, and a broker with another advertised address."""
        brokers = self.ask("metadata", topics=[], allow_auto_topic_creation=False).body.brokers
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
        body = self.ask("metadata", topics=[], allow_auto_topic_creation=False).body
        if len(body.brokers) < brokers:
            raise TargetError(f"{self._wire.address} knows {len(body.brokers)} brokers")
        self._nodes = tuple(broker.node_id for broker in body.brokers)

    def create_topic(self, name: str, partitions: int, replicas: int = 1) -> str:
        """Create a topic and wait until it has leaders; return its id."""
        topic = {"name": name, "num_partitions": partitions, "replication_factor": replicas}
        what = f"creating topic {name}"
        created = self.done(what, "create_topics", topics=[topic], timeout=_TIMEOUT_MS)
        return self.topic_id(name, partitions, getattr(created, "topic_id", None))

    def topic_id(self, name: str, partitions: int, expected: UUID | None = None) -> str:
        """Wait until the brokers lead ``partitions`` partitions of a topic; return its id.

        With an ``expected`` one that of a topic deleted before is not taken for it.
        """

        def is_led(topic: SimpleNamespace) -> bool:
            led = [p for p in topic.partitions if p.leader_id in self._nodes and not p.error_code]
            ready = len(led) == partitions and topic.topic_id is not None
            return ready and expected in (None, topic.topic_id)

        found = self._awaited(f"waiting for topic {name}", lambda: self._topic(name), is_led)
        return str(found.topic_id)

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
        what = f"moving {name}-{partition}"
        self.done(what, "alter_partition_reassignments", timeout=_TIMEOUT_MS, topics=topics)
        self._settled(
            f"electing a leader of {name}-{partition}",
            "elect_leaders",
            fine=KafkaError.election_not_needed,
            election_type=0,
            topic_partitions=[{"topic": name, "partitions": [partition]}],
            timeout=_TIMEOUT_MS,
        )

    def _topic(self, name: str) -> SimpleNamespace:
        asked = [{"topic_id": UUID(int=0), "name": name}]
        found = self.one("metadata", topics=asked, allow_auto_topic_creation=False)
        if not hasattr(found, "partitions"):  # The answer as a whole is an error.
            _check(f"describing topic {name}", found)
        return found

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        topics = [{"name": name, "topic_id": UUID(int=0)}]
        self.done(f"deleting topic {name}", "delete_topics", topics=topics, timeout=_TIMEOUT_MS)

    def produce(
        self, topic: str, partition: int, batch: bytes, transactional_id: str | None = None
    ) -> int:
        """Append one record batch; return the offset of its first record."""
        data = [{"index": partition, "records": batch}]
        answer = self._settled(
            f"producing to {topic}",
            "produce",
            transactional_id=transactional_id,
            acks=-1,
            timeout=_TIMEOUT_MS,
            topic_data=[{"name": topic, "partition_data": data}],
        )
        return int(answer.base_offset)

    def start_offset(self, topic: str, partition: int) -> int:
        """Return the log start offset of a partition."""
        return self._offset(topic, partition, _EARLIEST)

    def end_offset(self, topic: str, partition: int) -> int:
        """Return the high watermark of a partition."""
        return self._offset(topic, partition, _LATEST)

    def _offset(self, topic: str, partition: int, timestamp: int) -> int:
        wanted = {"partition_index": partition, "timestamp": timestamp}
        topics = [{"name": topic, "partitions": [wanted]}]
        what = f"listing offsets of {topic}"
        answer = self.done(what, "list_offsets", replica_id=-1, topics=topics)
        return int(answer.offset)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Move the log start offset of a partition up."""
        wanted = {"partition_index": partition, "offset": before}
        topics = [{"name": topic, "partitions": [wanted]}]
        what = f"deleting records of {topic}"
        self.done(what, "delete_records", topics=topics, timeout=_TIMEOUT_MS)

    def begin(self, transactional_id: str, topic: str, partition: int) -> Transaction:
        """Begin a transaction with one partition; wait for the end of the previous one."""
        self.find_coordinator(transactional_id, _TRANSACTION)
        answer = self._settled(
            "beginning a transaction",
            "init_producer_id",
            transactional_id=transactional_id,
            transaction_timeout=_TRANSACTION_MS,
        )
        producer = Producer(answer.producer_id, answer.producer_epoch, 0)
        self._settled(
            "beginning a transaction",
            "add_partitions_to_txn",
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[{"name": topic, "partitions": [partition]}],
        )
        return Transaction(transactional_id, producer, topic, partition)

    def end(self, transaction: Transaction, marker: int, *, committed: bool) -> None:
        """End a transaction and wait until offset ``marker`` contains its marker."""
        place = transaction.topic, transaction.partition
        self._settled(
            "ending a transaction",
            "end_txn",
            transactional_id=transaction.id,
            producer_id=transaction.producer.id,
            producer_epoch=transaction.producer.epoch,
            committed=committed,
        )
        self._awaited(
            "waiting for a transaction's marker",
            lambda: SimpleNamespace(end=self.end_offset(*place)),
            lambda log: log.end > marker,
        )

    def find_coordinator(self, key: str, kind: int = _GROUP) -> int:
        """Wait until a broker coordinates the key, and return it; -1 without FindCoordinator."""
        if self.spoken("find_coordinator") is None:
            return -1
        what, api = f"finding the coordinator of {key}", "find_coordinator"
        found = self._settled(what, api, key_type=kind, coordinator_keys=[key])
        return int(found.node_id)

    def alter_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Alter the start offset of a share-partition, whose group must be empty."""
        wanted = {"partition_index": partition, "start_offset": offset}
        self._settled(
            f"altering the offset of {topic}-{partition} for {group}",
            "alter_share_group_offsets",
            group_id=group,
            topics=[{"topic_name": topic, "partitions": [wanted]}],
        )

    def share_coordinator(self, key: str) -> tuple[int, int]:
        """Return the error and the node that FindCoordinator answers for a key of type SHARE."""
        for _try in range(_COORDINATOR_TRIES):
            found = self.one("find_coordinator", key_type=_SHARE, coordinator_keys=[key])
            if not may_pass(found.error_code):
                break
            time.sleep(_LONGEST_PAUSE_S)
        return found.error_code, found.node_id

    def configure(self, kind: Resource, name: str, settings: Mapping[str, str | None]) -> None:
        """Set the configuration of a resource; None removes a setting."""
        configs = [
            {"name": key, "config_operation": _DELETE if value is None else _SET, "value": value}
            for key, value in settings.items()
        ]
        altered = {"resource_type": kind, "resource_name": name, "configs": configs}
        what = f"configuring {kind.name.lower()} {name}"
        self.done(what, "incremental_alter_configs", resources=[altered])

    def throttle(self, *, on: bool) -> None:
        """Set a quota of requests that this client always exceeds, or remove it; wait until so."""
        quota = {"key": "request_percentage", "value": _LEAST_PERCENT, "remove": not on}
        client = [{"entity_type": "client-id", "entity_name": CLIENT}]
        entry, what = {"entity": client, "ops": [quota]}, "altering a quota"
        self.done(what, "alter_client_quotas", entries=[entry], validate_only=False)

        def attempt() -> SimpleNamespace:
            return self.ask("metadata", topics=[], allow_auto_topic_creation=False).body

        self._awaited(what, attempt, lambda body: bool(body.throttle_time) == on)

    def settings(
        self, kind: Resource, name: str, keys: tuple[str, ...] | None = None
    ) -> dict[str, str]:
        """Return the values of those settings that a resource has; without keys of all."""
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
        what = f"describing {kind.name.lower()} {name}"
        found = self.done(what, "describe_configs", resources=[resource]).configs
        known = {each.name: each.value for each in found if each.value is not None}
        return {key: known[key] for key in known if keys is None or key in keys}

    def join(self, group: str, member: str, topic: str, topic_id: str, partitions: int) -> None:
        """Join a share group and wait until the member has ``partitions`` partitions."""
        self.find_coordinator(group)
        epoch = JOINING

        def attempt() -> SimpleNamespace:
            nonlocal epoch
            body = self.heartbeat(group, member, epoch, [topic] if epoch == JOINING else None)
            epoch = epoch if body.error_code else body.member_epoch
            return body

        def is_assigned(body: SimpleNamespace) -> bool:
            assigned = body.assignment.topic_partitions if body.assignment else ()
            ours = (part for part in assigned if part.topic_id == topic_uuid(topic_id))
            return len({p for part in ours for p in part.partitions}) == partitions

        self._awaited(f"joining group {group}", attempt, is_assigned)

    def leave(self, group: str, member: str) -> None:
        """Leave a share group; a member whose session expired has already left."""
        body = self.heartbeat(group, member, LEAVING, None)
        if body.error_code != KafkaError.unknown_member_id:
            _check(f"leaving group {group}", body)

    def heartbeat(
        self, group: str, member: str, epoch: int, topics: list[str] | None
    ) -> SimpleNamespace:
        """Send a heartbeat of a member; return the answer, whatever error it has."""
        return self.one(
            "share_group_heartbeat",
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            subscribed_topic_names=topics,
        )

    def delete_group(self, group: str) -> None:
        """Delete a group without members; a missing group is no error."""
        what, gone = f"deleting group {group}", KafkaError.group_id_not_found
        self._settled(what, "delete_groups", fine=gone, groups_names=[group])

    def describe(self, group: str, topic: str, partition: int) -> tuple[Replied, SimpleNamespace]:
        """Describe a share-partition; return the whole answer, and the part about it.

        That part has ``error_code`` and, without an error, ``start_offset`` and perhaps ``lag``.
        """
        topics = [{"topic_name": topic, "partitions": [partition]}]
        groups = [{"group_id": group, "topics": topics}]
        answer = self.ask("describe_share_group_offsets", groups=groups)
        return answer, _part("describe_share_group_offsets", answer.body)

    def ask(self, name: str, **values: Any) -> Replied:  # noqa: ANN401 - plain values of any kind
        """Return the broker's answer to a request of an API of ``SPOKEN``."""
        return self._wire.ask(_CONNECTION, request(name, self.version(name), **values))

    def one(self, name: str, **values: Any) -> SimpleNamespace:  # noqa: ANN401 - as above
        """Return what the answer says of the only thing asked for, or the first error on the way.

        See ``SpokenApi.answer``.
        """
        return _part(name, self.ask(name, **values).body)

    def done(self, what: str, name: str, **values: Any) -> SimpleNamespace:  # noqa: ANN401 - as above
        """Return the same, unless it is an error."""
        part = self.one(name, **values)
        _check(what, part)
        return part

    def _settled(self, what: str, name: str, *, fine: int = 0, **values: Any) -> SimpleNamespace:  # noqa: ANN401 - as above
        """Return the same; ask again as long as an error may pass."""
        return self._awaited(what, lambda: self.one(name, **values), fine=fine)

    def _awaited(
        self,
        what: str,
        attempt: Callable[[], SimpleNamespace],
        is_done: Callable[[SimpleNamespace], bool] = lambda _part: True,
        fine: int = 0,
    ) -> SimpleNamespace:
        """Try until there is no error but a ``fine`` one, and it is done.

        Repeat after a retriable error until the timeout.
        """
        until, pause = time.monotonic() + self._seconds, _PAUSE_S
        while True:
            part = attempt()
            code = _code(part)
            if code in (0, fine) and is_done(part):
                return part
            code = _NOT_YET if code in (0, fine) else code
            if not may_pass(code) or time.monotonic() > until:
                raise TargetError(f"{what}: {error_name(code)}")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


def _part(name: str, body: SimpleNamespace) -> SimpleNamespace:
    for entries in SPOKEN[name].answer:
        if getattr(body, "error_code", 0):
            break
        body = _only(getattr(body, entries))
    return body


def _code(part: SimpleNamespace) -> int:
    return int(getattr(part, "error_code", 0) or getattr(part, "partition_error_code", 0))


def _check(what: str, part: SimpleNamespace) -> None:
    if code := _code(part):
        message = getattr(part, "error_message", None)
        raise TargetError(f"{what}: {error_name(code)}" + (f", {message[:200]}" if message else ""))


def _only(entries: tuple[Any, ...]) -> SimpleNamespace:
    """Return the only entry of an answer."""
    if len(entries) != 1:
        raise TargetError(f"{len(entries)} answers where one was due")
    entry: SimpleNamespace = entries[0]
    return entry
