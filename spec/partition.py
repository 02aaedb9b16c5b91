"""A share-partition as its leader keeps it: one immutable value."""

import attrs
from immutables import Map

from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError
from model.guards import CoordinatorGuard, Guard
from model.outcome import Outcome, Write
from model.profile import Profile
from model.ranges import PassedOver, StateBatch
from model.whole_state import Delayed
from spec.coordinator import Durable
from spec.log import Log
from spec.window import Window, drop_below, first_unfinished, passed


@attrs.frozen
class Outstanding:
    """A write to the share coordinator that is not answered yet.

    ``offsets`` are the records that are pending on it; none for changes that do not wait for it.
    ``seq`` is the operation that its answer completes; None if no operation waits.
    """

    write: Write
    offsets: tuple[int, ...] = ()
    seq: int | None = None


@attrs.frozen
class SharePartition:
    """The state of one share-partition; ``now`` in ms on the leader's clock.

    ``ready`` is False until a leader has read the durable state. ``highest_limit`` is the highest
    delivery count limit under which a record of the window was ever delivered, as far as is known.
    ``next_acquisition`` is the number of the next acquisition, where records may be marked; the
    leader epoch in ``durable``, that of this leader, and the number together name a delivery. It
    outlasts ``ready``: a leader epoch has each number once.
    ``passed_over`` are the available records that fetches passed over, in ascending ranges, and
    ``stuck`` is the start offset of a full window that had something finished there.
    """

    profile: Profile
    config: SharePartitionConfig = SharePartitionConfig()
    now: int = 0
    log: Log = Log(0, 0, known=False)
    window: Window = Window(0, 0)
    outstanding: Map[int, Outstanding] = Map()
    next_write: int = 0
    durable: Durable = Durable()
    ready: bool = False
    highest_limit: int = 0
    next_acquisition: int = 0
    passed_over: tuple[PassedOver, ...] = ()
    stuck: Delayed | None = None


@attrs.frozen
class Step:
    """A share-partition after an operation, and the outcome of the operation."""

    partition: SharePartition
    outcome: Outcome = Outcome(ErrorCode.NONE)


def being_written(partition: SharePartition) -> list[StateBatch]:
    """Return what outstanding writes report of records."""
    return [batch for sent in partition.outstanding.values() for batch in sent.write.state_batches]


def is_being_written(partition: SharePartition, offset: int) -> bool:
    """Whether an outstanding write reports the record."""
    return any(batch.first <= offset <= batch.last for batch in being_written(partition))


def new_partition(profile: Profile) -> SharePartition:
    """Return a share-partition that no leader has initialized."""
    return SharePartition(profile)


def require(condition: bool, guard: Guard | CoordinatorGuard, detail: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise IllegalChoiceError, naming the guard, unless the condition holds."""
    if not condition:
        raise IllegalChoiceError(guard, detail)


def complete_count(partition: SharePartition) -> int:
    """Return the delivery complete count, in offsets (KIP-1226).

    These are the records that are ACKNOWLEDGED or ARCHIVED, also while their write is outstanding.
    Natural gaps and compacted offsets stay in the lag until they are acknowledged as gaps or the
    start offset passes them.
    """
    return partition.window.complete


def move_start(partition: SharePartition, chosen: int | None) -> SharePartition:
    """Move the share-partition start offset (SPSO) up to ``chosen``, or as far as it may.

    Guard: never back, and never past an unfinished record (KIP-932, Managing the SPSO and SPEO).
    Effect: records before it are no longer in flight; they count as ARCHIVED.
    Delivery count: unchanged.
    Persistence: none; the next write carries the start offset.
    """
    window = partition.window
    furthest = first_unfinished(window, partition.log)
    start = furthest if chosen is None else chosen
    if start == window.start_offset:
        return partition
    detail = f"from {window.start_offset} to {start}"
    require(start > window.start_offset, Guard.START_NEVER_GOES_BACK, detail)
    end = passed(window, partition.log, furthest)
    require(start <= end, Guard.START_STOPS_AT_UNFINISHED, f"to {start}, past offset {end}")
    return attrs.evolve(partition, window=drop_below(window, start))
