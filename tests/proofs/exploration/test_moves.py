"""Which moves are offered, and that a state of one normal form is offered the same."""

from collections import Counter

from model import operations as ops
from model.errors import ErrorCode
from model.profile import DRAFT_RESOLVED
from proofs.exploration.moves import Move, MoveKind, moves
from proofs.exploration.normal import view
from proofs.exploration.world import NEVER_WRITTEN, ExploredLeader, SmallWorld, initialize
from spec.log import Log
from spec.step import apply


def _offered(world: SmallWorld, leader: ExploredLeader) -> list[Move]:
    return moves(world, leader, view(leader, world.names))


def _after(leader: ExploredLeader, move: Move) -> ExploredLeader:
    step = apply(leader.partition, move.operation, move.choice, move.answers)
    return ExploredLeader(step.partition, move.log)


def _names(offered: list[Move]) -> Counter[str]:
    return Counter(type(move.operation).__name__ for move in offered)


def test_at_first_records_are_produced_with_and_without_a_gap() -> None:
    world = SmallWorld()
    leader, _ = initialize(world, Log(0, 0), NEVER_WRITTEN)
    assert _names(_offered(world, leader)) == {"Produce": 2, "SkipAcquire": 1, "AdvanceTime": 1}
    assert _offered(world, leader)[1].log == Log(0, 2, ((0, 0),))


def test_a_fetch_takes_by_policy_or_any_one_record() -> None:
    world = SmallWorld()
    leader, _ = initialize(world, Log(0, 3), NEVER_WRITTEN)
    fetches = [move for move in _offered(world, leader) if move.kind is MoveKind.FETCH]
    assert [move.choice.acquired is None for move in fetches] == [True, True, False, False]
    after = _after(leader, fetches[1])
    members = {m.operation.member for m in _offered(world, after) if m.kind is MoveKind.FETCH}  # type: ignore[union-attr]
    assert members == {"m1", "m2"}


def test_a_held_record_is_acknowledged_in_every_way_released_and_expires() -> None:
    world = SmallWorld(offsets=1, resets=True)
    leader, _ = initialize(world, Log(0, 1), NEVER_WRITTEN)
    held = _after(leader, next(m for m in _offered(world, leader) if m.kind is MoveKind.FETCH))
    names = _names(_offered(world, held))
    assert names["Acknowledge"] == 3 * 3 + 3  # types by answers; gap, renewal, another member
    assert (names["MemberLeaves"], names["AdvanceTime"]) == (3, 3)
    assert (names["AdvanceLogStart"], names["ResetOffset"]) == (1, 2)
    waiting = next(m for m in _offered(world, held) if _awaits(m))
    pending = _after(held, waiting)
    answers = [m.operation for m in _offered(world, pending) if m.kind is MoveKind.ANSWER]
    assert [a.status for a in answers if isinstance(a, ops.CompleteWrite)] == [
        ErrorCode.NONE,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ]
    assert not any(_awaits(move) for move in _offered(world, pending))


def test_no_answer_is_awaited_where_none_may_be() -> None:
    world = SmallWorld(offsets=1, outstanding=0)
    leader, _ = initialize(world, Log(0, 1), NEVER_WRITTEN)
    held = _after(leader, next(m for m in _offered(world, leader) if m.kind is MoveKind.FETCH))
    assert not any(_awaits(move) for move in _offered(world, held))


def test_a_leader_behind_the_log_start_may_only_notice_it() -> None:
    world = SmallWorld(offsets=2)
    leader, _ = initialize(world, Log(0, 2), NEVER_WRITTEN)
    behind = ExploredLeader(leader.partition, Log(1, 2))
    names = _names(_offered(world, behind))
    assert (names["AdvanceLogStart"], names["Acquire"]) == (1, 0)


def test_records_in_progress_are_marked_rightly_and_wrongly() -> None:
    world = SmallWorld(profile=DRAFT_RESOLVED, offsets=1, dead_letters=True)
    leader, _ = initialize(world, Log(0, 1), NEVER_WRITTEN)
    held = _after(leader, next(m for m in _offered(world, leader) if m.kind is MoveKind.FETCH))
    marks = [m for m in _offered(world, held) if isinstance(m.operation, ops.MarkInProgress)]
    assert [move.is_void for move in marks] == [False, True, True, True]
    assert _names(_offered(world, held))["AlterConfig"] == 1
    reject = next(move for move in _offered(world, held) if _is_reject(move))
    answers = [m for m in _offered(world, _after(held, reject)) if m.kind is MoveKind.DEAD_LETTER]
    assert len(answers) == 3


def _is_reject(move: Move) -> bool:
    operation = move.operation
    return isinstance(operation, ops.Acknowledge) and operation.batches[0].types == (3,)


def _awaits(move: Move) -> bool:
    return any(answer.status is ErrorCode.PENDING for answer in move.answers)
