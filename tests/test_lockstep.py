"""Specification and implementation do the same, step by step, whatever happens."""

import copy
import os
from collections import Counter
from enum import Enum
from functools import cache
from itertools import product

import attrs
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from judge.whole_state import whole_state
from model import operations as ops
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.guards import Guard
from model.outcome import Answer, Choice, Outcome
from model.profile import DRAFT_RESOLVED, Profile
from model.ranges import OffsetRange
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode, RecordState
from model.whole_state import WholeState
from spec.partition import SharePartition, new_partition
from tests.impl.helpers import COMPILES
from tests.lockstep.dice import HypothesisDice
from tests.lockstep.driver import drive
from tests.lockstep.pair import Pair
from tests.lockstep.spoiled import cases, found_by_kernel, found_by_specification
from tests.lockstep.world import HASTY, OPERATIONS, Operation, World, new_world, step

ENOUGH = 40_000
"""This many steps reach every rule."""
STEPS = int(os.environ.get("SHARESPEC_STEPS", "20000"))
SEEDS = 4

ANSWERED = {
    ErrorCode.NONE,
    ErrorCode.PENDING,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_RECORD_STATE,
    ErrorCode.NON_EMPTY_GROUP,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.FENCED_STATE_EPOCH,
}
"""Every status that a share-partition or the coordinator's answer to it can give."""


MARKED = (ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE)
"""Every answer to a batch of a mark."""


class Lockstep(RuleBasedStateMachine):
    """Every operation as a rule; ``Pair`` compares after each."""

    world: World

    @initialize(data=st.data(), profile=st.sampled_from(HASTY))
    def begin(self, data: st.DataObject, profile: Profile) -> None:
        self.world, _pair = new_world(profile, HypothesisDice(data))

    @rule(data=st.data(), operation=st.sampled_from(tuple(OPERATIONS)))
    def step(self, data: st.DataObject, operation: Operation) -> None:
        self.world.dice = HypothesisDice(data)
        step(self.world, operation)


@pytest.mark.volume
def test_no_sequence_of_operations_tells_them_apart() -> None:
    run_state_machine_as_test(
        Lockstep,
        settings=settings(
            max_examples=12 if STEPS >= ENOUGH else 8,
            stateful_step_count=200,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.reuse, Phase.generate, Phase.shrink),
        ),
    )


@cache
def _reached(seed: int) -> Counter[Enum | str]:
    return drive(seed, STEPS // SEEDS)


@pytest.mark.volume
@COMPILES
@pytest.mark.parametrize("seed", range(SEEDS))
def test_many_steps_agree(seed: int) -> None:
    assert _reached(seed)["steps"] >= STEPS // SEEDS


@pytest.mark.slow
@COMPILES
@pytest.mark.skipif(STEPS < ENOUGH, reason="SHARESPEC_STEPS asks for fewer steps than reach all")
def test_many_steps_reach_every_rule() -> None:
    missing = _missing(sum((_reached(seed) for seed in range(SEEDS)), Counter()))
    assert not missing, f"never reached: {missing}"


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, SEEDS))]
)
def test_the_kernel_finds_in_spoiled_events_what_the_specification_finds(seed: int) -> None:
    noticed = 0
    for case in cases(seed, stories=2, spoilings=20):
        found = found_by_kernel(case)
        assert found == found_by_specification(case), case.spoiled
        noticed += found[0] != "conforms"
    assert noticed > 50, "much of what is spoiled is noticed"


def test_the_coverage_check_can_fail() -> None:
    reached = drive(0, 200)
    reached[Guard.CAN_ACQUIRE] = 0
    assert Guard.CAN_ACQUIRE.name in _missing(reached)


def drive_many(stories: int) -> None:
    for seed in range(stories):
        drive(seed, 1000)


@pytest.mark.parametrize("field", [field.name for field in attrs.fields(WholeState)])
def test_a_side_that_goes_on_from_another_state_is_noticed(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a conversion forgets is noticed when the whole states are compared next."""
    forgotten = getattr(whole_state(new_partition(HASTY[0])), field)

    def forgetful(partition: SharePartition) -> WholeState:
        return attrs.evolve(whole_state(partition), **{field: forgotten})

    monkeypatch.setattr("tests.lockstep.pair.whole_state", forgetful)
    with pytest.raises(AssertionError, match=rf"state\.{field}"):
        drive_many(20)  # Only some stories have what is rare.


def test_any_two_ranges_of_aborted_transactions() -> None:
    """Over a window with a record in every state, some of them twice, and beyond its end."""
    pair = _window_of_all_states()
    spec, impl = pair.spec, pair.impl
    states = {record.state for record in spec.window.records.values()}
    assert states == set(RecordState) - {RecordState.ARCHIVED}
    ranges = [OffsetRange(first, last) for last in range(10) for first in range(last + 1)]
    for both in product(ranges, repeat=2):
        pair.impl, pair.engine.partition = copy.copy(impl), spec
        assert isinstance(pair.do(ops.ArchiveAborted(both)), Outcome)


def _window_of_all_states() -> Pair:
    """Return a share-partition that has the records 0 to 8 in its window, and 9 in its log."""
    pair, read = Pair(DRAFT_RESOLVED), (OffsetRange(0, 9),)
    config = SharePartitionConfig(
        isolation_level=IsolationLevel.READ_COMMITTED, dead_letter_queue=True
    )

    def fetch(member: str, number: int) -> ops.Acquire:
        return ops.Acquire(member, AcquireMode.RECORD_LIMIT, 9, number, 0, read)

    def acknowledge(offset: int, kind: AcknowledgeType, status: ErrorCode) -> None:
        batch = ops.AcknowledgementBatch(offset, offset, (kind,))
        pair.do(ops.Acknowledge("m1", (batch,)), answers=(Answer(status),))

    pair.do(ops.Initialize(config, 0, 10, DurableState(0, 0)))
    pair.do(fetch("m1", 7))
    acknowledge(1, AcknowledgeType.ACCEPT, ErrorCode.NONE)
    acknowledge(2, AcknowledgeType.REJECT, ErrorCode.NONE)
    acknowledge(3, AcknowledgeType.ACCEPT, ErrorCode.PENDING)
    acknowledge(4, AcknowledgeType.RELEASE, ErrorCode.PENDING)
    pair.do(ops.MarkInProgress("m1", (ops.ProgressBatch(5, 5, 0, 0),)))
    pair.do(fetch("m2", 2), Choice(acquired=(OffsetRange(7, 8),)))
    acknowledge(6, AcknowledgeType.RELEASE, ErrorCode.NONE)
    return pair


def _missing(reached: Counter[Enum | str]) -> list[str]:
    # How long an answer may be awaited is no rule of a share-partition: ``judge.follower`` has it.
    wanted: set[Enum] = {*Guard, *ANSWERED} - {Guard.ANSWER_COMES}
    writing = ("Acknowledge", "AdvanceTime", "Expire", "FinishDeadLetter", "MemberLeaves")
    writes = {
        f"{operation} writes {status.name}"
        for operation in writing
        for status in (ErrorCode.NONE, ErrorCode.PENDING, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    }
    marks = {f"marked {status.name}" for status in MARKED}
    aborted = {f"aborted {state.name}" for state in RecordState}
    aborted |= {f"aborted {name} pending" for name in ("AVAILABLE", "ACKNOWLEDGED", "ARCHIVED")}
    return sorted(
        [member.name for member in wanted if not reached[member]]
        + [event for event in writes | marks | aborted if not reached[event]]
    )
