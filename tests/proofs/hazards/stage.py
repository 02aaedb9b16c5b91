"""Small worlds in which a test plays steps of its choice."""

from typing import Any

import attrs

from model.errors import ErrorCode
from proofs.hazards.draft_consumer import Given
from proofs.hazards.draft_readings import MENDED
from proofs.hazards.machine import RESOLVED, Machine, draft_machine
from proofs.hazards.run import begin, follow
from proofs.hazards.world import Act, Moment, Move, Property, Setting, State, World

FIRST = Given(0, 1, 0)
SECOND = Given(1, 1, 0)
PENDING = ErrorCode.PENDING
LOST = ErrorCode.COORDINATOR_NOT_AVAILABLE


def anything(_moment: Moment) -> None:
    return None


def setting(
    world: World,
    holds: Property = anything,
    machine: Machine = RESOLVED,
    **options: Any,  # noqa: ANN401 - whatever the option takes
) -> Setting:
    readings = attrs.evolve(MENDED, **options)
    return Setting(world, draft_machine(readings) if options else machine, readings, holds)


def world(*moves: Move, **bounds: Any) -> World:  # noqa: ANN401 - whatever a world takes
    return World(frozenset(moves), **bounds)


def play(given: Setting, *acts: Act) -> State:
    """Play the acts; every step but the last must keep the property."""
    state = begin(given)
    for act in acts:
        assert state.broken is None, state.broken
        state = follow(given, state, act)
    return state


def fetch(member: str = "A") -> Act:
    return Act(Move.FETCH, member)


def mark(given: Given = FIRST, member: str = "A", answer: ErrorCode = ErrorCode.NONE) -> Act:
    return Act(Move.MARK, member, given, answer)


def accept(given: Given = FIRST, member: str = "A", answer: ErrorCode = ErrorCode.NONE) -> Act:
    return Act(Move.ACCEPT, member, given, answer)


def wait(ms: int) -> Act:
    return Act(Move.WAIT, number=ms)


def answered(answer: ErrorCode, number: int = 0) -> Act:
    return Act(Move.ANSWER, answer=answer, number=number)


FAIL_OVER = Act(Move.FAIL_OVER)
