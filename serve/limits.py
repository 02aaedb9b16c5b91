"""How much a client may make the broker hold."""

import attrs


@attrs.frozen
class Limits:
    """Bytes, counts and seconds beyond which a request is refused or a connection closed.

    ``log_bytes`` are those of all partitions together. ``stalled_seconds``: how long a client may
    read nothing of what it is sent. ``response_bytes`` are those of records; one batch may come
    beyond them.
    """

    request_bytes: int = 2 << 20
    connections: int = 100
    queued_requests: int = 2
    stalled_seconds: float = 30.0
    batch_bytes: int = 1_048_588
    batch_records: int = 50_000
    partition_bytes: int = 64 << 20
    partition_batches: int = 100_000
    partition_producers: int = 1000
    log_bytes: int = 512 << 20
    topics: int = 1000
    partitions: int = 10_000
    topic_partitions: int = 1000
    groups: int = 100
    members: int = 2000
    subscription_characters: int = 16_000
    session_partitions: int = 1000
    response_bytes: int = 8 << 20
    settings: int = 1000
    name_characters: int = 249
