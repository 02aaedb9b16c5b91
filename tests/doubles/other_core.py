"""The specification as a core that chooses otherwise, wherever Apache Kafka does what is not said.

It acquires no record of an aborted transaction, nor lets one use up the maximum; it archives what
it could know the log to lack with every fetch, and it judges a request before its records.
"""

from collections.abc import Sequence

from conformance.cores.builtin import EngineTarget
from conformance.cores.target import Reply, Request
from judge.engine import SpecEngine
from model.errors import ErrorCode
from model.operations import Acknowledge, Acquire, ArchiveAborted, Operation
from model.outcome import Answer, Choice, Outcome
from model.profile import profile_named
from model.ranges import AcquiredRange, OffsetRange
from spec.acknowledge import is_refusable
from spec.partition import SharePartition
from spec.policies import _acquirable, _capacity_end
from spec.read import learn
from spec.validation import validate

_EVERYTHING = 2**20 - 1


class OtherEngine(SpecEngine):
    """``aborted`` are the offsets of aborted transactions, archived with this delivery count."""

    aborted: frozenset[int] = frozenset()
    count = 0

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation."""
        low = self.partition.window.start_offset
        archived = (AcquiredRange(low, low + _EVERYTHING, self.count),)
        if isinstance(operation, Acquire):
            taken, entered = _taken(self.partition, operation, self.aborted)
            choice = Choice(taken, entered, archived=archived)
        elif isinstance(operation, ArchiveAborted):
            choice = Choice(archived=archived)
        elif isinstance(operation, Acknowledge):
            choice = _judged_first(self.partition, operation)
        return super().apply(operation, choice, answers, seq)


class OtherCore(EngineTarget):
    """A core with an engine of this kind; it counts a delivery of aborted records or not."""

    def __init__(self, profile: str, count: int) -> None:
        """Archive aborted records with this delivery count where they were never delivered."""
        super().__init__("spec", profile, lambda: OtherEngine(profile_named(profile)))
        self._count = count

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        """Apply one operation; a fetch tells which offsets are of aborted transactions."""
        engine, level = self._engine, self._config.isolation_level
        if isinstance(engine, OtherEngine):
            parts = operation.get("aborted", ()) if level == "read_committed" else ()
            engine.count = self._count
            engine.aborted = frozenset(o for first, last in parts for o in range(first, last + 1))
        return super().apply(seq, operation, answers)


def _taken(
    partition: SharePartition, fetch: Acquire, aborted: frozenset[int]
) -> tuple[tuple[OffsetRange, ...], tuple[OffsetRange, ...]]:
    partition = learn(partition, fetch)
    cap, taken, entered = _capacity_end(partition, fetch), list[int](), list[int]()
    for offset in (o for batch in fetch.log_batches for o in _acquirable(partition, batch)):
        new = offset >= partition.window.end_offset
        if (new and offset >= cap) or len(taken) == fetch.max_fetch_records:
            break
        (entered if offset in aborted else taken).append(offset)
    return tuple(OffsetRange(o, o) for o in taken), tuple(OffsetRange(o, o) for o in entered)


def _judged_first(partition: SharePartition, request: Acknowledge) -> Choice:
    well_formed = validate(request, partition.profile) is ErrorCode.NONE
    if well_formed and is_refusable(request, partition.config):
        return Choice(refusal=ErrorCode.INVALID_REQUEST)
    return Choice()
