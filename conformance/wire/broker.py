"""A broker at an address, as a target."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from uuid import uuid4

import attrs

from conformance.target import TargetError
from conformance.wire.admin import Admin
from conformance.wire.codec import exchange, message
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.hooks import Hooks
from conformance.wire.servers import ServerProgram
from conformance.wire.target import Described, Exchange, GroupTopic, NamedNode, WireHello
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.ranges import OffsetRange
from model.share_messages import ShareFetch, ShareRequest

_UNKNOWN_LAG = -1
_FIXED_LIMITS = "other limits of deliveries and locks: a group has none of its own"


class BrokerTarget:
    """A target that connects to one address only; ``hooks`` do what differs between brokers."""

    def __init__(  # noqa: PLR0913 - each has a default and a name
        self,
        bootstrap: str,
        hooks: Callable[[Admin], Hooks] = Hooks,
        *,
        name: str = "",
        version: str = "",
        profile: str = "kafka",
        lock_ms: int | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        """Connect to nothing yet. Raises TargetError if ``bootstrap`` is not HOST:PORT.

        ``lock_ms`` is the lock duration of sequences; None: the shortest that the broker allows.
        """
        bounds = bounds or Bounds()
        self._wire = Wire(Address.parse(bootstrap), bounds)
        self._admin = Admin(self._wire, bounds.seconds)
        self._hooks = hooks(self._admin)
        self._named = name or str(self._wire.address), version, profile
        self._lock_ms = lock_ms
        self._hello: WireHello | None = None
        self._token = uuid4().hex[:8]
        self._topics_created = 0
        self._topics: dict[GroupTopic, str] = {}
        self._connections: set[str] = set()
        self._transactions: set[tuple[GroupTopic, int]] = set()

    @property
    def address(self) -> Address:
        """Where the broker listens."""
        return self._wire.address

    def hello(self) -> WireHello:
        """Describe the broker. Raises TargetError without share groups, or in a larger cluster."""
        if self._hello is None:
            if self._admin.spoken("share_fetch") is None:
                address = self._wire.address
                spoken = self._admin.versions().get(78)
                versions = f"ShareFetch {spoken[0]} to {spoken[1]}" if spoken else "no ShareFetch"
                raise TargetError(f"{address} has {versions}; share groups need version 1 or 2")
            self._admin.check_alone()
            can = self._hooks.capabilities()
            can = attrs.evolve(can, lock_ms=self._lock_ms or can.lock_ms)
            skipped = () if can.group_limits else (_FIXED_LIMITS,)
            self._hello = WireHello(*self._named, can, skipped, self._admin.nodes)
        return self._hello

    def open(self, config: SharePartitionConfig, partitions: int, group: str = "") -> GroupTopic:
        """Create a topic with empty partitions, and a group that can fetch from them."""
        hello = self.hello()
        self._topics_created += 1
        name = f"sharespec-{self._token}-{self._topics_created}"
        topic_id = self._hooks.create_topic(name, partitions)
        place = GroupTopic(f"{name}{group}", topic_id, partitions)
        self._topics[place] = name
        if hello.capabilities.config:
            self._hooks.configure(place.group, config)
        self._hooks.join(place.group, name, topic_id, partitions)
        return place

    def produce(
        self,
        place: GroupTopic,
        partition: int,
        batches: Sequence[tuple[int, int]],
        *,
        aborted: bool = False,
    ) -> tuple[OffsetRange, ...]:
        """Append log batches."""
        return self._hooks.produce(self._topics[place], partition, batches, aborted=aborted)

    def produce_open(
        self, place: GroupTopic, partition: int, batches: Sequence[tuple[int, int]]
    ) -> tuple[OffsetRange, ...]:
        """Append log batches in the open transaction of a partition."""
        self._transactions.add((place, partition))
        return self._hooks.produce_open(self._topics[place], partition, batches)

    def end_transaction(self, place: GroupTopic, partition: int, *, committed: bool) -> None:
        """End the open transaction of a partition."""
        self._transactions.discard((place, partition))
        self._hooks.end_transaction(self._topics[place], partition, committed=committed)

    def delete_records(self, place: GroupTopic, partition: int, before: int) -> None:
        """Move the log start offset up to ``before``."""
        self._hooks.delete_records(self._topics[place], partition, before)

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:  # noqa: ARG002 - of the Protocol
        """Send a request over the named connection."""
        self._connections.add(name := _named(connection))
        wait_ms = request.max_wait_ms if isinstance(request, ShareFetch) else 0
        return exchange(request, self._wire.ask(name, message(request), wait_ms))

    def disconnect(self, connection: str) -> None:
        """Close the named connection, if it exists."""
        self._wire.disconnect(_named(connection))

    def describe(self, place: GroupTopic, partition: int) -> Described:
        """Return the start offset and the lag of a share-partition."""
        answer, described = self._admin.describe(place.group, self._topics[place], partition)
        lag = getattr(described, "lag", _UNKNOWN_LAG)
        led = self._admin.leader_epoch(self._topics[place], partition)
        return Described(
            _error(described.error_code),
            getattr(described, "start_offset", -1),
            None if lag == _UNKNOWN_LAG else lag,
            answer.sent_ms,
            answer.received_ms,
            getattr(described, "leader_epoch", -1),
            led,
        )

    def alter_offset(self, place: GroupTopic, partition: int, offset: int) -> None:
        """Alter a start offset while the group has no member."""
        self._hooks.empty(place.group)
        self._admin.alter_offset(place.group, self._topics[place], partition, offset)
        self._hooks.join(place.group, self._topics[place], place.topic_id, place.partitions)

    def recreate(self, place: GroupTopic, *, topic: bool) -> GroupTopic:
        """Delete the group, perhaps the topic, and create them again."""
        name = self._topics[place]
        self._hooks.empty(place.group)
        self._admin.delete_group(place.group)
        if topic:
            self._hooks.delete_topic(name)
            del self._topics[place]
            place = attrs.evolve(place, topic_id=self._hooks.create_topic(name, place.partitions))
            self._topics[place] = name
        self._hooks.join(place.group, name, place.topic_id, place.partitions)
        return place

    def coordinator_of(self, key: str) -> NamedNode:
        """Ask for the share coordinator of a key."""
        code, node = self._admin.share_coordinator(key)
        return NamedNode(_error(code), node)

    def wait(self, ms: float) -> None:
        """Sleep."""
        time.sleep(ms / 1000)

    def finish(self, place: GroupTopic) -> None:
        """End what is open, remove the topic and the group, close every connection of ``ask``."""
        for name in self._connections:
            self._wire.disconnect(name)
        self._connections.clear()
        try:
            for other, partition in tuple(self._transactions):
                if other == place:
                    self.end_transaction(place, partition, committed=False)
            self._hooks.leave(place.group)
        finally:
            self._hooks.delete_topic(self._topics[place])
        del self._topics[place]

    def close(self) -> None:
        """Remove remaining topics and groups as far as possible, and close every connection."""
        for place in tuple(self._topics):
            with suppress(TargetError):
                self.finish(place)
        self._topics.clear()
        self._wire.close()


@contextmanager
def served_target(
    server: ServerProgram, hooks: Callable[[Admin], Hooks], name: str, silence: float
) -> Iterator[BrokerTarget]:
    """Drive a server that was started, and end it; ``silence``: its timeout in seconds."""
    how = partial(BrokerTarget, name=name, version=server.version, bounds=Bounds(seconds=silence))
    with closing(server), closing(how(server.address, hooks)) as target:
        yield target


def _error(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _named(connection: str) -> str:
    """Return a name that differs from that of the administrative connection."""
    return f"member {connection}"
