"""One leader twice, as the specification has it and as the implementation does: held together."""

import copy
import pickle
import zlib

import attrs

from impl.partition import FastSharePartition
from model.errors import IllegalChoiceError, InvalidValueError
from model.outcome import Outcome
from model.snapshot import DurableState
from model.states import RecordState
from proofs.exploration.moves import Move
from proofs.exploration.world import Leader, World, initialize
from spec.invariants import violated
from spec.lag import lag
from spec.log import Log
from spec.partition import SharePartition
from spec.step import apply
from spec.view import durable, snapshot

__all__ = ["Made", "Pair", "first_pair", "make", "pack", "unpack"]


@attrs.frozen
class Pair:
    """A leader as the specification has it, and the implementation after the same run."""

    leader: Leader
    impl: FastSharePartition


@attrs.frozen
class Made:
    """A move made by both: the pair after it and its outcome, or Nones where both refuse it.

    ``wrong`` says how they differ, or which invariant does not hold afterwards.
    """

    after: Pair | None = None
    outcome: Outcome | None = None
    wrong: str | None = None


def first_pair(world: World, log: Log, persisted: DurableState) -> Made:
    """Return a leader that took over from the durable state."""
    leader, operation = initialize(world, log, persisted)
    impl = FastSharePartition(world.profile)
    outcome = impl.apply(operation)
    pair = Pair(leader, impl)
    return Made(pair, outcome, _difference(pair))


def make(pair: Pair, move: Move) -> Made:
    """Make a move on both sides and compare all that can be seen; the pair stays as it is."""
    partition, impl = pair.leader.partition, copy.copy(pair.impl)
    expected: Outcome | object
    found: Outcome | object
    try:
        step = apply(partition, move.operation, move.choice, move.answers)
        partition, expected = step.partition, step.outcome
    except (IllegalChoiceError, InvalidValueError) as error:
        expected = _refusal(error)
    try:
        found = impl.apply(move.operation, move.choice, move.answers)
    except (IllegalChoiceError, InvalidValueError) as error:
        found = _refusal(error)
    if found != expected:
        return Made(wrong=f"the implementation answers {found}, the specification {expected}")
    if not isinstance(expected, Outcome):
        return Made()
    after = Pair(Leader(partition, move.log), impl)
    return Made(after, expected, _difference(after))


def pack(pair: Pair) -> bytes:
    """Return the pair as bytes: its arrays are mostly empty, so they are few."""
    return zlib.compress(pickle.dumps(pair, pickle.HIGHEST_PROTOCOL), 1)


def unpack(packed: bytes) -> Pair:
    """Return the pair that was packed."""
    pair: Pair = pickle.loads(zlib.decompress(packed))  # noqa: S301 - of our own making
    return pair


def _refusal(error: IllegalChoiceError | InvalidValueError) -> tuple[str, object]:
    what = error.guard.name if isinstance(error, IllegalChoiceError) else error.name
    return "refused", what


def _too_long_in_progress(partition: SharePartition) -> int | None:
    config, now = partition.config, partition.now
    for offset, record in partition.window.records.items():
        if record.state == RecordState.IN_PROGRESS and not (
            now - record.progress_start < config.in_progress_max_lock_extension_ms
            and now - record.last_progress < config.in_progress_staleness_threshold_ms
        ):
            return offset
    return None


def _difference(pair: Pair) -> str | None:
    partition, impl = pair.leader.partition, pair.impl
    for name, found, expected in (
        ("window", impl.snapshot(), snapshot(partition)),
        ("durable state", impl.durable(), durable(partition)),
        ("lag", impl.lag(), lag(partition)),
    ):
        if found != expected:
            return f"the implementation's {name} is {found}, the specification's {expected}"
    if (late := _too_long_in_progress(partition)) is not None:
        return f"offset {late} is IN_PROGRESS for too long, or too long without a sign of it"
    broken = [invariant.sentence for invariant in violated(partition)]
    return f"not true: {' '.join(broken)}" if broken else None
