"""What the sizes of the worlds do not tell of the moves; those notice each move that is missing."""

from model import operations as ops
from model.profile import DRAFT_RESOLVED
from proofs.exploration.moves import Move, MoveKind, moves
from proofs.exploration.normal import view
from proofs.exploration.world import NEVER_WRITTEN, ExploredLeader, SmallWorld, initialize
from spec.log import Log
from spec.step import apply


def _offered(world: SmallWorld, leader: ExploredLeader) -> list[Move]:
    return moves(world, leader, view(leader, world.names))


def test_fetches_may_be_skipped() -> None:
    leader, _ = initialize(SmallWorld(), Log(0, 0), NEVER_WRITTEN)
    names = [type(move.operation) for move in _offered(SmallWorld(), leader)]
    assert names == [ops.Produce, ops.Produce, ops.SkipAcquire, ops.AdvanceTime]


def test_what_comes_from_another_or_for_another_delivery_may_change_nothing() -> None:
    world = SmallWorld(profile=DRAFT_RESOLVED, offsets=1)
    leader, _ = initialize(world, Log(0, 1), NEVER_WRITTEN)
    fetch = next(move for move in _offered(world, leader) if move.kind is MoveKind.FETCH)
    step = apply(leader.partition, fetch.operation, fetch.choice, fetch.answers)
    held = _offered(world, ExploredLeader(step.partition, fetch.log))
    marks = [move for move in held if isinstance(move.operation, ops.MarkInProgress)]
    assert [move.is_void for move in marks] == [False, True, True, True]
    others = [m for m in held if isinstance(m.operation, ops.Acknowledge) and m.is_void]
    assert [move.operation.member for move in others] == ["m2"]  # type: ignore[union-attr]
