"""What the search asks of cores and of brokers: what each kit does in its own way."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from random import Random
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

import attrs

from conformance.commands import ask_name, plain_commands, read_commands
from conformance.deviation import StepText
from conformance.goals import Coverage, coverage, goals
from conformance.target import Hello
from judge.finding import Finding

A = TypeVar("A")
C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)
T = TypeVar("T")
H = TypeVar("H", bound=Hello[Any])
S = TypeVar("S", bound="Stage[Any]")

NEEDS = "needs "
"""How a reason begins that names the capability which a target lacks."""


class Stage(Protocol[C_contra]):
    """A fresh target with its log, its clock and its judge, for one sequence of commands.

    ``steps`` is what happened, in words; ``answered`` counts it by operation and status, and
    ``exercised`` how often each coverage goal was covered, by name.
    """

    steps: list[StepText]
    answered: Counter[str]
    exercised: Counter[str]

    @property
    def over(self) -> bool:
        """Whether the sequence cannot go on: it takes too long, or is ``unjudged``."""
        return self.unjudged

    @property
    def unjudged(self) -> bool:
        """Whether the judge cannot follow any more."""
        return False

    @property
    def waits(self) -> bool:
        """Whether a longer sequence may show what this one has begun: a record that waits."""
        return False

    def ask(self, command: C_contra, /) -> Finding | None:
        """Send a command and judge the answer. Raises TargetError if there is none."""

    def end(self) -> Sequence[Finding]:
        """Return what shows only at the end of a sequence. Raises TargetError."""
        return ()

    def steps_of(self, _deviation: Finding, /) -> tuple[StepText, ...]:
        """Return the steps that led to a deviation: all of them, where it ends the sequence."""
        return tuple(self.steps)

    def close(self) -> None:
        """Release what was created for this stage; nothing where the next one resets the target."""
        return


@attrs.frozen
class Kit(ABC, Generic[C, T, H, S]):
    """How to drive the targets of a kit, and how to shorten a sequence of its commands.

    The type parameters are the kit's commands, targets, what these say of themselves, and stages.
    ``tries``: how often a known sequence is played before its deviation counts as gone, more than
    once in real time, where a run can miss a deviation. ``at_once``: how many sequences are
    played at once, each in a thread: more than one where a target for each can be started.
    """

    tries: int = 1
    at_once: int = attrs.field(default=1, kw_only=True)

    commands: ClassVar[Any] = object
    """The type of the commands, as a union of classes."""
    passes_over_known: ClassVar[bool] = False
    """Whether a search counts what is known and does not shrink it: only where a sequence that is
    not shrunk yet tells one known deviation from another."""
    shrink_tries: ClassVar[int] = 1
    """How often a shorter sequence is played before it counts as showing nothing."""
    confirmations: ClassVar[int] = 0
    """How often a sequence with a new deviation is played again until it shows: what does not come
    back is unconfirmed, which in real time may be the fault of a busy machine. 0: a target does
    the same twice, and nothing need be confirmed."""
    judges_invariants: ClassVar[bool] = False
    """Whether the invariants of a share-partition are checked after every command."""
    plays_vectors: ClassVar[bool] = False
    """Whether targets play the test vectors before the search."""
    goals_of: ClassVar[str] = ""
    """Whose goals a search counts, by the names of ``conformance.goals``."""
    sequences: ClassVar[int] = 100
    """How many sequences a search has that is told nothing else."""
    longer: ClassVar[int] = 1
    """How many times as long as most a few sequences are: some faults need many commands."""
    opening: ClassVar[int] = 0
    """How many commands begin every sequence, so that they distinguish none from others."""
    examples: ClassVar[int] = 1
    """How many sequences with the same signature are shrunk."""
    shrink_seconds: ClassVar[float] = inf
    """How long shrinking one sequence may take."""

    def hello(self, target: T, /) -> H:
        """Return what a target says of itself. Raises TargetError."""
        described: H = cast("Any", target).hello()
        return described

    @abstractmethod
    def stage(self, target: T, hello: H, /) -> S:
        """Return a fresh stage. Raises TargetError."""

    @abstractmethod
    def draws(self, random: Random, hello: H, /) -> tuple[C, Callable[[S], C | None]]:
        """Return the first command of a random sequence, and what draws the next for a stage.

        None ends the sequence.
        """

    def coverage(self, counts: Mapping[str, int], hello: H, /) -> Coverage:
        """Return which goals such counts cover, for what a target can do."""
        return coverage(goals(self.goals_of, counts), counts, hello.capabilities)

    def plain(self, sequence: Sequence[C], /, *, short: bool = False) -> Any:  # noqa: ANN401 - JSON
        """Return a sequence as JSON has it, ``short`` without what is the default."""
        return plain_commands(sequence, short=short)

    def read(self, plain: Any, /) -> tuple[C, ...]:  # noqa: ANN401 - JSON
        """Return the sequence in JSON. Raises KnownError."""
        return read_commands(plain, self.commands)

    def simpler(self, _command: C, /) -> Iterable[C]:
        """Yield commands that are simpler in one respect, the simplest first."""
        return ()

    def plainer(self, _sequence: tuple[C, ...], /) -> Iterable[tuple[C, ...]]:
        """Yield whole sequences that are simpler, such as with fewer members."""
        return ()

    def produced(self, _command: C, /) -> int:
        """Return how many offsets a command appends to a log that later commands name."""
        return 0

    def moved_down(self, command: C, _by: int, /) -> C:
        """Return the command with every offset that it names lower by ``by``."""
        return command

    def features(self, command: C, /) -> Iterable[str]:
        """Yield what distinguishes a command: its name, and what is unusual."""
        return (ask_name(type(command)),)

    def bounds(self, _hello: H, /) -> tuple[str, ...]:
        """Return the numbers that the judgement takes where the KIPs have none, in words."""
        return ()

    def needs(self, _sequence: Sequence[C], /) -> Mapping[str, Any]:
        """Return the capabilities that a sequence needs: a list of words, or true for a flag."""
        return {}

    def lacking(self, hello: H, sequence: Sequence[C], /) -> str | None:
        """Return the first capability that a sequence needs and a target lacks; else None."""
        for name, needed in self.needs(sequence).items():
            has = getattr(hello.capabilities, name)
            if needed is True:
                lacks = [] if has else [name]
            else:
                words = {getattr(each, "name", each) for each in has}
                lacks = [f"{name} {word}" for word in needed if word not in words]
            if lacks:
                return f"{NEEDS}{lacks[0]}"
        return None

    def lack(self, _counts: Mapping[str, int], _hello: H, /) -> str:
        """Return why such counts bear no verdict; empty if they do."""
        return ""


def less_of(
    items: tuple[A, ...], simpler: Callable[[A], Iterable[A]] = lambda _item: (), least: int = 1
) -> Iterator[tuple[A, ...]]:
    """Yield the items without each of them, if so many are left, and with it in a simpler form."""
    for place, item in enumerate(items):
        before, after = items[:place], items[place + 1 :]
        if len(items) > least:
            yield (*before, *after)
        yield from ((*before, other, *after) for other in simpler(item))


AnyKit = Kit[Any, Any, Any, Any]
"""A kit whose targets are known only at run time."""


def features_of(kit: Kit[C, Any, Any, Any], sequence: Sequence[C]) -> tuple[str, ...]:
    """Return what distinguishes a sequence from others of the same signature, sorted."""
    telling = sequence[kit.opening :]
    return tuple(sorted({feature for command in telling for feature in kit.features(command)}))
