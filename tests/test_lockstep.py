"""Specification and implementation do the same, step by step, whatever happens."""

import os
from collections import Counter
from enum import Enum

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from model.errors import ErrorCode
from model.guards import Guard
from model.profile import PROFILES, Profile
from tests.lockstep.dice import HypothesisDice
from tests.lockstep.driver import drive
from tests.lockstep.spoiled import cases, found_by_kernel, found_by_specification
from tests.lockstep.world import OPERATIONS, World

VOLUME = int(os.environ.get("SHARESPEC_STEPS", "120000"))
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

    @initialize(data=st.data(), profile=st.sampled_from(tuple(PROFILES.values())))
    def begin(self, data: st.DataObject, profile: Profile) -> None:
        self.world = World(profile, HypothesisDice(data))

    @rule(data=st.data(), operation=st.sampled_from(tuple(OPERATIONS)))
    def step(self, data: st.DataObject, operation: "type[World]") -> None:
        self.world.dice = HypothesisDice(data)
        self.world.step(operation)  # type: ignore[arg-type] # a method of World


def test_no_sequence_of_operations_tells_them_apart() -> None:
    run_state_machine_as_test(
        Lockstep,
        settings=settings(
            max_examples=25,
            stateful_step_count=200,
            deadline=None,
            derandomize=bool(os.environ.get("CI")),
            suppress_health_check=list(HealthCheck),
            phases=(Phase.reuse, Phase.generate, Phase.shrink),
        ),
    )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_many_steps_agree_and_reach_every_rule(seed: int) -> None:
    reached = drive(seed, VOLUME // SEEDS)
    assert reached["steps"] >= VOLUME // SEEDS
    assert not _missing(reached), f"never reached: {_missing(reached)}"


@pytest.mark.parametrize("seed", range(SEEDS))
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


def _missing(reached: Counter[Enum | str]) -> list[str]:
    wanted: set[Enum] = {*Guard, *ANSWERED}
    writes = {
        f"{operation} writes {status.name}"
        for operation in ("Acknowledge", "AdvanceTime", "FinishDeadLetter", "Release")
        for status in (ErrorCode.NONE, ErrorCode.PENDING, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    }
    marks = {f"marked {status.name}" for status in MARKED}
    return sorted(
        [member.name for member in wanted if not reached[member]]
        + [event for event in writes | marks if not reached[event]]
    )
