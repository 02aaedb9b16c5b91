"""A broker under test, as the kit sees it: share sessions, a log to write to, a clock that runs."""

from collections.abc import Sequence
from typing import Protocol

import attrs

from conformance.target import TargetError
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.ranges import OffsetRange
from model.share_messages import ShareRequest, ShareResponse, TopicPartition

__all__ = [
    "Described",
    "Exchange",
    "Place",
    "UnansweredError",
    "WireCapabilities",
    "WireHello",
    "WireTarget",
]


class UnansweredError(TargetError):
    """A broker closed a connection instead of answering a request on it."""


@attrs.frozen
class WireCapabilities:
    """What a broker can do; what it cannot is not asked of it, and a report says so.

    ``fetch_versions`` and ``acknowledge_versions``: of ShareFetch and ShareAcknowledge, both ends
    inclusive, cut to what the kit speaks. ``renew`` and the acquire mode record_limit need 2.

    ``offsets``: DescribeShareGroupOffsets answers; ``lag``: with a lag, too. ``config``: the
    group's ``share.*`` can be set, for one place apart from others. ``sessions``: share sessions
    are kept and checked.

    ``gaps``: offsets without a record can be made. Each is the marker of a transaction, a log
    batch of one offset: a broker acquires it like a record, and no client sees it as one.
    ``aborted``: batches of aborted transactions can be produced.

    ``lock_ms``: the lock duration that sequences run with; ``sweep_ms``: a lock that is over
    ends within this, in ms. ``delivery_limits`` and ``lock_limits``: the values of
    delivery_count_limit and partition_max_record_locks that can be configured.
    ``max_sequence_ms``: a sequence may take as long; what it made may be removed after that.
    """

    fetch_versions: tuple[int, int] = (1, 1)
    acknowledge_versions: tuple[int, int] = (1, 1)
    acquire_modes: tuple[str, ...] = ("batch_optimized",)
    renew: bool = False
    offsets: bool = False
    lag: bool = False
    delete_records: bool = False
    gaps: bool = False
    aborted: bool = False
    config: bool = False
    sessions: bool = True
    sweep_ms: int = 1000
    lock_ms: int = 1000
    delivery_limits: tuple[int, ...] = (5,)
    lock_limits: tuple[int, ...] = (200,)
    max_sequence_ms: int = 30_000


@attrs.frozen
class WireHello:
    """Who a broker is, and the profile that it is judged by.

    ``skipped``: what cannot be asked of it, each with the reason, for the report.
    """

    name: str
    version: str
    profile: str
    capabilities: WireCapabilities = WireCapabilities()
    skipped: tuple[str, ...] = ()


@attrs.frozen
class Place:
    """A group and a topic that were made for one sequence; its partitions count from 0.

    ``topic_id`` is a UUID in its usual form of 36 characters, as in the requests of ``ask``.
    """

    group: str
    topic_id: str
    partitions: int


@attrs.frozen
class Exchange:
    """A response, with what came beside it. Times are of the monotonic clock, in ms.

    ``sent_ms`` is before the first byte of the request was sent, ``received_ms`` after the last
    of the response came: the broker served it in between.
    ``read`` has the offsets of the records in the response, as disjoint ranges that ascend, one
    for each log batch; ``markers`` those of the transactions' markers among them.
    ``unknown_errors`` names errors that ``ErrorCode`` does not have: in ``response`` they are
    UNKNOWN_SERVER_ERROR. ``lock_timeout_ms`` is None in a response that does not tell it.
    """

    response: ShareResponse
    sent_ms: float
    received_ms: float
    read: tuple[tuple[TopicPartition, tuple[OffsetRange, ...]], ...] = ()
    markers: tuple[tuple[TopicPartition, tuple[OffsetRange, ...]], ...] = ()
    lock_timeout_ms: int | None = None
    unknown_errors: tuple[str, ...] = ()


@attrs.frozen
class Described:
    """What DescribeShareGroupOffsets says of a share-partition.

    ``start_offset`` is -1 where there is none yet, ``lag`` None where the broker does not tell it.
    """

    error: ErrorCode
    start_offset: int
    lag: int | None
    sent_ms: float
    received_ms: float


class WireTarget(Protocol):
    """A broker. Every method but ``close`` may raise TargetError: it cannot be driven."""

    def hello(self) -> WireHello:
        """Return who this is."""

    def open(self, config: SharePartitionConfig, partitions: int) -> Place:
        """Make a topic with so many empty partitions, and a group that can fetch from them."""

    def produce(
        self,
        place: Place,
        partition: int,
        batches: Sequence[tuple[int, int]],
        *,
        aborted: bool = False,
    ) -> tuple[OffsetRange, ...]:
        """Append log batches, each as (offsets without a record before it, its records).

        Returns the offsets of each batch. If ``aborted`` the batches are one transaction that is
        aborted: its marker, one offset, follows the last batch.
        """

    def delete_records(self, place: Place, partition: int, before: int) -> None:
        """Move the log start offset up to ``before``; the group's leader may notice later."""

    def ask(self, place: Place, request: ShareRequest, connection: str) -> Exchange:
        """Send a request over the connection of this name, which is opened on first use."""

    def disconnect(self, connection: str) -> None:
        """Close the connection of this name, if there is one."""

    def describe(self, place: Place, partition: int) -> Described:
        """Ask for the start offset and the lag of a share-partition."""

    def wait(self, ms: float) -> None:
        """Let time pass."""

    def finish(self, place: Place) -> None:
        """Remove the topic and the group, and close every connection of ``ask``."""

    def close(self) -> None:
        """Let the broker go. Never raises."""
