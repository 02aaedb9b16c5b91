"""The answer to a write that a checkpoint told without the call which made it."""

import attrs
import pytest
from immutables import Map

from impl.partition import FastSharePartition
from judge.engine import SpecEngine
from judge.recorded_partition import recorded
from model.errors import ErrorCode
from model.guards import Difference
from model.operations import (
    AdvanceTime,
    Checkpoint,
    CompleteWrite,
    Initialize,
    Operation,
    ResetOffset,
)
from model.outcome import Answer, Choice, Completion, Outcome
from model.profile import KAFKA
from model.snapshot import DurableState
from model.trace import TraceEvent
from model.trace_codec import row_from_event
from tests.checkpoints import checkpoint_of
from tests.impl.both_sides import found
from tests.impl.by_hand import Row
from tests.spec.worlds import SMALL, acknowledgement, fetch

BEGIN = Initialize(SMALL, 0, 100, DurableState(0, 0, (), 0, 1))
DONE = CompleteWrite(0, ErrorCode.NONE)
CALL, TOLD, ANSWER = 2, 3, 4
"""The seq of the acknowledgement, of the checkpoint, and of the answer to the write."""


Core = type[SpecEngine | FastSharePartition]


def resumed(
    call: int | None, engine: Core = SpecEngine, told_at: int = TOLD
) -> tuple[SpecEngine | FastSharePartition, Checkpoint]:
    """Return a leader that a checkpoint tells with one write, made by a ``call`` that it tells."""
    first = SpecEngine(KAFKA)
    first.apply(BEGIN, Choice(), (), 0)
    first.apply(fetch("c1", (0, 1)), Choice(), (), 1)
    pending = (Answer(ErrorCode.PENDING),)
    first.apply(acknowledgement("c1", (0, 1, 1)), Choice(), pending, CALL)
    checkpoint = checkpoint_of(first.partition)
    (write,) = checkpoint.outstanding
    told = attrs.evolve(checkpoint, outstanding=(attrs.evolve(write, seq=call),))
    leader = engine(KAFKA)
    leader.apply(told, Choice(), (), told_at)
    return leader, told


def rows(completed: list[tuple[int, ErrorCode]], call: int | None = None) -> list[Row]:
    """Return such a checkpoint and the answer to its write, which completes these calls."""
    leader, told = resumed(call)
    first = TraceEvent("g:t:0", TOLD, 0, told, Outcome(), told.state)
    outcome = leader.apply(DONE, Choice(), (), ANSWER)
    shown = attrs.evolve(outcome, completed=tuple(Completion(*each) for each in completed))
    last = TraceEvent("g:t:0", ANSWER, 0, DONE, shown, leader.snapshot())
    return [row_from_event(first), row_from_event(last)]


NONE, FENCED = ErrorCode.NONE, ErrorCode.FENCED_STATE_EPOCH
DIFFERS = (1, Difference.COMPLETED, None)


@pytest.mark.parametrize("completed", [[], [(0, NONE)], [(CALL, NONE)]], ids=str)
def test_it_completes_any_call_before_the_checkpoint_or_none(
    completed: list[tuple[int, ErrorCode]],
) -> None:
    assert found(rows(completed), KAFKA) is None


@pytest.mark.parametrize(
    "completed",
    [[(TOLD, NONE)], [(ANSWER, NONE)], [(CALL, FENCED)], [(CALL, NONE), (0, NONE)]],
    ids=str,
)
def test_it_completes_nothing_else(completed: list[tuple[int, ErrorCode]]) -> None:
    assert found(rows(completed), KAFKA) == DIFFERS


@pytest.mark.parametrize("completed", [[], [(0, NONE)], [(TOLD, NONE)]], ids=str)
def test_it_completes_the_call_that_the_checkpoint_told(
    completed: list[tuple[int, ErrorCode]],
) -> None:
    assert found(rows([(CALL, NONE)], CALL), KAFKA) is None
    assert found(rows(completed, CALL), KAFKA) == DIFFERS


ENGINES = (SpecEngine, FastSharePartition)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("call", "shown", "completed"),
    [
        (None, 0, [0]),
        (None, CALL, [CALL]),
        (None, TOLD, []),
        (None, -1, []),
        (None, None, []),
        (0, None, [0]),
        (CALL, 0, [CALL]),
        (CALL, None, [CALL]),
    ],
)
def test_an_engine_believes_which_call_it_completes_where_none_was_told(
    engine: Core,
    call: int | None,
    shown: int | None,
    completed: list[int],
) -> None:
    leader, _ = resumed(call, engine)
    (write,) = leader.whole().writes
    assert (write.seq, write.told_at) == (call, TOLD if call is None else None)
    outcome = leader.apply(DONE, Choice(completed=shown), (), ANSWER)
    assert [(each.seq, each.status) for each in outcome.completed] == [(c, NONE) for c in completed]
    assert leader.whole().writes == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_there_is_no_call_before_the_first_event(engine: Core) -> None:
    leader, _ = resumed(None, engine, told_at=0)
    assert [write.told_at for write in leader.whole().writes] == [0]
    assert leader.apply(DONE, Choice(completed=0), (), 1).completed == ()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("call", "status"),
    [(None, NONE), (0, ErrorCode.NON_EMPTY_GROUP), (CALL, ErrorCode.NON_EMPTY_GROUP)],
)
def test_a_group_is_empty_if_nobody_is_known_to_wait_for_a_write(
    engine: Core, call: int | None, status: ErrorCode
) -> None:
    leader, _ = resumed(call, engine)
    assert leader.apply(ResetOffset(0), Choice(), (), ANSWER).status is status


@pytest.mark.parametrize("engine", ENGINES)
def test_nobody_waits_for_the_write_of_locks_that_ended(engine: Core) -> None:
    leader = engine(KAFKA)
    leader.apply(BEGIN, Choice(), (), 0)
    leader.apply(fetch("c1", (0, 1)), Choice(), (), 1)
    leader.apply(AdvanceTime(100), Choice(), (Answer(ErrorCode.PENDING),), 2)
    assert [(write.seq, write.told_at) for write in leader.whole().writes] == [(None, None)]
    assert leader.apply(ResetOffset(0), Choice(), (), 3).status is NONE


@pytest.mark.parametrize(
    "ends", [DONE, BEGIN, ResetOffset(0)], ids=lambda ends: type(ends).__name__
)
def test_nothing_is_kept_of_a_write_that_is_gone(ends: Operation) -> None:
    leader, _ = resumed(None)
    assert isinstance(leader, SpecEngine)
    then = recorded(leader.partition)
    assert then.told_at == Map({DONE.id: TOLD})
    later = Map() if ends == DONE else Map({DONE.id: ANSWER + 1})
    leader.partition = attrs.evolve(then, made_after=later)
    leader.apply(ends, Choice(), (), ANSWER)
    after = recorded(leader.partition)
    assert (after.told_at, after.made_after) == (Map(), Map())


def test_what_a_checkpoint_told_with_its_call_is_not_kept() -> None:
    leader, _ = resumed(CALL)
    assert isinstance(leader, SpecEngine)
    assert recorded(leader.partition).told_at == Map()
