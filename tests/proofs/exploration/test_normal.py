"""Leaders that differ in names, in the clock and in numbers are one; nothing else is."""

import attrs
import pytest

from model import operations as ops
from model.errors import ErrorCode
from model.outcome import Answer
from model.ranges import OffsetRange
from model.states import AcquireMode
from proofs.exploration.normal import content, view
from proofs.exploration.world import NEVER_WRITTEN, ExploredLeader, SmallWorld, initialize
from spec.log import Log
from spec.step import apply

WORLD = SmallWorld(lock=2)
LATER = (Answer(ErrorCode.PENDING),)


def _run(*steps: ops.Operation, seq: int = 0) -> ExploredLeader:
    leader, _ = initialize(WORLD, Log(0, 3), NEVER_WRITTEN)
    partition = leader.partition
    for number, operation in enumerate(steps, start=seq):
        partition = apply(partition, operation, answers=LATER, seq=number).partition
    return attrs.evolve(leader, partition=partition)


def _fetch(member: str, offset: int) -> ops.Acquire:
    read = (OffsetRange(offset, offset),)
    return ops.Acquire(member, AcquireMode.RECORD_LIMIT, 1, 1, offset, read)


def _accept(member: str, offset: int) -> ops.Acknowledge:
    return ops.Acknowledge(member, (ops.AcknowledgementBatch(offset, offset, (1,)),))


def _key(leader: ExploredLeader, *, symmetry: bool = True) -> bytes:
    return view(leader, WORLD.names, symmetry=symmetry).key


ONE = _run(_fetch("m1", 0), _fetch("m2", 1), _accept("m1", 0))


@pytest.mark.parametrize(
    "other",
    [
        _run(_fetch("m2", 0), _fetch("m1", 1), _accept("m2", 0)),
        _run(ops.AdvanceTime(5), _fetch("m1", 0), _fetch("m2", 1), _accept("m1", 0)),
        _run(_fetch("m1", 0), _fetch("m2", 1), _accept("m1", 0), seq=9),
        attrs.evolve(ONE, partition=attrs.evolve(ONE.partition, next_write=7)),
    ],
    ids=["members", "clock", "calls", "write numbers"],
)
def test_what_is_the_same_but_for_names(other: ExploredLeader) -> None:
    assert _key(other) == _key(ONE)


@pytest.mark.parametrize(
    "other",
    [
        _run(_fetch("m1", 0), _fetch("m1", 1), _accept("m1", 0)),
        _run(_fetch("m1", 0), ops.AdvanceTime(1), _fetch("m2", 1), _accept("m1", 0)),
        _run(_fetch("m1", 0), _fetch("m2", 1)),
        _run(_fetch("m1", 0), _fetch("m2", 1), ops.MemberLeaves("m1")),
        attrs.evolve(ONE, log=Log(0, 3, ((2, 2),))),
        attrs.evolve(ONE, partition=attrs.evolve(ONE.partition, log=Log(0, 3, ((2, 2),)))),
    ],
    ids=["owner", "age of a lock", "not acknowledged", "released", "log", "known of the log"],
)
def test_what_is_not_the_same(other: ExploredLeader) -> None:
    assert _key(other) != _key(ONE)


def test_without_symmetry_members_are_told_apart() -> None:
    other = _run(_fetch("m2", 0), _fetch("m1", 1), _accept("m2", 0))
    assert _key(other, symmetry=False) != _key(ONE, symmetry=False)


def test_members_and_writes_come_in_the_order_of_the_form() -> None:
    seen = view(_run(_fetch("m2", 0), _fetch("m1", 1), _accept("m2", 0)), WORLD.names)
    assert (seen.members, seen.involved, seen.writes) == (("m2", "m1"), 2, (0,))
    idle = view(_run(), WORLD.names)
    assert (idle.members, idle.involved) == (("m1", "m2"), 0)


def test_a_lock_that_is_over_is_0_whenever_it_ended() -> None:
    one = _run(_fetch("m1", 0), _accept("m1", 0), ops.AdvanceTime(2))
    other = _run(_fetch("m1", 0), _accept("m1", 0), ops.AdvanceTime(9))
    assert _key(one) == _key(other)


def test_what_a_write_says() -> None:
    write = ONE.partition.outstanding[0].write
    assert content(write) == (0, 1, ((0, 0, 2, 1),))
