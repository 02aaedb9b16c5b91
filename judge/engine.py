"""The one interface through which the specification and the implementation are driven."""

from typing import Protocol

from impl.partition import FastSharePartition
from model.operations import Operation
from model.outcome import Answer, Choice, Outcome
from model.profile import Profile
from model.snapshot import DurableState, SharePartitionSnapshot
from spec.invariants import violated
from spec.lag import lag
from spec.partition import SharePartition
from spec.step import apply, new_partition
from spec.view import durable, snapshot


class Engine(Protocol):
    """One share-partition that applies operations and shows its state.

    ``apply`` raises IllegalChoiceError for a choice that no rule allows and InvalidValueError for
    an operation that makes no sense; it then changes nothing. ``impl.FastSharePartition`` is one.
    """

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation and return its outcome."""

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the leader's view of the window."""

    def durable(self) -> DurableState:
        """Return what the share coordinator holds."""

    def lag(self) -> int:
        """Return the share-partition lag in offsets (KIP-1226)."""


class SpecEngine:
    """The specification: ``partition`` is an immutable value that each operation replaces."""

    def __init__(self, profile: Profile, partition: SharePartition | None = None) -> None:
        """Start with ``partition``, or else with one that no leader has initialized."""
        self.partition = partition or new_partition(profile)

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation and return its outcome."""
        step = apply(self.partition, operation, choice, answers, seq)
        self.partition = step.partition
        return step.outcome

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the leader's view of the window."""
        return snapshot(self.partition)

    def durable(self) -> DurableState:
        """Return what the share coordinator holds."""
        return durable(self.partition)

    def lag(self) -> int:
        """Return the share-partition lag in offsets (KIP-1226)."""
        return lag(self.partition)

    def violated(self) -> list[tuple[str, str]]:
        """Return the name and the sentence of each invariant that does not hold."""
        return [(broken.name, broken.sentence) for broken in violated(self.partition)]


def engines_for(names: tuple[str, ...], profile: Profile) -> dict[str, Engine]:
    """Return a new share-partition for each of ``spec`` and ``impl`` in ``names``."""
    makers: dict[str, type[SpecEngine | FastSharePartition]] = {
        "spec": SpecEngine,
        "impl": FastSharePartition,
    }
    return {name: makers[name](profile) for name in names}
