"""The one interface through which the specification and the implementation are driven."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from judge.invariants import violated
from judge.recorded_partition import recorded
from judge.recorder import apply_recorded
from judge.view import durable, furthest, readable, snapshot
from judge.whole_state import partition_of, whole_state
from model.checks import MAX_RANGE
from model.errors import InvalidValueError
from model.operations import Compact, Initialize, Operation
from model.outcome import Answer, Choice, Outcome
from model.profile import Profile
from model.ranges import Ranged, StateBatch, number_of_offsets
from model.snapshot import DurableState, SharePartitionSnapshot
from model.whole_state import WholeState
from spec.lag import lag
from spec.partition import SharePartition
from spec.step import new_partition


class Engine(Protocol):
    """One share-partition that applies operations and shows its state.

    ``apply`` raises IllegalChoiceError for a choice that no rule allows and InvalidValueError for
    an operation that makes no sense; it then changes nothing. ``impl.FastSharePartition`` is one.
    """

    @property
    def profile(self) -> Profile:
        """The rules that apply."""

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation and return its outcome."""

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the leader's view of the window."""

    def durable(self) -> DurableState:
        """Return what the share coordinator holds."""

    def readable(self, read: DurableState) -> DurableState:
        """Return what a new leader may read that comes nearest to what it read."""

    def furthest(self, written: Sequence[StateBatch]) -> int:
        """Return how far the start offset may move once the records are as they were written."""

    def lag(self) -> int:
        """Return the share-partition lag in offsets (KIP-1226)."""

    def whole(self) -> WholeState:
        """Return the whole state, from which any engine can go on."""


class SpecEngine:
    """The specification: ``partition`` is an immutable value that each operation replaces."""

    def __init__(self, profile: Profile, partition: SharePartition | None = None) -> None:
        """Start with ``partition``, or else with one that no leader has initialized."""
        self.profile = profile
        self.partition = recorded(partition or new_partition(profile))
        self._window, self._snapshot = self.partition.window, snapshot(self.partition)

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation and return its outcome."""
        check_offsets(operation, choice)
        step = apply_recorded(self.partition, operation, choice, answers, seq)
        self.partition = recorded(step.partition)
        return step.outcome

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the leader's view of the window."""
        window = self.partition.window
        if window is not self._window:  # A third of the recorded events leave it as it is.
            self._window, self._snapshot = window, snapshot(self.partition)
        return self._snapshot

    def durable(self) -> DurableState:
        """Return what the share coordinator holds."""
        return durable(self.partition)

    def readable(self, read: DurableState) -> DurableState:
        """Return what a new leader may read that comes nearest to what it read."""
        return readable(self.partition, read)

    def lag(self) -> int:
        """Return the share-partition lag in offsets (KIP-1226)."""
        return lag(self.partition)

    def furthest(self, written: Sequence[StateBatch]) -> int:
        """Return how far the start offset may move once the records are as they were written."""
        return furthest(self.partition, written)

    def whole(self) -> WholeState:
        """Return the whole state, from which any engine can go on."""
        return whole_state(self.partition)

    def violated(self) -> list[tuple[str, str]]:
        """Return the name and the sentence of each invariant that does not hold."""
        return [(broken.name, broken.sentence) for broken in violated(self.partition)]


def engines_for(
    names: tuple[str, ...], profile: Profile, whole: WholeState | None = None
) -> dict[str, Engine]:
    """Return a share-partition for each of ``spec`` and ``impl`` that goes on from a state.

    Without one it is new.
    """
    return {name: _engine(name, profile, whole) for name in names}


def _engine(name: str, profile: Profile, whole: WholeState | None) -> Engine:
    if name == "spec":
        return SpecEngine(profile, None if whole is None else partition_of(whole, profile))
    from impl.partition import FastSharePartition  # noqa: PLC0415 - with it comes Numba

    if whole is None:
        return FastSharePartition(profile)
    return FastSharePartition.resumed(profile, whole)


def check_offsets(operation: Operation, choice: Choice) -> None:
    """Raise InvalidValueError if one operation is about more offsets than memory is for.

    A range spans at most MAX_RANGE offsets, but an event may have any number of ranges.
    """
    _check_number("acquired", choice.acquired or ())
    _check_number("entered", choice.entered or ())
    if isinstance(operation, Initialize):
        _check_number("persisted", operation.persisted.state_batches)
    if isinstance(operation, Compact):
        _check_number("compacted", operation.ranges)


def _check_number(name: str, ranges: Iterable[Ranged]) -> None:
    total = number_of_offsets(ranges)
    if total > MAX_RANGE:
        raise InvalidValueError(f"number of {name} offsets", total, f"at most {MAX_RANGE}")
