"""A faulty implementation: the specification with its guards off, altered in one respect."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from types import ModuleType

import attrs

from model.config import SharePartitionConfig
from model.operations import AlterConfig, Initialize, Operation
from model.outcome import Answer, Choice, Outcome
from model.profile import Profile
from model.ranges import StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from spec.lag import lag
from spec.partition import SharePartition, Step, new_partition
from spec.step import apply
from spec.view import durable, furthest, readable, snapshot


class Manner(StrEnum):
    """How an implementation breaks a promise."""

    LOSSY = "lossy"
    LAZY = "lazy"
    GREEDY = "greedy"
    FORGETFUL = "forgetful"
    LYING = "lying"


class Face(StrEnum):
    """What shows a faulty implementation: its recording, or a search that drives it."""

    TRACE = "trace"
    CORE = "core"


Reads = Callable[[SharePartition, Operation], Operation]
Begins = Callable[[SharePartition, Operation], SharePartition]
Chooses = Callable[[SharePartition, Operation, Choice], Choice]
Ends = Callable[[SharePartition, Operation, Step], Step]
GoesBy = Callable[[SharePartitionConfig], SharePartitionConfig]
Shows = Callable[[SharePartition, SharePartitionSnapshot], SharePartitionSnapshot]


def _same_operation(_partition: SharePartition, operation: Operation) -> Operation:
    return operation


def _same_choice(_partition: SharePartition, _operation: Operation, choice: Choice) -> Choice:
    return choice


@attrs.frozen
class Behaviour:
    """One way to break one promise; what is not given is as specified.

    ``reads``: the operation as the implementation does and reports it. ``does``: what it does
    instead, unreported. ``goes_by``: the configuration that it goes by. ``begins`` and ``ends``:
    its state before and its step after the operation. ``chooses``: its choices. ``shows``: the
    state that it reports. ``follows``: whether it keeps to the last stable offset and follows the
    log start offset. ``faces``: where it can show.
    """

    name: str
    promise: str
    manner: Manner
    reads: Reads = _same_operation
    does: Reads = _same_operation
    goes_by: GoesBy = lambda config: config
    begins: Begins = lambda partition, _operation: partition
    chooses: Chooses = _same_choice
    ends: Ends = lambda _before, _operation, step: step
    shows: Shows = lambda _partition, shown: shown
    follows: bool = True
    faces: tuple[Face, ...] = tuple(Face)


HONEST = Behaviour("does as specified", "", Manner.LAZY)
"""The control: nothing is altered."""


class FaultyEngine:
    """A faulty implementation as an engine of ``judge``."""

    def __init__(self, behaviour: Behaviour, profile: Profile) -> None:
        """Start with a share-partition that no leader has initialized."""
        self.profile = profile
        self.partition = new_partition(profile)
        self._behaviour = behaviour

    def reported(self, operation: Operation) -> Operation:
        """Return the operation as this implementation does and reports it."""
        return self._behaviour.reads(self.partition, operation)

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation in its faulty way and return the outcome."""
        it = self._behaviour
        done = it.does(self.partition, operation)
        if isinstance(done, Initialize | AlterConfig):
            done = attrs.evolve(done, config=it.goes_by(done.config))
        before = it.begins(self.partition, operation)
        with unguarded():
            step = apply(before, done, it.chooses(before, operation, choice), answers, seq)
        step = it.ends(self.partition, operation, step)
        self.partition = step.partition
        return step.outcome

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the window that it reports."""
        return self._behaviour.shows(self.partition, snapshot(self.partition))

    def durable(self) -> DurableState:
        """Return what the share coordinator holds."""
        return durable(self.partition)

    def readable(self, read: DurableState) -> DurableState:
        """Return what a new leader may read that comes nearest to what it read."""
        return readable(self.partition, read)

    def furthest(self, written: Sequence[StateBatch]) -> int:
        """Return how far the start offset may move once the records are as they were written."""
        return furthest(self.partition, written)

    def lag(self) -> int:
        """Return the share-partition lag in offsets."""
        return lag(self.partition)


@contextmanager
def unguarded() -> Iterator[None]:
    """Let every choice pass in the specification, until the block ends."""
    checks = _checks()
    rules = [getattr(module, name) for module, name in checks]
    for module, name in checks:
        setattr(module, name, _nothing)
    try:
        yield
    finally:
        for (module, name), rule in zip(checks, rules, strict=True):
            setattr(module, name, rule)


_CHECKS = ("require", "_check_growth")
"""Functions of the specification that only refuse."""


@cache
def _checks() -> tuple[tuple[ModuleType, str], ...]:
    modules = [module for name, module in sys.modules.items() if name.startswith("spec.")]
    return tuple((module, name) for module in modules for name in _CHECKS if hasattr(module, name))


def _nothing(*_arguments: object) -> None:
    """Refuse nothing."""
