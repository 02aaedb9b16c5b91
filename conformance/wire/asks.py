"""The commands for a broker, which keep their meaning anywhere in a sequence.

They count offsets from the records that a member most plausibly holds or from the start of the
window, and epochs from the one that a session expects, so that a sequence still makes sense when
shrinking drops a command. Times in ms.
"""

from enum import StrEnum

import attrs

from conformance.cores.acknowledgements import Shape
from model.config import SharePartitionConfig
from model.states import AcquireMode

MOST_BYTES, FEWEST_BYTES = 2**31 - 1, 1
"""How many bytes a fetch may ask for: no limit, and fewer than any record has."""


class Epoch(StrEnum):
    """The session epoch of a request, relative to the one that its session expects."""

    NEXT = "next"
    OPEN = "open"
    CLOSE = "close"
    AGAIN = "again"
    SKIP = "skip"


class Stranger(StrEnum):
    """A partition that a request names although it does not exist."""

    NONE = ""
    PARTITION = "partition"
    TOPIC = "topic"


class Key(StrEnum):
    """What a key of a share coordinator lacks: ``groupId:topicId:partition`` (KIP-932)."""

    WHOLE = ""
    NO_PARTITION = "no partition"
    NO_NUMBER = "a partition that is no number"
    NO_TOPIC = "a topic id that is none"
    NO_GROUP = "no group"


@attrs.frozen
class WireOpen:
    """Create a topic with so many partitions, and a group, whose id ends with ``group``."""

    config: SharePartitionConfig
    partitions: int = 1
    group: str = ""


@attrs.frozen
class WireProduce:
    """Append log batches, each as (offsets without a record before it, its size).

    ``old`` records have a timestamp of before the hour of by_duration.
    """

    partition: int
    batches: tuple[tuple[int, int], ...]
    old: bool = False


@attrs.frozen
class WireProduceAborted:
    """Append log batches as one transaction and abort it: its marker follows them."""

    partition: int
    batches: tuple[tuple[int, int], ...]


@attrs.frozen
class WireProduceOpen:
    """Append log batches in a transaction of the partition that stays open, or begins with them."""

    partition: int
    batches: tuple[tuple[int, int], ...]


@attrs.frozen
class WireEndTransaction:
    """Commit or abort the open transaction of the partition, if there is one."""

    partition: int
    committed: bool = True


@attrs.frozen
class WireDeleteRecords:
    """Delete the first ``by`` offsets of the log, at most up to an open transaction."""

    partition: int
    by: int


@attrs.frozen
class AskBatch:
    """A batch of acknowledgements of ``length`` offsets.

    The first is the ``nth`` offset that member ``whose`` holds; without such a member, or if it
    holds nothing, the ``nth`` offset of the window. ``types`` has one for all or one for each.
    """

    whose: str = ""
    nth: int = 0
    length: int = 1
    types: tuple[int, ...] = (1,)
    shape: Shape = Shape.WELL_FORMED


@attrs.frozen
class Acknowledged:
    """The acknowledgements of a request at one partition."""

    partition: int
    batches: tuple[AskBatch, ...]


@attrs.frozen
class WireFetch:
    """Fetch and acknowledge in one request, which opens a session if the member has none.

    ``partitions`` join the session, ``forgotten`` leave it. With a renewal in its batches the
    request announces it, and then fetches nothing, unless it is ``unsaid``. ``throttled``: the
    client is over a quota meanwhile.
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
    max_bytes: int = MOST_BYTES
    throttled: bool = False


@attrs.frozen
class WireAcknowledge:
    """Acknowledge in a request of its own."""

    member: str
    acknowledged: tuple[Acknowledged, ...]
    epoch: Epoch = Epoch.NEXT
    stranger: Stranger = Stranger.NONE
    unsaid: bool = False


@attrs.frozen
class WireDisconnect:
    """Close the connection of a member; its next request opens another."""

    member: str


@attrs.frozen
class WireWait:
    """Wait so many percent of the lock duration."""

    percent: int


@attrs.frozen
class WireWaitPastLocks:
    """Wait until every lock that is held has ended."""


@attrs.frozen
class WireDescribe:
    """Describe the start offset and the lag of a partition."""

    partition: int


@attrs.frozen
class WireFindCoordinator:
    """Ask for the share coordinator of a share-partition, or by a key that names none."""

    partition: int
    key: Key = Key.WHOLE


OfTheLog = (
    WireProduce | WireProduceAborted | WireProduceOpen | WireEndTransaction | WireDeleteRecords
)


@attrs.frozen
class WireAlterOffset:
    """Alter the start offset of a share-partition, ``to`` so many offsets into the log.

    With ``hang_up`` the connections of the members are closed as well as their sessions.
    """

    partition: int
    to: int = 0
    hang_up: bool = False


@attrs.frozen
class WireRecreate:
    """Delete the group, and the topic if so, and create them again under the same names.

    With ``hang_up`` the connections of the members are closed as well as their sessions.
    """

    topic: bool = False
    hang_up: bool = False


@attrs.frozen
class WireBriefMember:
    """Give the group an interval of its own, the ``nth`` that it may have, and join for a moment.

    A ``silent`` member sends no heartbeats for longer than the session timeout, which the group has
    of its own then as well.
    """

    nth: int = 0
    silent: bool = False


OfTime = WireDisconnect | WireWait | WireWaitPastLocks
OfAdmin = WireDescribe | WireFindCoordinator | WireAlterOffset | WireRecreate | WireBriefMember
Ask = WireOpen | OfTheLog | WireFetch | WireAcknowledge | OfTime | OfAdmin
