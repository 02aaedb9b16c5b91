"""How much a client may make the broker hold."""

import asyncio
import logging

import attrs

LOG = logging.getLogger("sharespec.serve")

BATCH_BYTES = 400
"""What a batch takes in memory besides its records."""
SMALL_BYTES = 16 << 10
"""Up to so many bytes a request or response is none of those that ``traffic_bytes`` limits."""


@attrs.frozen
class Maxima:
    """Bytes, counts and seconds beyond which a request is refused or a connection closed.

    ``log_bytes`` are those of all partitions together, with BATCH_BYTES for each batch.
    ``stalled_seconds``: how long a client may read nothing of what it is sent. ``response_bytes``
    are those of records; one batch may come beyond them. So long, too, may a client take for its
    first request, and for the rest of one that it begins; and ``idle_seconds`` between two.
    ``traffic_bytes``: those of requests and responses of all connections, as in Traffic.
    """

    request_bytes: int = 5 << 18
    connections: int = 500
    traffic_bytes: int = 480 << 20
    queued_requests: int = 1
    stalled_seconds: float = 30.0
    idle_seconds: float = 600.0
    batch_bytes: int = 1_048_588
    batch_records: int = 50_000
    partition_bytes: int = 64 << 20
    partition_batches: int = 100_000
    partition_producers: int = 1000
    log_bytes: int = 384 << 20
    topics: int = 1000
    partitions: int = 10_000
    topic_partitions: int = 1000
    groups: int = 100
    members: int = 2000
    subscription_characters: int = 16_000
    session_partitions: int = 1000
    response_bytes: int = 2 << 20
    settings: int = 1000
    name_characters: int = 249


@attrs.define
class Traffic:
    """The bytes of requests that come or came, and of responses that wait for their client.

    Beyond ``most`` the connection is closed that has got none of them done for the longest time.
    """

    most: int
    _taken: int = 0
    _held: dict[asyncio.WriteTransport, int] = attrs.field(factory=dict)

    def take(self, connection: asyncio.WriteTransport, size: int) -> None:
        """Hold so many bytes more for a connection."""
        if size <= SMALL_BYTES:
            return
        self._held[connection] = self._held.get(connection, 0) + size
        self._taken += size
        while self._taken > self.most:
            slowest = next(iter(self._held))
            self.end(slowest)
            slowest.abort()
            peer = slowest.get_extra_info("peername") or ("?", 0)
            LOG.warning("%s:%s: closed, others need the room of its requests", *peer[:2])

    def give(self, connection: asyncio.WriteTransport, size: int) -> None:
        """Hold so many bytes less; a connection that goes on is the last to be closed."""
        if size > SMALL_BYTES and (held := self._held.pop(connection, 0)):
            self._taken -= size
            if held > size:
                self._held[connection] = held - size

    def end(self, connection: asyncio.WriteTransport) -> None:
        """Hold nothing for a connection."""
        self._taken -= self._held.pop(connection, 0)
