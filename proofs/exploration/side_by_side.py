"""One leader on both sides: the specification's state and the implementation after the same run."""

import copy

import attrs

from impl.partition import FastSharePartition
from judge.engine import SpecEngine
from judge.pair import Refused, answers_differ, attempt, broken_rule, states_differ
from model.outcome import Outcome
from model.snapshot import DurableState
from model.states import RecordState
from proofs.exploration.moves import Move
from proofs.exploration.world import ExploredLeader, SmallWorld, initialize
from spec.log import Log
from spec.partition import SharePartition


@attrs.frozen
class Pair:
    """A leader as the specification has it, and the implementation after the same run."""

    leader: ExploredLeader
    impl: FastSharePartition


def first_pair(world: SmallWorld, log: Log, persisted: DurableState) -> tuple[Pair, str | None]:
    """Return a leader that took over from the durable state, and what is wrong with it."""
    leader, operation = initialize(world, log, persisted)
    impl = FastSharePartition(world.profile)
    outcome = impl.apply(operation)
    spec = SpecEngine(world.profile, leader.partition)
    return Pair(leader, impl), _wrong(spec, impl, outcome)


def make(pair: Pair, move: Move) -> tuple[Pair, Outcome] | str | None:
    """Make a move on both sides and compare all that can be seen; the pair stays as it is.

    Return the pair after it and its outcome, None where both refuse it, or in words how they
    differ, or which rule is broken afterwards.
    """
    impl, partition = copy.copy(pair.impl), pair.leader.partition
    spec = SpecEngine(partition.profile, partition)
    step = move.operation, move.choice, move.answers, 0
    expected = attempt(spec.apply, *step)
    if wrong := answers_differ(expected, attempt(impl.apply, *step)):
        return wrong
    if isinstance(expected, Refused):
        return None
    after = Pair(ExploredLeader(spec.partition, move.log), impl)
    return _wrong(spec, impl, expected) or (after, expected)


def _too_long_in_progress(partition: SharePartition) -> int | None:
    """Return the first such offset; no invariant, as a change of the configuration may allow it."""
    config, now = partition.config, partition.now
    for offset, record in partition.window.records.items():
        if record.state == RecordState.IN_PROGRESS and not (
            now - record.progress_start < config.in_progress_max_lock_extension_ms
            and now - record.last_progress < config.in_progress_staleness_threshold_ms
        ):
            return offset
    return None


def _wrong(spec: SpecEngine, impl: FastSharePartition, outcome: Outcome) -> str | None:
    if wrong := states_differ(spec, impl):
        return wrong
    if (late := _too_long_in_progress(spec.partition)) is not None:
        return f"offset {late} is IN_PROGRESS for too long, or too long without a sign of it"
    return broken_rule(spec, outcome)
