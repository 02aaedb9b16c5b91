"""States that runs of the specification reach, as witnesses of theorems."""

import random
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import Any

import attrs

from judge.dice import SeededDice
from judge.engine import SpecEngine
from judge.world import Load, Recorder, World
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.operations import AlterConfig
from model.profile import DRAFT_RESOLVED
from model.snapshot import DurableState
from model.states import AcquireMode
from proofs.theorems.theorem import Theorem
from spec.partition import SharePartition

CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=4,
    record_lock_duration_ms=2,
    in_progress_staleness_threshold_ms=3,
    in_progress_max_lock_extension_ms=5,
    in_progress_rebalance_grace_ms=1,
)
LOAD = Load(
    ("a", "b"),
    batches=2,
    batch_length=2,
    gap=1,
    modes=(AcquireMode.RECORD_LIMIT,),
    limits=(1, 2, 4),
    answers=(ErrorCode.NONE, ErrorCode.PENDING, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    late_answers=(ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    wait_ms=2,
    log_start=1,
    choose=0.3,
)
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
    engine = SpecEngine(DRAFT_RESOLVED)
    recorder, dice = Recorder("g:t:0", engine), SeededDice(chance.getrandbits(32))
    world = World(recorder, DRAFT_RESOLVED, CONFIG, LOAD, dice)
    world.initialize(DurableState(0, 0, (), 1, 1))
    yield engine.partition
    world.produce()
    yield engine.partition
    for _ in range(LENGTH):
        try:
            dice.one_of(_MOVES)(world)
        except (InvalidValueError, TypeError):
            return  # A rule under change may lead to what is no state.
        yield engine.partition


def _switch_the_queue(world: World) -> None:
    queue = not world.config.dead_letter_queue
    world.do(AlterConfig(attrs.evolve(world.config, dead_letter_queue=queue)))


_MOVES: tuple[Callable[[World], None], ...] = (
    *(World.acquire, World.acquire, World.acquire, World.acknowledge, World.acknowledge),
    *(World.mark, World.mark, World.complete_write, World.complete_write),
    *(World.advance_time, World.release, World.advance_log_start, World.finish_dead_letters),
    *(World.take_over, _switch_the_queue),
)
