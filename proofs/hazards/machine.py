"""Two machines, driven by the same operations and seen in the same way.

One follows the draft under some reading (``draft_leader``), the other is the
specification under profile ``draft_resolved`` (``spec.step.apply``).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Answer, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.states import HELD_STATES, RecordState
from proofs.hazards import draft_leader as draft
from proofs.hazards.draft_readings import Readings
from proofs.hazards.draft_record import DraftRecord, DraftRules, instants, timers
from spec import step
from spec.coordinator import Durable, durable_state
from spec.lag import durable_lag, lag, share_partition_lag
from spec.partition import SharePartition
from spec.record import UNDELIVERED


@attrs.frozen
class Shown:
    """What is seen of a record; ``until``: when a timer ends its delivery (ms), None if none."""

    state: RecordState
    delivery_count: int
    owner: str | None = None
    pending: bool = False
    until: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether somebody holds the record, and no write of its state is outstanding."""
        return self.state in HELD_STATES and not self.pending

    @property
    def is_terminal(self) -> bool:
        """Whether the record is finally ACKNOWLEDGED or ARCHIVED."""
        finished = self.state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
        return finished and not self.pending


_PASSED = Shown(RecordState.ARCHIVED, 0)
"""What is before the start offset, of which a leader knows no more (KIP-932)."""


@attrs.frozen
class MachineView:
    """What is seen of a share-partition: of each offset of the log, and what is durable.

    ``lag`` is the leader's. ``waiting`` are the ids of the writes that have not been answered.
    """

    now: int
    start: int
    end: int
    records: tuple[Shown, ...]
    durable: Durable
    lag: int
    waiting: tuple[int, ...] = ()

    @property
    def durable_lag(self) -> int | None:
        """What is reported from the durable state (KIP-1226)."""
        return durable_lag(len(self.records), durable_state(self.durable))


@attrs.frozen
class Machine:
    """A thing that takes operations: ``new`` makes it, ``apply`` runs it, ``view`` looks at it."""

    new: Callable[[], Any]
    apply: Callable[[Any, ops.Operation, Sequence[Answer]], tuple[Any, Outcome]]
    view: Callable[[Any], MachineView]


def draft_machine(readings: Readings) -> Machine:
    """Return the draft under these readings."""
    return Machine(lambda: draft.new_leader(readings), _apply_draft, _view_draft)


def older_broker_reads(durable: Durable, log_end: int) -> bool:
    """Whether a broker that does not know IN_PROGRESS can initialize from this durable state."""
    broker = step.new_partition(KAFKA)
    read = ops.Initialize(SharePartitionConfig(), 0, log_end, durable_state(durable))
    return step.apply(broker, read).outcome.status is ErrorCode.NONE


def _apply_draft(
    leader: draft.DraftLeader, operation: ops.Operation, answers: Sequence[Answer]
) -> tuple[draft.DraftLeader, Outcome]:
    after, outcome = draft.apply(leader, operation, answers)
    ids = (waiting.write.id for waiting in after.outstanding)
    return attrs.evolve(after, writes=_next_id(ids)), outcome


def _view_draft(leader: draft.DraftLeader) -> MachineView:
    shown = tuple(
        Shown(
            record.state,
            record.delivery_count,
            record.owner,
            record.before is not None,
            min(_ends(record, leader.rules), default=None),
        )
        for record in leader.records[leader.start :]
    )
    return MachineView(
        leader.now,
        leader.start,
        leader.end,
        (_PASSED,) * leader.start + shown,
        leader.durable,
        share_partition_lag(len(leader.records), leader.start, draft.complete_count(leader)),
        tuple(waiting.write.id for waiting in leader.outstanding),
    )


def _ends(record: DraftRecord, rules: DraftRules) -> list[int]:
    """Return when timers end the delivery, if it is one, as far as that is known now."""
    if record.state is RecordState.IN_PROGRESS and record.owner is not None:
        return instants(record, rules)
    return timers(record)


def _apply_resolved(
    partition: SharePartition, operation: ops.Operation, answers: Sequence[Answer]
) -> tuple[SharePartition, Outcome]:
    if isinstance(operation, ops.AdvanceTime):
        return _wait(partition, operation.ms)
    done = step.apply(partition, operation, answers=answers)
    next_write = _next_id(done.partition.outstanding)
    return attrs.evolve(done.partition, next_write=next_write), done.outcome


def _next_id(outstanding: Iterable[int]) -> int:
    """Return the lowest id after the outstanding ones: how many writes there were is forgotten."""
    return max(outstanding, default=-1) + 1


def _wait(partition: SharePartition, ms: int) -> tuple[SharePartition, Outcome]:
    """Let time pass from deadline to deadline, so that each lock ends when it ends."""
    until = partition.now + ms
    while partition.now < until:
        records = partition.window.records.values()
        ends = [r.deadline for r in records if r.deadline is not None]
        stop = min([until, *(deadline for deadline in ends if deadline > partition.now)])
        partition = step.apply(partition, ops.AdvanceTime(stop - partition.now)).partition
    return attrs.evolve(partition, next_write=_next_id(partition.outstanding)), Outcome()


def _view_resolved(partition: SharePartition) -> MachineView:
    window = partition.window
    in_flight = (
        window.records.get(offset, UNDELIVERED)
        for offset in range(window.start_offset, partition.log.end_offset)
    )
    shown = tuple(
        Shown(RecordState(r.state), r.delivery_count, r.owner, r.pending, r.deadline)
        for r in in_flight
    )
    return MachineView(
        partition.now,
        window.start_offset,
        window.end_offset,
        (_PASSED,) * window.start_offset + shown,
        partition.durable,
        lag(partition),
        tuple(sorted(partition.outstanding)),
    )


def specified(profile: Profile) -> Machine:
    """Return the specification under a profile."""
    return Machine(lambda: step.new_partition(profile), _apply_resolved, _view_resolved)


RESOLVED = specified(DRAFT_RESOLVED)
"""The specification under profile draft_resolved."""
