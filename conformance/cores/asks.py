"""Commands to a core, independent of what came before.

A command names nothing that depends on earlier answers, such as a fetch offset or a write's id,
so that a sequence stays valid when a command is removed. Times in ms.
"""

import attrs

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch, AlterConfig
from model.snapshot import DurableState
from model.states import AcquireMode

Answers = tuple[ErrorCode, ...]


@attrs.frozen
class CoreTakeOver:
    """A new leader reads the durable state; the first reads ``persisted``, or nothing.

    The log begins at ``log_start``, as does a share-partition of which nothing is durable.
    """

    config: SharePartitionConfig
    persisted: DurableState | None = None
    log_start: int = 0


@attrs.frozen
class CoreProduce:
    """Append log batches, each as (missing offsets before it, its size)."""

    batches: tuple[tuple[int, int], ...]


@attrs.frozen
class CoreProduceAborted:
    """Append and abort a transaction of ``size`` records: a log batch, then its marker."""

    size: int


@attrs.frozen
class CoreCompact:
    """Remove a batch of the log, counted from its start; the leader gets no notice."""

    batch: int


@attrs.frozen
class CoreFetch:
    """A member fetches; the target chooses the first offset and reads at most ``max_batches``."""

    member: str
    mode: AcquireMode
    batch_size: int
    max_records: int
    max_batches: int


@attrs.frozen
class CoreAcknowledge:
    """A member acknowledges; ``answers`` are the coordinator's answers to the writes, in order."""

    member: str
    batches: tuple[AcknowledgementBatch, ...]
    answers: Answers = ()


@attrs.frozen
class CoreMemberLeaves:
    """A member leaves."""

    member: str
    answers: Answers = ()


@attrs.frozen
class CoreAdvanceTime:
    """Advance the clock."""

    ms: int
    answers: Answers = ()


@attrs.frozen
class CoreCompleteWrite:
    """Answer an outstanding write: the oldest is 0. Nothing if no write is outstanding."""

    nth: int
    status: ErrorCode


@attrs.frozen
class CoreAdvanceLogStart:
    """Remove the first ``by`` offsets of the log; the leader gets notice."""

    by: int


@attrs.frozen
class CoreFinishDeadLetter:
    """Finish a range of the dead-letter queue, which has it or could not: the oldest is 0."""

    nth: int
    answers: Answers = ()
    fails: bool = False


NEEDS: dict[type, str] = {
    CoreCompleteWrite: "pending_writes",
    CoreAdvanceLogStart: "advance_log_start",
    CoreTakeOver: "take_over",
    AlterConfig: "alter_config",
    CoreFinishDeadLetter: "dead_letter_queue",
    CoreProduceAborted: "aborted_transactions",
}
"""The capability that a command needs which is not the first."""

Ask = (
    CoreTakeOver
    | CoreProduce
    | CoreCompact
    | CoreFetch
    | CoreAcknowledge
    | CoreMemberLeaves
    | CoreAdvanceTime
    | CoreCompleteWrite
    | CoreAdvanceLogStart
    | AlterConfig
    | CoreFinishDeadLetter
    | CoreProduceAborted
)
