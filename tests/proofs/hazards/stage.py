"""Small worlds in which a test plays steps of its choice."""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from model.errors import ErrorCode
from model.operations import Initialize, Operation
from model.outcome import Answer, Outcome
from proofs.hazards.draft_consumer import Given
from proofs.hazards.draft_readings import MENDED
from proofs.hazards.machine import RESOLVED, Machine, draft_machine
from proofs.hazards.run import begin, follow
from proofs.hazards.world import (
    HazardAct,
    HazardMoment,
    HazardMove,
    HazardProperty,
    HazardState,
    HazardWorld,
    Setting,
)
from spec.partition import SharePartition

FIRST = Given(0, 1, 0)
SECOND = Given(1, 1, 0)
PENDING = ErrorCode.PENDING
LOST = ErrorCode.COORDINATOR_NOT_AVAILABLE


def anything(_moment: HazardMoment) -> Iterator[str]:
    return iter(())


def setting(
    world: HazardWorld,
    holds: HazardProperty = anything,
    machine: Machine = RESOLVED,
    **options: Any,  # noqa: ANN401 - whatever the option takes
) -> Setting:
    readings = attrs.evolve(MENDED, **options)
    return Setting(world, draft_machine(readings) if options else machine, readings, holds)


def world(*moves: HazardMove, **bounds: Any) -> HazardWorld:  # noqa: ANN401 - whatever a world takes
    return HazardWorld(frozenset(moves), **bounds)


def played(given: Setting, *acts: HazardAct) -> list[HazardState]:
    """Play the acts; every step but the last must keep the property."""
    states = [begin(given)]
    for act in acts:
        assert states[-1].broken is None, states[-1].broken
        states.append(follow(given, states[-1], act))
    return states


def play(given: Setting, *acts: HazardAct) -> HazardState:
    """Play the acts; return the state after them."""
    return played(given, *acts)[-1]


def fetch(member: str = "A") -> HazardAct:
    return HazardAct(HazardMove.FETCH, member)


def mark(given: Given = FIRST, member: str = "A", answer: ErrorCode = ErrorCode.NONE) -> HazardAct:
    return HazardAct(HazardMove.MARK, member, given, answer)


def accept(
    given: Given = FIRST, member: str = "A", answer: ErrorCode = ErrorCode.NONE
) -> HazardAct:
    return HazardAct(HazardMove.ACCEPT, member, given, answer)


def wait(ms: int) -> HazardAct:
    return HazardAct(HazardMove.WAIT, number=ms)


def answered(answer: ErrorCode, number: int = 0) -> HazardAct:
    return HazardAct(HazardMove.ANSWER, answer=answer, number=number)


FAIL_OVER = HazardAct(HazardMove.FAIL_OVER)
READ_AGAIN = HazardAct(HazardMove.READ_AGAIN)


def _count_anew(
    partition: SharePartition, operation: Operation, answers: Sequence[Answer]
) -> tuple[SharePartition, Outcome]:
    after, outcome = RESOLVED.apply(partition, operation, answers)
    numbers = {"next_acquisition": 0} if isinstance(operation, Initialize) else {}
    return attrs.evolve(after, **numbers), outcome


COUNTS_ANEW = attrs.evolve(RESOLVED, apply=_count_anew)
"""A leader that numbers acquisitions from 0 whenever it reads the state, in its own epoch too."""
