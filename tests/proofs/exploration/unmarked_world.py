"""Two runs of a small world, one of them without the marks of the other, over all its states.

The other run has the same operations but the marks. Timers aside: a lock lasts as long as that of
the marked run. So a member that leaves keeps what it keeps there, and releases the rest; and a
renewal that is refused there because the record is IN_PROGRESS is not asked for here.
"""

from collections.abc import Iterator

import attrs

from model.errors import IllegalChoiceError
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    MarkInProgress,
    MemberLeaves,
    Operation,
)
from model.outcome import Outcome
from model.states import AcknowledgeType, RecordState
from proofs.exploration.moves import Move, moves
from proofs.exploration.normal import view
from proofs.exploration.world import NEVER_WRITTEN, ExploredLeader, SmallWorld, initialize
from spec.coordinator import Durable, durable_state, read
from spec.log import Log
from spec.partition import SharePartition
from spec.step import apply
from spec.window import replace


@attrs.frozen
class Runs:
    """Where both runs have come to. Two of one ``key`` have the same future.

    ``fault`` is how they differ in the step that led here, if they do.
    """

    key: object
    marked: ExploredLeader = attrs.field(eq=False)
    unmarked: ExploredLeader = attrs.field(eq=False)
    fault: str | None = None


def begin(world: SmallWorld) -> Runs:
    """Return the runs before anything is produced."""
    leader, _ = initialize(world, Log(0, 0), NEVER_WRITTEN)
    return _runs(world, leader, leader)


def check(runs: Runs) -> str | None:
    """Return how the two differ, otherwise than in timers and in what is IN_PROGRESS."""
    marked, unmarked = runs.marked.partition, runs.unmarked.partition
    same = _without_marks(marked) == _without_marks(_timed_as(unmarked, marked))
    return runs.fault or (None if same else "the two share-partitions differ")


def steps(world: SmallWorld, runs: Runs) -> Iterator[tuple[str, Runs]]:
    """Yield everything that can happen next in the marked run, with its name, and in the other."""
    marked = runs.marked
    for move in moves(world, marked, view(marked, world.names, symmetry=world.symmetry)):
        try:
            done, outcome = _made(marked.partition, move.operation, move)
        except IllegalChoiceError:
            continue
        operation = _counterpart(marked.partition, move.operation, outcome)
        unmarked, fault = _followed(runs, operation, move, outcome)
        yield (
            _named(move),
            _runs(world, ExploredLeader(done, move.log), ExploredLeader(unmarked, move.log), fault),
        )
    if world.failovers:
        one, other = _taken_over(world, marked), _taken_over(world, runs.unmarked)
        yield "a new leader takes over", _runs(world, one, other)


def _followed(
    runs: Runs, operation: Operation | None, move: Move, outcome: Outcome
) -> tuple[SharePartition, str | None]:
    """Return the unmarked run after the operation, and how its answer differs, if it does."""
    before = _timed_as(runs.unmarked.partition, runs.marked.partition)
    if operation is None:
        return before, None if outcome.writes == () else "what is left out writes something"
    try:
        after, answered = _made(before, operation, move)
    except IllegalChoiceError as error:
        return before, f"the run without marks refuses: {error.guard.name}"
    return after, None if answered == outcome else "the two answer differently"


def _named(move: Move) -> str:
    return f"{type(move.operation).__name__}{' of another' if move.is_void else ''}"


def _made(
    partition: SharePartition, operation: Operation, move: Move
) -> tuple[SharePartition, Outcome]:
    """Return the share-partition after the operation and what it answers."""
    step = apply(partition, operation, move.choice, move.answers)
    return step.partition, step.outcome


def _counterpart(
    before: SharePartition, operation: Operation, outcome: Outcome
) -> Operation | None:
    """Return what happens in the run without marks; None for nothing."""
    match operation:
        case MarkInProgress():
            return None
        case MemberLeaves(member):
            return _released(before, member, outcome)
        case Acknowledge(_, (batch,)) if batch.types == (AcknowledgeType.RENEW,):
            record = before.window.records.get(batch.first)
            working = record is not None and record.state == RecordState.IN_PROGRESS
            return None if working else operation
        case _:
            return operation


def _released(before: SharePartition, member: str, outcome: Outcome) -> Operation | None:
    """Return the release of what the member gave up, and not of what stays with it for a while."""
    held = [o for o in sorted(before.window.held) if before.window.records[o].owner == member]
    batches = [batch for write in outcome.writes for batch in write.state_batches]
    gone = [o for o in held if any(batch.first <= o <= batch.last for batch in batches)]
    if gone == held:
        return MemberLeaves(member)
    kind = (AcknowledgeType.RELEASE,)
    apart = tuple(AcknowledgementBatch(offset, offset, kind) for offset in gone)
    return Acknowledge(member, apart) if apart else None


def _taken_over(world: SmallWorld, leader: ExploredLeader) -> ExploredLeader:
    """Return the leader that follows, and reads what is durable."""
    before = leader.partition.durable
    _, durable = read(before, before.leader_epoch + 1)
    return initialize(world, leader.log, durable_state(durable))[0]


def _timed_as(partition: SharePartition, other: SharePartition) -> SharePartition:
    """Return the share-partition whose locks end when those of the other do."""
    timed = {}
    for offset, record in partition.window.records.items():
        there = other.window.records.get(offset)
        if there is not None and (record.owner, record.former_owner) != (None, None):
            timed[offset] = attrs.evolve(
                record, deadline=there.deadline, former_deadline=there.former_deadline
            )
    return attrs.evolve(partition, window=replace(partition.window, timed))


def _without_marks(partition: SharePartition) -> SharePartition:
    """Return the share-partition with every record as if it had never been marked."""
    records = {
        offset: attrs.evolve(
            record,
            state=RecordState.ACQUIRED if record.state == RecordState.IN_PROGRESS else record.state,
            progress_start=None,
            last_progress=None,
        )
        for offset, record in partition.window.records.items()
    }
    return attrs.evolve(partition, window=replace(partition.window, records))


def _runs(
    world: SmallWorld, marked: ExploredLeader, unmarked: ExploredLeader, fault: str | None = None
) -> Runs:
    key = tuple(
        (
            view(leader, world.names, symmetry=world.symmetry).key,
            # What is durable matters only to the leader that takes over.
            _known(leader.partition.durable) if world.failovers else (),
        )
        for leader in (marked, unmarked)
    )
    return Runs((key, fault), marked, unmarked, fault)


def _known(durable: Durable) -> tuple[object, ...]:
    entries = tuple(sorted(durable.entries.items()))
    return durable.start_offset, durable.delivery_complete_count, entries
