"""What the search asks of cores and of brokers: one protocol, which each kit implements."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, Protocol, TypeVar

import attrs

from conformance.deviation import Deviation, StepText
from conformance.goals import Coverage

C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)
T_contra = TypeVar("T_contra", contravariant=True)
H = TypeVar("H", bound="Hello")
S = TypeVar("S", bound="Stage[Any]")


class Hello(attrs.AttrsInstance, Protocol):
    """What a target says of itself: its name and version, and the profile that judges it."""

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class
    @property
    def version(self) -> str: ...  # noqa: D102
    @property
    def profile(self) -> str: ...  # noqa: D102


class Stage(Protocol[C_contra]):
    """A fresh target with its log, its clock and its judge, for one sequence of commands.

    ``steps`` is what happened, in words; ``answered`` counts it by operation and status.
    """

    steps: list[StepText]
    answered: Counter[str]

    @property
    def exercised(self) -> Counter[str]:
        """How often each coverage goal was covered, by name."""

    @property
    def over(self) -> bool:
        """Whether the sequence cannot go on: it takes too long, or is ``unjudged``."""

    @property
    def unjudged(self) -> bool:
        """Whether the judge cannot follow any more."""

    @property
    def waits(self) -> bool:
        """Whether a longer sequence may show what this one has begun: a record that waits."""

    def ask(self, command: C_contra, /) -> Deviation | None:
        """Send a command and judge the answer. Raises TargetError if there is none."""

    def close(self) -> None:
        """Release what was created for this stage."""


class Kit(Protocol[C, T_contra, H, S]):
    """How to drive the targets of a kit, and how to shorten a sequence of its commands.

    The type parameters are the kit's commands, targets, what these say of themselves, and stages.
    """

    @property
    def commands(self) -> Any:  # noqa: ANN401 - a union of classes, for cattrs
        """The union of the classes of commands."""

    @property
    def tries(self) -> int:
        """How often a known sequence is played before its deviation counts as gone.

        More than once in real time, where a run can miss a deviation.
        """

    @property
    def judges_invariants(self) -> bool:
        """Whether the invariants of a share-partition are checked after every command."""

    @property
    def plays_vectors(self) -> bool:
        """Whether targets play the test vectors before the search."""

    @property
    def sequences(self) -> int:
        """How many sequences a search has that is told nothing else."""

    @property
    def longer(self) -> int:
        """How many times as long as most a few sequences are: some faults need many commands."""

    @property
    def examples(self) -> int:
        """How many sequences with the same signature are shrunk."""

    @property
    def shrink_seconds(self) -> float:
        """How long shrinking one sequence may take."""

    def hello(self, target: T_contra, /) -> H:
        """Return what a target says of itself. Raises TargetError."""

    def stage(self, target: T_contra, hello: H, /) -> S:
        """Return a fresh stage. Raises TargetError."""

    def draws(self, random: Random, hello: H, /) -> tuple[C, Callable[[S], C]]:
        """Return the first command of a random sequence, and what draws the next for a stage."""

    def simpler(self, command: C, /) -> Iterable[C]:
        """Yield commands that are simpler in one respect, the simplest first."""

    def plainer(self, sequence: tuple[C, ...], /) -> Iterable[tuple[C, ...]]:
        """Yield whole sequences that are simpler, such as with fewer members."""

    def produced(self, command: C, /) -> int:
        """Return how many offsets a command appends to a log."""

    def moved_down(self, command: C, by: int, /) -> C:
        """Return the command with every offset that it names lower by ``by``."""

    def features(self, command: C, /) -> Iterable[str]:
        """Yield what distinguishes a command: the name of its class, and what is unusual."""

    def bounds(self, hello: H, /) -> tuple[str, ...]:
        """Return the numbers that the judgement takes where the KIPs have none, in words."""

    def coverage(self, counts: Mapping[str, int], hello: H, /) -> Coverage:
        """Return which goals such counts cover, for what a target can do."""


AnyKit = Kit[Any, Any, Any, Any]
"""A kit whose targets are known only at run time."""


def features_of(kit: Kit[C, Any, Any, Any], sequence: Sequence[C]) -> tuple[str, ...]:
    """Return what distinguishes a sequence from others of the same signature, sorted."""
    return tuple(sorted({feature for command in sequence for feature in kit.features(command)}))
