"""What the kit asks of an implementation: operations that make sense wherever they stand.

An ask names nothing that depends on earlier answers, such as a fetch offset or the id of a write,
so that a sequence still means something when an ask is taken out of it. Times in ms.
"""

import attrs

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.snapshot import DurableState
from model.states import AcquireMode

__all__ = [
    "Acknowledge",
    "AdvanceLogStart",
    "AdvanceTime",
    "AlterConfig",
    "Ask",
    "Compact",
    "CompleteWrite",
    "Fetch",
    "FinishDeadLetter",
    "Produce",
    "ProduceAborted",
    "Release",
    "TakeOver",
]

Answers = tuple[ErrorCode, ...]


@attrs.frozen
class TakeOver:
    """A new leader reads what is durable; the first one finds ``persisted``, or nothing yet."""

    config: SharePartitionConfig
    persisted: DurableState | None = None


@attrs.frozen
class Produce:
    """Log batches are appended, each as (offsets that are missing before it, its size)."""

    batches: tuple[tuple[int, int], ...]


@attrs.frozen
class ProduceAborted:
    """A transaction of so many records is appended and aborted: a log batch, then its marker."""

    size: int


@attrs.frozen
class Compact:
    """The log loses one of its batches, counted from its start; nobody is told."""

    batch: int


@attrs.frozen
class Fetch:
    """A member fetches; at most so many log batches are read, from where the target likes."""

    member: str
    mode: AcquireMode
    batch_size: int
    max_records: int
    max_batches: int


@attrs.frozen
class Acknowledge:
    """A member acknowledges; ``answers`` is what the coordinator says to the writes, in order."""

    member: str
    batches: tuple[AcknowledgementBatch, ...]
    answers: Answers = ()


@attrs.frozen
class Release:
    """A member leaves."""

    member: str
    answers: Answers = ()


@attrs.frozen
class AdvanceTime:
    """The clock moves on."""

    ms: int
    answers: Answers = ()


@attrs.frozen
class CompleteWrite:
    """One of the writes without an answer gets it: the oldest is 0. Nothing if there is none."""

    nth: int
    status: ErrorCode


@attrs.frozen
class AdvanceLogStart:
    """The log loses its first ``by`` offsets, and the leader notices."""

    by: int


@attrs.frozen
class AlterConfig:
    """The group's configuration is altered, whatever is held."""

    config: SharePartitionConfig


@attrs.frozen
class FinishDeadLetter:
    """The dead-letter queue is done with one of the ranges it was given: the oldest is 0."""

    nth: int
    answers: Answers = ()


Ask = (
    TakeOver
    | Produce
    | Compact
    | Fetch
    | Acknowledge
    | Release
    | AdvanceTime
    | CompleteWrite
    | AdvanceLogStart
    | AlterConfig
    | FinishDeadLetter
    | ProduceAborted
)
