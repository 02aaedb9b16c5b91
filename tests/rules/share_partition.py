"""A share-partition of one side: each operation is applied by the specification or by impl.

Between operations it is a value of the specification's, to and from which the whole state of the
implementation is converted (``lockstep`` shows that the conversion loses nothing). Which side it
is, the fixture of ``conftest`` says.
"""

import re
from collections.abc import Sequence

import pytest

from judge.engine import Engine, engines_for
from judge.whole_state import partition_of, whole_state
from model.config import SharePartitionConfig
from model.errors import IllegalChoiceError
from model.guards import Guard
from model.operations import Initialize, Operation
from model.outcome import Answer, Choice
from model.profile import KIP, Profile
from model.ranges import StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from spec.partition import SharePartition, Step
from tests.spec.worlds import SMALL, shown

SIDES = ("spec", "impl")
_FREE = Choice()
_chosen = [SIDES[0]]


def choose_side(side: str) -> None:
    """Let ``spec`` or ``impl`` apply what follows."""
    _chosen[:] = [side]


def engine_of(partition: SharePartition) -> Engine:
    """An engine of the side that goes on from this state."""
    (side,) = _chosen
    return engines_for((side,), partition.profile, whole_state(partition))[side]


def apply(
    partition: SharePartition,
    operation: Operation,
    choice: Choice = _FREE,
    answers: Sequence[Answer] = (),
    seq: int = 0,
) -> Step:
    """The share-partition after an operation, and the outcome."""
    engine = engine_of(partition)
    outcome = engine.apply(operation, choice, tuple(answers), seq)
    after = partition_of(engine.whole(), partition.profile)
    assert engine.snapshot() == snapshot(after)
    assert engine.durable() == durable(after)
    assert engine.lag() == lag(after)
    return Step(after, outcome)


def run(
    partition: SharePartition, *operations: Operation, answer: Answer | None = None
) -> SharePartition:
    """The share-partition after the operations, whose writes are answered with ``answer``."""
    answers = () if answer is None else (answer,)
    for seq, operation in enumerate(operations):
        partition = apply(partition, operation, _FREE, answers, seq).partition
    return partition


def started(
    profile: Profile = KIP,
    *batches: StateBatch,
    start: int = 0,
    end: int = 100,
    config: SharePartitionConfig = SMALL,
    timed: bool = False,
) -> SharePartition:
    """A share-partition over a log from 0 to ``end`` that a leader read from these batches."""
    operation = Initialize(config, 0, end, DurableState(start, 0, batches), timed=timed)
    return apply(SharePartition(profile), operation).partition


def refusal(
    partition: SharePartition, operation: Operation, choice: Choice = _FREE
) -> tuple[Guard, int | None]:
    """The guard that refuses the choice, and the offset if both sides name one."""
    engine = engine_of(partition)
    before = engine.whole()
    with pytest.raises(IllegalChoiceError) as caught:
        engine.apply(operation, choice, (), 0)
    assert engine.whole() == before
    assert isinstance(caught.value.guard, Guard)
    offset = re.match(r"(?:offset|at) (\d+)", caught.value.detail)
    return caught.value.guard, int(offset[1]) if offset else None


def snapshot(partition: SharePartition) -> SharePartitionSnapshot:
    """What the leader shows of the window."""
    return engine_of(partition).snapshot()


def durable(partition: SharePartition) -> DurableState:
    """What the share coordinator holds."""
    return engine_of(partition).durable()


def lag(partition: SharePartition) -> int:
    """The share-partition lag."""
    return engine_of(partition).lag()


def complete_count(partition: SharePartition) -> int:
    """The delivery complete count."""
    return snapshot(partition).delivery_complete_count


def states(partition: SharePartition) -> str:
    """All records, as ``tests.spec.worlds.states``."""
    return shown(snapshot(partition))
