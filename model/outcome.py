"""The outcome of an operation, its writes, and the choices of an implementation."""

import attrs

from model.checks import any_number, from_minus_one, non_negative, optional
from model.errors import ErrorCode
from model.ranges import AcquiredRange, OffsetRange, StateBatch


@attrs.frozen
class Write:
    """A WriteShareGroupState request and its answer so far.

    ``start_offset`` and ``delivery_complete_count`` are those at the moment of the write,
    before the start offset advances because of it (KIP-1226, Persistence); -1 keeps the start.
    In a recording ``made_after`` is the ``seq`` of the event after which the two numbers were read,
    None for that moment of the event itself; without ``counted`` it has no delivery complete count.
    """

    id: int = attrs.field(validator=non_negative)
    start_offset: int = attrs.field(validator=from_minus_one)
    delivery_complete_count: int = attrs.field(validator=any_number)
    state_batches: tuple[StateBatch, ...] = ()
    status: ErrorCode = ErrorCode.NONE
    made_after: int | None = attrs.field(default=None, validator=optional(non_negative))
    counted: bool = True


@attrs.frozen
class Composed:
    """The numbers of an outstanding write, read after the operation that it reports."""

    id: int
    start_offset: int
    delivery_complete_count: int


@attrs.frozen
class Completion:
    """The answer to an earlier operation, named by its sequence number."""

    seq: int
    status: ErrorCode


@attrs.frozen
class Answer:
    """The share coordinator's answer to a write: NONE, an error, or PENDING for not yet.

    ``id`` names the write; None takes the share-partition's next number. ``made_after`` names the
    operation, this one or a later one, after which an outstanding write takes its numbers.
    ``written`` is the write as an implementation made it, where that was seen: its form is a choice
    (docs/decisions.md, 25), it is what may be durable, and an error or no answer then proves
    nothing of that. None: the form of this project, and an answer that tells what is durable.
    ``keeps_back`` says that the records of a lock that expired, or of a dead letter, are kept back
    until an outstanding write of them is answered; those of other operations always are.
    """

    status: ErrorCode = ErrorCode.NONE
    id: int | None = None
    made_after: int | None = None
    written: Write | None = None
    keeps_back: bool = False


@attrs.frozen
class Expiry:
    """Acquisition locks whose expiry one write reports.

    ``start_offset`` is the start offset at the moment of the write; None: as far as it may move.
    """

    locks: tuple[OffsetRange, ...]
    start_offset: int | None = None


@attrs.frozen
class Choice:
    """The choices that the rules leave to an implementation. None: the policy of this project.

    ``acquired``: the offsets an acquire takes.
    ``entered``: offsets that enter the window available, with delivery count 0. None: every
    offset of the log batches read which is below ``end_offset`` and would be skipped otherwise.
    ``end_offset``: the window's new end (exclusive); what was read after the last offset taken
    or entered, up to it, enters available too. None: after the last offset taken.
    ``archived``: available records that nobody will be given, as they are compacted or of an
    aborted transaction, which the operation archives, with their delivery counts. What the start
    offset passes is among them. None: what Apache Kafka archives.
    ``start_offset``: the start offset after the operation. None: as far as it may move.
    ``refusal``: the answer to an acknowledgement, NONE for accepting it; NONE of a leader that
    begins: it passes over durable batches below the start offset, which otherwise make it fail.
    ``expired``: for each write of AdvanceTime the locks which it reports, in order. None: all
    that are due, in one write.
    ``deadline_ms``: when the locks end that the operation grants. None: a lock duration from now.
    ``written``: a leader writes what a member held that leaves, though the start offset has passed
    all of it.
    ``paused_ms``: by how much a timer may be later than the profile allows, as its process was
    paused, and no choice of its own.
    ``completed``: the operation that the answer to a write completes, as it is recorded, and no
    choice either: it tells where a checkpoint told the write without it.
    """

    acquired: tuple[OffsetRange, ...] | None = None
    entered: tuple[OffsetRange, ...] | None = None
    end_offset: int | None = None
    archived: tuple[AcquiredRange, ...] | None = None
    start_offset: int | None = None
    refusal: ErrorCode | None = None
    expired: tuple[Expiry, ...] | None = None
    deadline_ms: int | None = None
    written: bool = False
    paused_ms: int = 0
    completed: int | None = None


@attrs.frozen
class Outcome:
    """The answer of an operation: its status, acquired records, writes, and completed calls.

    ``can_acquire`` is False exactly for an acquire that was skipped. ``acquisition`` is the number
    of an acquisition, where records may be marked in progress; ``marked`` has an answer for each
    batch of a mark. ``deadline_ms`` is when the granted locks end, where that was chosen;
    ``composed`` are outstanding writes that take their numbers after this operation.
    ``exception`` is the text of what the operation threw in place of an answer.
    """

    status: ErrorCode = ErrorCode.NONE
    acquired: tuple[AcquiredRange, ...] = ()
    writes: tuple[Write, ...] = ()
    completed: tuple[Completion, ...] = ()
    can_acquire: bool = True
    acquisition: int | None = attrs.field(default=None, validator=optional(non_negative))
    marked: tuple[ErrorCode, ...] = ()
    composed: tuple[Composed, ...] = ()
    exception: str | None = None
    deadline_ms: int | None = attrs.field(default=None, validator=optional(non_negative))
