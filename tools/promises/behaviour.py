"""A faulty implementation: the specification with its guards off, altered in one respect."""

import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from types import FunctionType, ModuleType

import attrs

from judge.engine import SpecEngine
from judge.recorded_partition import recorded
from model.config import SharePartitionConfig
from model.operations import AlterConfig, Initialize, Operation
from model.outcome import Answer, Choice, Outcome
from model.profile import Profile
from model.snapshot import SharePartitionSnapshot
from spec.partition import SharePartition, Step, require
from spec.step import apply


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


TRACE, CORE = ((face,) for face in Face)

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

    def step(
        self,
        partition: SharePartition,
        operation: Operation,
        choice: Choice,
        answers: Sequence[Answer] = (),
        seq: int = 0,
    ) -> Step:
        """Return the step of such an implementation for an operation as it is reported."""
        done = self.does(partition, operation)
        if isinstance(done, Initialize | AlterConfig):
            done = attrs.evolve(done, config=self.goes_by(done.config))
        before = self.begins(partition, operation)
        chosen = self.chooses(before, operation, choice)
        step: Step = _unguarded()[apply.__module__].apply(before, done, chosen, answers, seq)
        return self.ends(partition, operation, step)


_FREE = Choice()
HONEST = Behaviour("does as specified", "", Manner.LAZY)
"""The control: nothing is altered."""


class FaultyEngine(SpecEngine):
    """A faulty implementation as an engine of ``judge``."""

    def __init__(self, behaviour: Behaviour, profile: Profile) -> None:
        """Start with a share-partition that no leader has initialized."""
        super().__init__(profile)
        self._behaviour = behaviour

    def reported(self, operation: Operation) -> Operation:
        """Return the operation as this implementation does and reports it."""
        return self._behaviour.reads(self.partition, operation)

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation in its faulty way and return the outcome."""
        step = self._behaviour.step(self.partition, operation, choice, answers, seq)
        self.partition = recorded(step.partition)
        return step.outcome

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the window that it reports."""
        return self._behaviour.shows(self.partition, super().snapshot())


def copied_modules(
    instead: Mapping[Callable[..., object], Callable[..., object]], *packages: str
) -> Mapping[str, ModuleType]:
    """Return the modules of packages with copies of their functions, but for those to replace.

    The copies call each other and whatever is ``instead``; the packages stay as they are.
    """
    modules = {name: known for name, known in sys.modules.items() if name.startswith(packages)}
    copies = {name: ModuleType(name) for name in modules}

    def copied(value: object) -> object:
        if isinstance(value, ModuleType):
            return copies.get(value.__name__, value)
        if not isinstance(value, FunctionType) or value.__module__ not in copies:
            return value
        names, code = vars(copies[value.__module__]), value.__code__
        copy = FunctionType(code, names, value.__name__, value.__defaults__, value.__closure__)
        copy.__kwdefaults__ = value.__kwdefaults__
        return instead.get(value, copy)

    for name, module in modules.items():
        vars(copies[name]).update({key: copied(value) for key, value in vars(module).items()})
    return copies


def faulty_modules(behaviour: Behaviour, *packages: str) -> Mapping[str, ModuleType]:
    """Return modules by which share-partitions take the steps of ``behaviour``, if they step."""

    def step(
        partition: SharePartition,
        operation: Operation,
        choice: Choice = _FREE,
        answers: Sequence[Answer] = (),
        seq: int = 0,
    ) -> Step:
        reported = behaviour.reads(partition, operation)
        return behaviour.step(partition, reported, choice, answers, seq)

    return copied_modules({} if behaviour is HONEST else {apply: step}, *packages)


@cache
def _unguarded() -> Mapping[str, ModuleType]:
    """Return the modules of ``spec`` in which every choice passes."""
    return copied_modules({require: _nothing}, "spec.")


def _nothing(*_arguments: object) -> None:
    """Refuse nothing."""
