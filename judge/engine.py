"""The one shape in which the replay drives the specification and the implementation."""

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

__all__ = ["Engine", "ImplEngine", "SpecEngine", "engines_for"]


class Engine(Protocol):
    """One share-partition that takes operations and can be looked at.

    ``apply`` raises IllegalChoiceError for a choice that no rule allows and InvalidValueError for
    an operation that makes no sense; it then changes nothing.
    """

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation and return what it answers."""

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the leader's view of the window."""

    def durable(self) -> DurableState:
        """Return what the share coordinator holds."""

    def lag(self) -> int:
        """Return the records not yet delivered for good, in offsets."""

    def violated(self) -> list[tuple[str, str]]:
        """Return the name and the sentence of each invariant that does not hold."""


class SpecEngine:
    """The specification: an immutable value that each operation replaces."""

    def __init__(self, profile: Profile) -> None:
        """Begin with a share-partition that is not initialized."""
        self._partition = new_partition(profile)

    @property
    def partition(self) -> SharePartition:
        """The share-partition as it is now."""
        return self._partition

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation and return what it answers."""
        step = apply(self._partition, operation, choice, answers, seq)
        self._partition = step.partition
        return step.outcome

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the leader's view of the window."""
        return snapshot(self._partition)

    def durable(self) -> DurableState:
        """Return what the share coordinator holds."""
        return durable(self._partition)

    def lag(self) -> int:
        """Return the records not yet delivered for good, in offsets."""
        return lag(self._partition)

    def violated(self) -> list[tuple[str, str]]:
        """Return the name and the sentence of each invariant that does not hold."""
        return [(broken.name, broken.sentence) for broken in violated(self._partition)]


class ImplEngine:
    """The implementation, one operation at a time."""

    def __init__(self, profile: Profile) -> None:
        """Begin with a share-partition that is not initialized."""
        self._partition = FastSharePartition(profile)

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation and return what it answers."""
        return self._partition.apply(operation, choice, answers, seq)

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the leader's view of the window."""
        return self._partition.snapshot()

    def durable(self) -> DurableState:
        """Return what the share coordinator holds."""
        return self._partition.durable()

    def lag(self) -> int:
        """Return the records not yet delivered for good, in offsets."""
        return self._partition.lag()

    def violated(self) -> list[tuple[str, str]]:
        """Return nothing: the invariants are stated over the specification's state."""
        return []


def engines_for(names: tuple[str, ...], profile: Profile) -> dict[str, Engine]:
    """Return a new share-partition for each of ``spec`` and ``impl`` in ``names``."""
    makers: dict[str, type[SpecEngine | ImplEngine]] = {"spec": SpecEngine, "impl": ImplEngine}
    return {name: makers[name](profile) for name in names}
