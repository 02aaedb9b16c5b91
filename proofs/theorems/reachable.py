"""States that runs of the specification reach, as witnesses of theorems."""

import random
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import Any

import attrs

from judge.view import durable
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    AlterConfig,
    CompleteWrite,
    FinishDeadLetter,
    Initialize,
    MarkInProgress,
    MemberLeaves,
    Operation,
    Produce,
    ProgressBatch,
)
from model.outcome import Answer, Choice
from model.profile import DRAFT_RESOLVED
from model.ranges import OffsetRange
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode
from proofs.theorems.theorem import Theorem
from spec.partition import SharePartition
from spec.record import is_dead_letter
from spec.step import apply, new_partition

CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=4,
    record_lock_duration_ms=2,
    in_progress_staleness_threshold_ms=3,
    in_progress_max_lock_extension_ms=5,
    in_progress_rebalance_grace_ms=1,
)
BATCHES = (OffsetRange(0, 1), OffsetRange(3, 4))
"""The log: offset 2 is a natural gap."""
RUNS, LENGTH = 150, 16


@attrs.frozen
class Witness:
    """A situation that satisfies a hypothesis, and the number of operations that led to it."""

    situation: object
    operations: int


def witness(theorem: Theorem) -> Witness | None:
    """Return a situation that a run reaches and in which hypothesis and claim hold, or None.

    Those that were one of another theorem come first: many share the rarest.
    """
    kind = theorem.situation
    known = _known(kind)
    reached = (
        Witness(situation, depth)
        for depth, state in states_of(kind)
        for situation in kind.reached(state)  # type: ignore[attr-defined] # each has it
    )
    for found in chain([*known], reached):
        if theorem.hypothesis(found.situation):
            known[found] = None
            return found if theorem.claim(found.situation) else None
    return None


@cache
def _known(_kind: type) -> dict[Witness, None]:
    """Return what was a witness before; it is added to."""
    return {}


def states_of(kind: type) -> tuple[tuple[int, Any], ...]:
    """Return the states that runs reach for a kind of situation, each with its operation count.

    They are share-partitions, unless the kind of situation has ``states`` of its own.
    """
    states: tuple[tuple[int, Any], ...] = getattr(kind, "states", run_states)()
    return states


@lru_cache(maxsize=1)
def run_states() -> tuple[tuple[int, SharePartition], ...]:
    """Return the share-partitions that runs reach, each with its number of operations."""
    depths: dict[SharePartition, int] = {}
    for depth, state in runs_of(_run, RUNS):
        depths.setdefault(state, depth + 1)
    return tuple(sorted(((depth, state) for state, depth in depths.items()), key=lambda s: s[0]))


def runs_of(
    run: Callable[[random.Random], Iterator[Any]], times: int
) -> tuple[tuple[int, Any], ...]:
    """Return the states of so many random runs, each with the number of steps to it."""
    chance = random.Random(0)  # noqa: S311 - the same runs each time; nothing secret
    return tuple(pair for _ in range(times) for pair in enumerate(run(chance)))


def _run(chance: random.Random) -> Iterator[SharePartition]:
    persisted = DurableState(0, 0, (), 1, 1)
    state = apply(new_partition(DRAFT_RESOLVED), Initialize(CONFIG, 0, 0, persisted)).partition
    yield state
    state = apply(state, Produce(BATCHES, 5)).partition
    yield state
    for _ in range(LENGTH):
        try:
            operation = chance.choice(_operations(state))
        except InvalidValueError:
            return  # A rule under change may lead to what is no state.
        start = state.window.start_offset
        choice = Choice(start_offset=chance.choice((None, None, start, start + 2)))
        answer = Answer(
            chance.choice((ErrorCode.NONE, ErrorCode.PENDING, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        )
        try:
            state = apply(state, operation, choice, (answer,)).partition
        except (IllegalChoiceError, InvalidValueError):
            continue
        yield state


def _operations(state: SharePartition) -> list[Operation]:
    start = state.window.start_offset
    batches = tuple(batch for batch in BATCHES if batch.last >= start)
    mode = AcquireMode.RECORD_LIMIT
    operations: list[Operation] = [
        *(Acquire(m, mode, 1, n, start, batches) for m in ("a", "b") for n in (1, 2, 4)),
        Acquire("a", mode, 1, 2, start, batches[1:]),
        *(AdvanceTime(ms) for ms in (1, 2)),
        MemberLeaves("a"),
        AdvanceLogStart(start + 1),
        Initialize(state.config, 0, state.log.end_offset, durable(state), state.now),
    ]
    queue = attrs.evolve(CONFIG, dead_letter_queue=not state.config.dead_letter_queue)
    operations.append(AlterConfig(queue))
    for offset, record in state.window.records.items():
        if is_dead_letter(record):
            operations += [FinishDeadLetter((OffsetRange(offset, offset),))] * 2
    for held in state.window.held:
        record = state.window.records[held]
        member = record.owner
        token = (state.durable.leader_epoch, record.acquisition)
        operations += [MarkInProgress(str(member), (ProgressBatch(held, held, *token),))] * 2
        for last in (held, held + 1):
            operations += [
                Acknowledge(str(member), (AcknowledgementBatch(held, last, (kind,)),))
                for kind in AcknowledgeType
            ]
    for waiting in state.outstanding:
        operations += [CompleteWrite(waiting, ErrorCode.NONE)] * 2
        operations += [CompleteWrite(waiting, ErrorCode.COORDINATOR_NOT_AVAILABLE)] * 2
    return operations
