"""How much a client may make the broker hold."""

import attrs

BATCH_BYTES = 400
"""What a batch takes in memory besides its records."""


@attrs.frozen
class Limits:
    """Bytes, counts and seconds beyond which a request is refused or a connection closed.

    ``log_bytes`` are those of all partitions together, with BATCH_BYTES for each batch.
    ``stalled_seconds``: how long a client may read nothing of what it is sent. ``response_bytes``
    are those of records; one batch may come beyond them. So long, too, may a client take for its
    first request, and for the rest of one that it begins; and ``idle_seconds`` between two.
    """

    request_bytes: int = 5 << 18
    connections: int = 50
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

    @property
    def most_bytes(self) -> int:
        """The most that logs, requests and responses take together.

        A connection has a request that is served, one that waits to be queued and those that are;
        and a response, with the copy of it that waits to be sent.
        """
        requests = (self.queued_requests + 2) * self.request_bytes
        responses = 2 * (self.response_bytes + self.batch_bytes)
        return self.log_bytes + self.connections * (requests + responses)
