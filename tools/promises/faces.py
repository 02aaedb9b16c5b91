"""Find a faulty implementation: in what it recorded, or by driving it."""

from collections.abc import Callable

import attrs

from conformance.campaign import Limits, campaign
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from judge.dice import SeededDice
from judge.engine import engines_for
from judge.follower import follow
from judge.pair import Refused
from judge.world import Load, Recorder, World
from model import operations as ops
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Outcome
from model.profile import KIP, Profile
from model.rules import rules_for
from model.snapshot import DurableState
from model.trace import TraceEvent
from spec.log import readable_end
from tools.promises.behaviour import Behaviour, FaultyEngine

_STEPS = 250
_LOCK_MS = 10
_FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE
_LOAD = Load(
    ("a", "b"),
    answers=(ErrorCode.NONE, ErrorCode.PENDING, ErrorCode.PENDING),
    late_answers=(ErrorCode.NONE, _FAILED),
)


class FaultyMember:
    """A faulty implementation as the subject of a world, with the log under it."""

    def __init__(self, behaviour: Behaviour, profile: Profile, *, committed: bool) -> None:
        """Record what the implementation does."""
        self._engine = FaultyEngine(behaviour, profile)
        self._recorder = Recorder("g:t:0", self._engine)
        self._follows, self._committed = behaviour.follows, committed
        self.durable, self.snapshot = self._recorder.durable, self._recorder.snapshot

    @property
    def events(self) -> list[TraceEvent]:
        """Return what was recorded."""
        return self._recorder.events

    def do(
        self, operation: ops.Operation, choice: Choice, answers: tuple[Answer, ...]
    ) -> Outcome | Refused:
        """Apply an operation in the faulty way; what is produced last is of an open transaction."""
        partition = self._engine.partition
        stable = partition.log.stable_offset
        if isinstance(operation, ops.Produce) and self._committed:
            stable = max(stable, operation.log_batches[-1].first)
            operation = attrs.evolve(operation, last_stable_offset=stable)
        elif isinstance(operation, ops.Initialize) and self._committed:
            stable = min(stable, operation.log_end_offset)
            operation = attrs.evolve(operation, last_stable_offset=stable)
        elif isinstance(operation, ops.Acquire) and self._follows:
            end = readable_end(partition.log, partition.config.isolation_level)
            read = tuple(batch for batch in operation.log_batches if batch.last < end)
            operation = attrs.evolve(operation, log_batches=read)
        return self._recorder.do(self._engine.reported(operation), choice, answers)


def _fetch_again(world: World) -> None:
    """Let a member fetch, whether it can get anything or not."""
    fetch = world.fetch()
    width = world.state.end_offset - world.state.start_offset
    full = width >= world.config.partition_max_record_locks
    if full and fetch.fetch_offset == world.state.end_offset:
        world.do(ops.SkipAcquire(fetch.member))
    else:
        world.do(fetch)


def _take_over(world: World) -> None:
    """Let a new leader begin, which follows the log start offset with its first read."""
    world.take_over()
    if world.state.start_offset < world.log_start:
        world.do(ops.AdvanceLogStart(world.log_start))


def _archive_aborted(world: World) -> None:
    """Let a fetch read aborted transactions, where the group keeps them back."""
    if world.config.isolation_level is IsolationLevel.READ_COMMITTED:
        world.archive_aborted()


_OPERATIONS: tuple[tuple[Callable[[World], None], int], ...] = (
    (_fetch_again, 8),
    (World.acknowledge, 6),
    (World.acknowledge_anything, 2),
    (World.produce, 2),
    (World.complete_write, 3),
    (World.advance_time, 1),
    (World.expire, 1),
    (World.release, 1),
    (_archive_aborted, 1),
    (World.finish_dead_letters, 1),
    (World.advance_log_start, 1),
    (World.reset_offset, 1),
    (_take_over, 1),
)
_DRAWN = tuple(operation for operation, weight in _OPERATIONS for _ in range(weight))


def recorded(
    behaviour: Behaviour, seed: int, profile: Profile = KIP, steps: int = _STEPS
) -> list[TraceEvent]:
    """Return a random history of a faulty implementation."""
    committed = seed % 2 == 1
    config = SharePartitionConfig(
        delivery_count_limit=2 + seed % 3,
        partition_max_record_locks=(4, 8, 20)[seed % 3],
        record_lock_duration_ms=_LOCK_MS,
        isolation_level=IsolationLevel.READ_COMMITTED
        if committed
        else IsolationLevel.READ_UNCOMMITTED,
        renew_acknowledge_enable=seed % 3 != 0,
        dead_letter_queue=seed % 4 > 1,
    )
    member = FaultyMember(behaviour, profile, committed=committed)
    world = World(member, profile, config, _LOAD, SeededDice(seed))
    world.initialize(DurableState(0, 0))
    lazy = world.dice.number(0, 3) == 0
    for _ in range(steps):
        drawn = _fetch_again if lazy and world.dice.happens(0.7) else world.dice.one_of(_DRAWN)
        drawn(world)
    return member.events


def rules_of(behaviour: Behaviour) -> frozenset[str]:
    """Return the names of the rules that stand for the promise that is broken."""
    return frozenset(rules_for(behaviour.promise))


def traced(behaviour: Behaviour, seeds: int = 60) -> str | None:
    """Return by which rule of its promise replay finds it in one of so many recordings."""
    for seed in range(seeds):
        finding = follow(recorded(behaviour, seed), engines_for(("spec",), KIP))
        if finding and finding.name in rules_of(behaviour):
            return finding.name
    return None


def core(behaviour: Behaviour, profile: Profile = KIP) -> EngineTarget:
    """Return the faulty implementation as a core."""
    return EngineTarget(
        behaviour.name,
        profile.name,
        lambda: FaultyEngine(behaviour, profile),
        lambda engine, operation: (
            engine.reported(operation) if isinstance(engine, FaultyEngine) else operation
        ),
    )


def searched(behaviour: Behaviour, searches: int = 40, sequences: int = 8) -> int | None:
    """Return how many commands the first of some short searches needs that finds it, shrunk."""
    limits = Limits(sequences=sequences, examples=1, shrink_seconds=60)
    for seed in range(searches):
        result = campaign(core(behaviour), limits, CORES, seed)
        faults = [f for f in result.faults if f.deviation.name in rules_of(behaviour)]
        if faults:
            return min(len(fault.sequence) for fault in faults)
    return None
