"""What can happen to a share-partition. Times are in ms, offset ranges inclusive."""

from enum import StrEnum
from typing import Any

import attrs

from model.checks import any_number, member_name, non_negative, offset, optional
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.ranges import OffsetRange, StateBatch, ascend, offsets
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import HELD_STATES, AcquireMode


class EntryPoint(StrEnum):
    """Where an acknowledgement enters: at the broker's request handler or the share-partition.

    Only a request is validated (Kafka: ``KafkaApis.validateAcknowledgementBatches``).
    """

    REQUEST = "request"
    SHARE_PARTITION = "share_partition"


def _ascending(
    _instance: object, attribute: "attrs.Attribute[Any]", batches: tuple[OffsetRange, ...]
) -> None:
    ascend(attribute.name, batches)


def _is_stable(last_stable_offset: int | None, log_end_offset: int) -> None:
    if last_stable_offset is not None and last_stable_offset > log_end_offset:
        allowed = f"at most log_end_offset, which is {log_end_offset}"
        raise InvalidValueError("last_stable_offset", last_stable_offset, allowed)


@attrs.frozen
class Initialize:
    """A leader reads the durable state and takes over (ReadShareGroupState).

    ``reset_offset`` is what the reset strategy resolves to where ``persisted`` has no start
    offset and the strategy is by_duration. Offsets are inclusive starts and exclusive ends.
    ``last_stable_offset`` is where the first open transaction begins; None where none is open.
    Without ``log_known`` nobody recorded what becomes of the log: it is what reads show. Once a
    leader had it, every later leader has. Where it is ``timed`` the clock of this leader is a real
    one: what passes between two events moves it, and ``Expire`` alone ends a lock. Without
    ``count_known`` the read did not tell the delivery complete count, which then is -1.
    """

    config: SharePartitionConfig
    log_start_offset: int = attrs.field(validator=offset)
    log_end_offset: int = attrs.field(validator=offset)
    persisted: DurableState
    time_ms: int = attrs.field(default=0, validator=non_negative)
    reset_offset: int | None = attrs.field(default=None, validator=optional(offset))
    last_stable_offset: int | None = attrs.field(default=None, validator=optional(offset))
    log_known: bool = True
    timed: bool = False
    count_known: bool = True

    def __attrs_post_init__(self) -> None:
        """Refuse a log that ends before it starts, or before its last stable offset."""
        if self.log_end_offset < self.log_start_offset:
            allowed = f"at least log_start_offset, which is {self.log_start_offset}"
            raise InvalidValueError("log_end_offset", self.log_end_offset, allowed)
        _is_stable(self.last_stable_offset, self.log_end_offset)


@attrs.frozen
class Produce:
    """Log batches are appended; offsets between them are not in the log (natural gaps).

    A transaction begins, commits and aborts with what is appended: ``last_stable_offset`` is where
    the first that is open afterwards begins (inclusive); None where none is open.
    """

    log_batches: tuple[OffsetRange, ...] = attrs.field(validator=_ascending)
    log_end_offset: int = attrs.field(validator=offset)
    last_stable_offset: int | None = attrs.field(default=None, validator=optional(offset))

    def __attrs_post_init__(self) -> None:
        """Refuse a log end offset that is not past the last batch, or below the stable offset."""
        _is_stable(self.last_stable_offset, self.log_end_offset)
        if self.log_batches and self.log_end_offset <= self.log_batches[-1].last:
            allowed = f"past the last log batch, which ends at {self.log_batches[-1].last}"
            raise InvalidValueError("log_end_offset", self.log_end_offset, allowed)


@attrs.frozen
class Compact:
    """The log no longer holds the offsets of these ranges (compaction, or repair by hand)."""

    ranges: tuple[OffsetRange, ...] = attrs.field(validator=_ascending)


@attrs.frozen
class Acquire:
    """A member fetches: ``log_batches`` is what the broker read at ``fetch_offset``."""

    member: str = attrs.field(validator=member_name)
    acquire_mode: AcquireMode
    batch_size: int = attrs.field(validator=non_negative)
    max_fetch_records: int = attrs.field(validator=non_negative)
    fetch_offset: int = attrs.field(validator=offset)
    log_batches: tuple[OffsetRange, ...] = attrs.field(validator=_ascending)


@attrs.frozen
class SkipAcquire:
    """A member fetches, and the share-partition can acquire nothing now."""

    member: str = attrs.field(validator=member_name)


@attrs.frozen
class AcknowledgementBatch:
    """One element of AcknowledgementBatches, as it came: it may be malformed.

    ``types`` holds one acknowledge type for the whole range or one for each offset.
    """

    first: int
    last: int
    types: tuple[int, ...]


@attrs.frozen
class Acknowledge:
    """A member acknowledges batches of records of one share-partition."""

    member: str = attrs.field(validator=member_name)
    batches: tuple[AcknowledgementBatch, ...]
    entry: EntryPoint = EntryPoint.SHARE_PARTITION


@attrs.frozen
class MemberLeaves:
    """The session of a member ends, or it leaves its group: its records are released (KIP-932).

    A trace names it ``release``.
    """

    member: str = attrs.field(validator=member_name)


@attrs.frozen
class AdvanceTime:
    """The clock moves on by ``ms`` and the acquisition locks that are due expire.

    Where the clock is a real one (``Initialize.timed``) it only moves on.
    """

    ms: int = attrs.field(validator=non_negative)


@attrs.frozen
class Expire:
    """A timer ends the acquisition locks of these ranges, now (Kafka: AcquisitionLockTimerTask).

    ``due_ms``: when they were due, if that is known.
    """

    ranges: tuple[OffsetRange, ...]
    due_ms: int | None = attrs.field(default=None, validator=optional(non_negative))


def _answer(_instance: object, _attribute: object, status: ErrorCode) -> None:
    if status is ErrorCode.PENDING:
        raise InvalidValueError("status", status, "NONE or an error code")


@attrs.frozen
class CompleteWrite:
    """The outstanding write ``id`` is answered with ``status``.

    ``held``: where the write failed, those of its records that a timer has not released yet though
    their acquisition locks are over. They are held by their former owner again.
    ``overtaken``: before the answer the next object of the leader, in the same leader epoch, had
    read the durable state, so that it need not have read the write.
    """

    id: int = attrs.field(validator=non_negative)
    status: ErrorCode = attrs.field(validator=_answer)
    held: tuple[OffsetRange, ...] = ()
    overtaken: bool = False


@attrs.frozen
class AdvanceLogStart:
    """The log start offset moves up (retention, DeleteRecords) and the leader notices."""

    log_start_offset: int = attrs.field(validator=offset)


@attrs.frozen
class ResetOffset:
    """An administrator alters the start offset of an empty group (AlterShareGroupOffsets)."""

    start_offset: int = attrs.field(validator=offset)


@attrs.frozen
class ProgressBatch:
    """One element of ProgressBatches, as it came: it may be malformed.

    ``leader_epoch`` and ``acquisition`` name the delivery whose progress is reported: the leader
    epoch of the leader that acquired the records, and the number which it gave the acquisition.
    """

    first: int = attrs.field(validator=any_number)
    last: int = attrs.field(validator=any_number)
    leader_epoch: int = attrs.field(validator=any_number)
    acquisition: int = attrs.field(validator=any_number)


@attrs.frozen
class MarkInProgress:
    """A member reports that it is at work on records (KAFKA-20458, MarkInProgressRequest)."""

    member: str = attrs.field(validator=member_name)
    batches: tuple[ProgressBatch, ...]


@attrs.frozen
class FinishDeadLetter:
    """Records have been written to the dead-letter queue, or given up on (KIP-1191)."""

    ranges: tuple[OffsetRange, ...]


@attrs.frozen
class AlterConfig:
    """The configuration changes while the leader goes on (KIP-1240)."""

    config: SharePartitionConfig


@attrs.frozen
class ArchiveAborted:
    """A fetch under read_committed has read data of aborted transactions (KIP-932)."""

    ranges: tuple[OffsetRange, ...]


@attrs.frozen
class LockEnd:
    """When the acquisition locks of a range of offsets end."""

    first: int = attrs.field(validator=offset)
    last: int = attrs.field(validator=offset)
    deadline_ms: int = attrs.field(validator=non_negative)


@attrs.frozen
class OutstandingWrite:
    """A write without an answer, and the event that its answer completes, if one waits.

    Without ``counted`` it has no delivery complete count.
    """

    id: int = attrs.field(validator=non_negative)
    start_offset: int
    delivery_complete_count: int
    state_batches: tuple[StateBatch, ...]
    seq: int | None = None
    counted: bool = True


def _recorded(_instance: object, _attribute: object, state: SharePartitionSnapshot) -> None:
    if state.records is None:
        raise InvalidValueError("after.records", None, "the records, in a checkpoint")


@attrs.frozen
class Checkpoint:
    """A leader tells the whole state of a share-partition, between two other events.

    A pending record has the owner that a failed write gives it back to. ``log_end_offset`` is None
    where it is not known; ``deadlines`` are those of the records that are or were held.
    """

    config: SharePartitionConfig
    log_start_offset: int = attrs.field(validator=offset)
    state: SharePartitionSnapshot = attrs.field(validator=_recorded)
    deadlines: tuple[LockEnd, ...] = attrs.field(default=(), validator=_ascending)
    outstanding: tuple[OutstandingWrite, ...] = ()
    time_ms: int = attrs.field(default=0, validator=non_negative)
    log_end_offset: int | None = attrs.field(default=None, validator=optional(offset))
    last_stable_offset: int | None = attrs.field(default=None, validator=optional(offset))
    log_known: bool = False
    timed: bool = False
    state_epoch: int = attrs.field(default=0, validator=non_negative)
    leader_epoch: int = attrs.field(default=0, validator=non_negative)

    def __attrs_post_init__(self) -> None:
        """Refuse a lock without an owner or an end, and two writes of one id."""
        ids = [write.id for write in self.outstanding]
        twice = next((id_ for id_ in ids if ids.count(id_) > 1), None)
        if twice is not None:
            raise InvalidValueError("outstanding.id", twice, "an id that no other write has")
        ends = set(offsets(self.deadlines))
        for record in self.state.records or ():
            held = record.state in HELD_STATES
            if held and record.owner is None:
                raise InvalidValueError("after.records.member", None, "the owner of the lock")
            locked = record.owner is not None
            if locked and not ends.issuperset(range(record.first, record.last + 1)):
                raise InvalidValueError("deadlines", record.first, "an end of each lock")


@attrs.frozen
class Gap:
    """Events are missing: so many, if that is known. What follows begins with the whole state."""

    lost: int | None = attrs.field(default=None, validator=optional(non_negative))


Operation = (
    Initialize
    | Produce
    | Acquire
    | SkipAcquire
    | Acknowledge
    | MemberLeaves
    | AdvanceTime
    | Expire
    | CompleteWrite
    | AdvanceLogStart
    | ResetOffset
    | MarkInProgress
    | FinishDeadLetter
    | AlterConfig
    | ArchiveAborted
    | Compact
    | Checkpoint
    | Gap
)
