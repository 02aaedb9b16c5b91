"""What the kit asks of a broker: asks that make sense wherever they stand.

Offsets are counted from what is believed to be held or from the ends of the window, and epochs
from the one that a session expects, so that a sequence still means something when an ask is taken
out of it. Times in ms.
"""

from enum import StrEnum

import attrs

from model.config import SharePartitionConfig
from model.states import AcquireMode

__all__ = [
    "Acknowledge",
    "Acknowledged",
    "Ask",
    "Batch",
    "DeleteRecords",
    "Describe",
    "Disconnect",
    "Epoch",
    "Fetch",
    "Open",
    "Produce",
    "ProduceAborted",
    "Shape",
    "Stranger",
    "Wait",
    "WaitPastLocks",
]


class Epoch(StrEnum):
    """The session epoch of a request, by the one that its session expects."""

    NEXT = "next"
    OPEN = "open"
    CLOSE = "close"
    AGAIN = "again"
    SKIP = "skip"


class Shape(StrEnum):
    """How a batch of acknowledgements is malformed."""

    WELL_FORMED = ""
    REVERSED = "reversed"
    NEGATIVE = "negative"
    NO_TYPE = "no type"
    TOO_MANY_TYPES = "too many types"
    UNKNOWN_TYPE = "unknown type"


class Stranger(StrEnum):
    """A partition that a request names although it does not exist."""

    NONE = ""
    PARTITION = "partition"
    TOPIC = "topic"


@attrs.frozen
class Open:
    """A fresh topic with so many partitions, and a fresh group."""

    config: SharePartitionConfig
    partitions: int = 1


@attrs.frozen
class Produce:
    """Log batches are appended, each as (offsets without a record before it, its size)."""

    partition: int
    batches: tuple[tuple[int, int], ...]


@attrs.frozen
class ProduceAborted:
    """Log batches are appended as one transaction, which is aborted: its marker follows them."""

    partition: int
    batches: tuple[tuple[int, int], ...]


@attrs.frozen
class DeleteRecords:
    """The log loses its first ``by`` offsets."""

    partition: int
    by: int


@attrs.frozen
class Batch:
    """A batch of acknowledgements of ``length`` offsets.

    It begins with the ``nth`` offset that ``whose`` holds; or, without such a member or if nothing
    is held, with the ``nth`` offset of the window. ``types`` has one for all or one for each.
    """

    whose: str = ""
    nth: int = 0
    length: int = 1
    types: tuple[int, ...] = (1,)
    shape: Shape = Shape.WELL_FORMED


@attrs.frozen
class Acknowledged:
    """What a request acknowledges at one partition."""

    partition: int
    batches: tuple[Batch, ...]


@attrs.frozen
class Fetch:
    """A member fetches, and acknowledges along with it; without a session it opens one.

    ``partitions`` join the session, ``forgotten`` leave it. Batches that renew locks make it a
    request that only renews, unless it does not say so (``unsaid``).
    """

    member: str
    partitions: tuple[int, ...] = ()
    max_records: int = 500
    batch_size: int = 500
    mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED
    acknowledged: tuple[Acknowledged, ...] = ()
    forgotten: tuple[int, ...] = ()
    epoch: Epoch = Epoch.NEXT
    stranger: Stranger = Stranger.NONE
    unsaid: bool = False


@attrs.frozen
class Acknowledge:
    """A member acknowledges."""

    member: str
    acknowledged: tuple[Acknowledged, ...]
    epoch: Epoch = Epoch.NEXT
    stranger: Stranger = Stranger.NONE
    unsaid: bool = False


@attrs.frozen
class Disconnect:
    """The connection of a member is closed; its next request opens another."""

    member: str


@attrs.frozen
class Wait:
    """So many percent of the lock duration pass."""

    percent: int


@attrs.frozen
class WaitPastLocks:
    """Time passes until every lock is over that is held."""


@attrs.frozen
class Describe:
    """The start offset and the lag of a partition are asked for."""

    partition: int


Ask = (
    Open
    | Produce
    | ProduceAborted
    | DeleteRecords
    | Fetch
    | Acknowledge
    | Disconnect
    | Wait
    | WaitPastLocks
    | Describe
)
