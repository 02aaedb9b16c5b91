"""Both sides make a move, and a difference between them is said."""

import attrs
import pytest

from impl.partition import FastSharePartition
from judge import engine
from judge.invariants import PARTITION_INVARIANTS
from model import operations as ops
from model.outcome import Outcome
from model.profile import DRAFT_RESOLVED
from model.ranges import OffsetRange
from model.states import AcquireMode, RecordState
from proofs.exploration.moves import Move, MoveKind
from proofs.exploration.side_by_side import first_pair, make
from proofs.exploration.world import NEVER_WRITTEN, SmallWorld
from spec.log import Log
from spec.partition import Step

LOG = Log(0, 2)
DRAFT = SmallWorld(profile=DRAFT_RESOLVED)
TAKEN, _ = first_pair(SmallWorld(), LOG, NEVER_WRITTEN)


def _move(operation: ops.Operation) -> Move:
    return Move(MoveKind.OTHER, operation, LOG)


def test_a_move_changes_both_and_leaves_the_pair_before_it() -> None:
    made = make(TAKEN, _move(ops.ResetOffset(1)))
    assert isinstance(made, tuple)
    assert made[0].impl.snapshot().start_offset == 1
    assert made[0].leader.partition.window.start_offset == 1
    assert TAKEN.impl.snapshot().start_offset == 0


@pytest.mark.parametrize("operation", [ops.SkipAcquire("m1"), ops.Produce((), 0)], ids=str)
def test_a_move_that_both_sides_refuse_is_none(operation: ops.Operation) -> None:
    assert make(TAKEN, _move(operation)) is None


def test_an_invariant_that_does_not_hold_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = PARTITION_INVARIANTS[0]
    monkeypatch.setattr(engine, "violated", lambda _partition: [broken])
    assert first_pair(SmallWorld(), LOG, NEVER_WRITTEN)[1] == f"not true: {broken.sentence}"


def test_progress_for_too_long_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The specification and the implementation agree, and neither lets a lock last so long."""
    pair, _ = first_pair(DRAFT, LOG, NEVER_WRITTEN)
    fetch = ops.Acquire("m1", AcquireMode.RECORD_LIMIT, 1, 1, 0, (OffsetRange(0, 1),))
    mark = ops.MarkInProgress("m1", (ops.ProgressBatch(0, 0, 0, 0),))
    for operation in (fetch, mark):
        made = make(pair, _move(operation))
        assert isinstance(made, tuple)
        pair = made[0]
    marked = pair.leader.partition
    assert marked.window.records[0].state == RecordState.IN_PROGRESS
    late = attrs.evolve(marked, now=marked.now + 2)
    monkeypatch.setattr(engine, "apply_recorded", lambda *_: Step(late, Outcome()))
    monkeypatch.setattr(FastSharePartition, "apply", lambda *_: Outcome())
    wrong = make(pair, _move(ops.AdvanceTime(0)))
    assert isinstance(wrong, str)
    assert wrong.startswith("offset 0 is IN_PROGRESS for too long")
